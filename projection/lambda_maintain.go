package projection

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// Maintain does what invocations by the stream do not, and returns when that is done: it carries
// out the requests of [Operator.Retry] and [Operator.Skip], and sweeps all persistence ids for the
// projections that are owed a sweep. That is so when a projection begins on Lambda, after
// [Operator.Continue] and [Operator.Reset], when records came so late that others may have been
// lost, and when a process without the projection has handled events, as during a deployment.
// [List] shows it.
//
// Call it every few minutes, in a function with a schedule, or in any other program; and before a
// projection is relied on for the first time. The source of the group must be [Lambda]. It looks at
// LambdaOptions.PerSecond persistence ids a second, and 4 read units for each. It costs 3 read
// units for a group of one projection if there is nothing to do.
//
// If ctx ends before, the error is that of ctx, and the next call goes on where it was: a function
// that is called again returns no error then. Handlers get the time that they get in an invocation.
// Other errors are those of [Group.Run], and those of requests.
func (g *Group) Maintain(ctx context.Context) error {
	err := g.maintain(ctx)
	if err != nil {
		return fmt.Errorf("projections %q: %w", g.config.Name, err)
	}
	return nil
}

func (g *Group) maintain(ctx context.Context) error {
	if kind := g.config.Source.kind(); kind != sourceLambda {
		return argument("Config.Source", kind, "it must be Lambda")
	}
	in := g.invoke(ctx)
	defer in.cancel()
	members, err := g.join(in.ctx, time.Time{})
	if err != nil {
		return err
	}
	a := &attendant{Group: g, begun: map[string]bool{}}
	a.work.SetLimit(maxRetried)
	err = a.look(in.ctx)
	_ = a.work.Wait() // its functions return nil
	if err != nil {
		return err
	}
	for _, of := range members {
		if of.owed.Load() == 0 {
			continue
		}
		if err := in.sweep(of); err != nil {
			return err
		}
	}
	return context.Cause(in.ctx)
}

// owedKey returns the key of the position of a sweep that a projection is owed.
func (t *table) owedKey(group, projection string) dynamo.Attributes {
	return dynamo.Attributes{attrPar: text(t.journalName + "\x00" + group + "\x00owed\x00" + projection)}
}

// sweep sweeps for a projection until nothing is owed. A sweep that was interrupted goes on, and
// settles what was owed when it began.
func (in *invocation) sweep(of *member) error {
	g := in.group
	for {
		all, err := g.standings(in.ctx)
		if err != nil {
			return err
		}
		now := all[0]
		for i := range g.members {
			if g.members[i] == of {
				now = all[i]
			}
		}
		if now.owed <= now.swept {
			return nil
		}
		p := &position{group: g, key: g.table.owedKey(g.config.Name, of.Projection.name), within: in.grace}
		owed, err := g.sweepBegun(in.ctx, p, of, now)
		if err != nil {
			return err
		}
		if err := in.sweepOnce(of, p); err != nil {
			return err
		}
		if err := g.table.settle(in.ctx, g.table.standingKey(of.name), owed); err != nil {
			return err
		}
	}
}

// sweepBegun names what a sweep is for, and returns how many sweeps were owed when it began.
func (g *Group) sweepBegun(ctx context.Context, p *position, of *member, now standing) (int64, error) {
	item, err := g.table.get(ctx, p.key)
	if err != nil {
		return 0, err
	}
	d := decoder{table: g.table.name, item: item}
	stored, after := d.text(attrFor), d.text(attrAfter)
	if d.err != nil {
		return 0, d.err
	}
	owed, subject := now.owed, subjects([]*member{of})
	count, name, _ := strings.Cut(stored, "\x00")
	if n, err := strconv.ParseInt(count, 10, 64); err == nil && name == subject && after != "" && n > now.swept && n <= now.owed {
		owed = n
	}
	p.names = strconv.FormatInt(owed, 10) + "\x00" + subject
	return owed, nil
}

// sweepOnce looks at all persistence ids for a projection.
func (in *invocation) sweepOnce(of *member, p *position) error {
	ctx, cancel := context.WithCancel(in.ctx)
	defer cancel()
	part := *in
	part.ctx, part.cancel = ctx, cancel
	ended := make(chan error, 1)
	err := part.run(func(s *schedule, add func() (done func())) {
		done := add()
		go func() {
			defer done()
			sweep := &sweep{SweepOptions{PerSecond: in.group.config.Source.perSecond()}}
			ended <- sweep.once(ctx, in.group, []*member{of}, s, p)
		}()
	})
	cancel()
	return errors.Join(err, <-ended)
}
