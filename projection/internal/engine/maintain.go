package engine

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// Maintain runs operator requests, due payments, and pending sweeps, which stream invocations skip.
func (g *Group) Maintain(ctx context.Context) error {
	if kind := g.Config.Source.Kind(); kind != SourceLambda {
		return Argument("Config.Source", kind, "it must be awslambda.Source")
	}
	in := g.Invoke(ctx)
	defer in.Cancel()
	members, err := g.Join(in.Ctx, time.Time{})
	if err != nil {
		return err
	}
	a := &attendant{Group: g, marked: map[string]bool{}}
	a.work.SetLimit(maxCarriedOut)
	err = a.poll(in.Ctx)
	_ = a.work.Wait() // its functions return nil
	if err != nil {
		return err
	}
	paying := in.payDue(members)
	for _, of := range members {
		if of.SweepsPending.Load() == 0 {
			continue
		}
		if err := in.sweep(of); err != nil {
			return err
		}
	}
	if err := context.Cause(in.Ctx); err != nil {
		return err
	}
	return paying
}

// Maintain starts payments in the first payShare of its time, and stops them after paidShare. The
// rest is for sweeps.
const (
	payShare  = 0.5
	paidShare = 0.75
)

// payDue pays the due debts of projections.
func (in *invocation) payDue(members []*Member) error {
	ctx, cancel := context.WithCancel(in.Ctx)
	defer cancel()
	var until time.Time
	if !in.deadline.IsZero() {
		left := float64(time.Until(in.deadline))
		until = time.Now().Add(time.Duration(payShare * left))
		defer time.AfterFunc(time.Duration(paidShare*left), cancel).Stop()
	}
	all := make([]func(*Schedule) error, len(members))
	for i, of := range members {
		all[i] = func(s *Schedule) error { return s.payAll(ctx, of, until) }
	}
	return in.part(ctx, cancel, all...)
}

// part calls functions at the same time, and runs their triggers in one schedule. It returns when
// the functions have returned and their triggers are done, or when ctx has ended. ctx is derived
// from the context of the invocation, and cancel cancels it.
func (in *invocation) part(ctx context.Context, cancel context.CancelFunc, all ...func(*Schedule) error) error {
	part := *in
	part.Ctx, part.Cancel = ctx, cancel
	var working errgroup.Group
	err := part.Run(func(s *Schedule, add func() (done func())) {
		for _, work := range all {
			done := add()
			working.Go(func() error {
				defer done()
				return work(s)
			})
		}
	})
	cancel()
	return errors.Join(err, working.Wait())
}

// payAll pays the due debts of a projection. It starts no page after until, unless until is zero.
// Without the index of debts it pays nothing.
func (s *Schedule) payAll(ctx context.Context, of *Member, until time.Time) error {
	for until.IsZero() || time.Now().Before(until) {
		paid, err := s.payPage(ctx, of)
		if ctx.Err() != nil || IsNoIndex(err) {
			return nil //nolint:nilerr // the time is over, or the log has the error
		}
		if err != nil || !paid {
			return err
		}
	}
	return nil
}

// SweepKey returns the key of the item with the position of a requested sweep of a projection.
func (t *Table) SweepKey(group, projection string) dynamo.Attributes {
	return dynamo.Attributes{AttrPar: Text(t.JournalName + "\x00" + group + "\x00owed\x00" + projection)}
}

// sweep sweeps for a projection until no requested sweep is left. An interrupted sweep continues,
// and counts for the sweeps that were requested when it started.
func (in *invocation) sweep(of *Member) error {
	g := in.group
	for {
		all, err := g.standings(in.Ctx)
		if err != nil {
			return err
		}
		now := all[0]
		for i := range g.Members {
			if g.Members[i] == of {
				now = all[i]
			}
		}
		if now.requested <= now.swept {
			return nil
		}
		p := &Position{group: g, key: g.Table.SweepKey(g.Config.Name, of.inGroup), within: in.grace}
		requested, err := g.sweepStart(in.Ctx, p, of, now)
		if err != nil {
			return err
		}
		if err := in.sweepOnce(of, p); err != nil {
			return err
		}
		if err := g.Table.StoreSwept(in.Ctx, g.Table.StandingKey(of.Name), requested); err != nil {
			return err
		}
	}
}

// sweepStart sets the names that are stored with a sweep's position, and returns how many sweeps
// were requested when the sweep started.
func (g *Group) sweepStart(ctx context.Context, p *Position, of *Member, now standing) (int64, error) {
	item, err := g.Table.Get(ctx, p.key)
	if err != nil {
		return 0, err
	}
	d := Decoder{Table: g.Table.Name, Item: item}
	stored, after := d.Text(AttrFor), d.Text(attrAfter)
	if d.Err != nil {
		return 0, d.Err
	}
	requested, subject := now.requested, Subjects([]*Member{of})
	count, name, _ := strings.Cut(stored, "\x00")
	if n, err := strconv.ParseInt(count, 10, 64); err == nil && name == subject && after != "" && n > now.swept && n <= now.requested {
		requested = n
	}
	p.names = strconv.FormatInt(requested, 10) + "\x00" + subject
	return requested, nil
}

// sweepOnce sweeps all persistence ids for a projection, or those after an interrupted sweep's
// position.
func (in *invocation) sweepOnce(of *Member, p *Position) error {
	ctx, cancel := context.WithCancel(in.Ctx)
	defer cancel()
	return in.part(ctx, cancel, func(s *Schedule) error {
		sweep := &Sweep{Pace: in.group.Config.Source.PerSecond()}
		return sweep.Once(ctx, in.group, []*Member{of}, s, p)
	})
}
