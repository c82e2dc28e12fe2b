package engine

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/backoff"
	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// Group is a group of projections of one journal. It is safe for concurrent use.
type Group struct {
	Config  Settings
	Journal *dynajournal.Journal
	Table   *Table
	Members []*Member
	holes   *holes
	overdue overdue
	lambda  attendance

	StreamDelay StreamDelay
	// SweepPending reports whether a requested sweep was not done yet when the process last read
	// that.
	SweepPending atomic.Bool

	// indexed reports whether the index of debts can be read. Until then no debt is stored.
	// loggedNoIndex reports whether it was logged that the index can't be read.
	indexed, loggedNoIndex atomic.Bool
	// worked reports whether a run has handled something since the group was started.
	worked atomic.Bool

	mu sync.Mutex
	// running is nil while the group does not run.
	running *Schedule
}

// NewGroup returns a group of projections. It fills in no defaults of the settings.
func NewGroup(journal *dynajournal.Journal, config Settings, projections []*Spec) (*Group, error) {
	g := &Group{Config: config, Journal: journal, Table: OpenTable(journal), holes: newHoles()}
	g.overdue.calls = map[*Member]int{}
	g.lambda = attendance{turn: make(chan struct{}, 1), worker: uuid.NewString(), claims: map[taskKey]claimSeen{}}
	known := map[string]bool{}
	for _, p := range projections {
		if err := p.check(); err != nil {
			return nil, err
		}
		if known[p.inGroup] {
			return nil, Argument("the name of a projection", p.inGroup, "the group has another projection of that name")
		}
		known[p.inGroup] = true
		of := &Member{Spec: *p, Name: config.Name + "/" + p.inGroup}
		of.Effect, of.Offsets = p.kind.Open(g, of)
		g.Members = append(g.Members, of)
	}
	if len(g.Members) == 0 {
		return nil, Argument("projections", 0, "there must be at least one")
	}
	return g, nil
}

// serving returns a context whose requests serve projections, for the hooks of the journal.
func (g *Group) serving(ctx context.Context) context.Context {
	return core.Of(g.Journal).Client.For(ctx, dynamo.ForProjection)
}

// Run runs the projections until ctx ends.
func (g *Group) Run(ctx context.Context) error {
	if kind := g.Config.Source.Kind(); kind == SourceLambda {
		return Argument("Config.Source", kind, "awslambda.Handler handles the events of a group on AWS Lambda")
	}
	ctx = g.serving(ctx)
	s := newSchedule(g)
	g.mu.Lock()
	if g.running != nil {
		g.mu.Unlock()
		return ErrRunning
	}
	g.running = s
	g.mu.Unlock()
	g.worked.Store(false)
	defer func() {
		g.mu.Lock()
		g.running = nil
		g.mu.Unlock()
	}()
	defer s.end()
	if err := g.RetryStart(ctx, g.check); err != nil {
		return ended(ctx, fmt.Errorf("projections %q: %w", g.Config.Name, err))
	}
	worker := uuid.NewString()
	defer g.absent(context.WithoutCancel(ctx), worker) // bounded by the journal's OperationTimeout
	enter := func(ctx context.Context) error { return g.enter(ctx, worker) }
	if err := g.RetryStart(ctx, enter); err != nil {
		return ended(ctx, fmt.Errorf("projections %q: %w", g.Config.Name, err))
	}
	if err := g.RetryStart(ctx, g.start); err != nil {
		return ended(ctx, fmt.Errorf("projections %q: %w", g.Config.Name, err))
	}
	g.findIndex(ctx)
	work, workCtx := errgroup.WithContext(ctx)
	var start func()
	start = func() { work.Go(func() error { return s.work(workCtx, start) }) }
	for range g.Config.Concurrency {
		start()
	}
	work.Go(func() error { return g.Config.Source.Feed(workCtx, g, s) })
	work.Go(func() error { s.watch(workCtx); return nil })
	work.Go(func() error { return g.prepare(workCtx) })
	work.Go(func() error { return g.attend(workCtx, worker) })
	for _, of := range g.Members {
		work.Go(func() error { s.pay(workCtx, of); return nil })
	}
	if err := work.Wait(); err != nil {
		return ended(ctx, fmt.Errorf("projections %q: %w", g.Config.Name, err))
	}
	return nil
}

// ended returns err, or nil if ctx has ended: stopping a group is not an error.
func ended(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return nil
}

// Trigger makes a running group handle a persistence id. It does nothing if the group does not run.
func (g *Group) Trigger(persistenceID string) {
	g.mu.Lock()
	s := g.running
	g.mu.Unlock()
	if s != nil {
		s.Ask(persistenceID)
	}
}

// Lag returns the lag of each projection.
func (g *Group) Lag() []Lag {
	delay, trimmed := g.StreamDelay.at(g.Now()), g.StreamDelay.Trimmed.Load()
	streams, shards := g.Config.Source.Kind() == SourceStreams, g.StreamDelay.shards()
	all := make([]Lag, len(g.Members))
	place := map[string]*Lag{}
	for i, of := range g.Members {
		all[i].Projection = of.Name
		all[i].Paused = of.Paused.Load()
		all[i].Overdue = g.overdue.of(of)
		all[i].Stuck = of.becameStuck.Load()
		all[i].StreamDelay, all[i].Trimmed = delay, trimmed
		all[i].ReadsStream, all[i].Shards = streams, shards
		all[i].SweepPending = g.SweepPending.Load() || of.SweepsPending.Load() > 0
		if debts := of.debts.Load(); debts != nil && debts.runs > 0 {
			all[i].Debts, all[i].OldestDebt = debts.runs, max(g.Now().Sub(debts.since), 0)
			all[i].Oldest = all[i].OldestDebt
		}
		place[of.Name] = &all[i]
	}
	g.holes.addTo(place)
	g.mu.Lock()
	s := g.running
	g.mu.Unlock()
	if s == nil {
		return all
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.tasks {
		if t.pays {
			continue
		}
		of := place[t.of.Name]
		of.IDs++
		if t.last == endUndecided {
			of.Missing++
		}
		if t.failures.count > 0 {
			of.Failing++
		}
		if t.last == endUnreachable {
			of.Delayed++
		}
		of.Oldest = max(of.Oldest, time.Since(t.received))
	}
	return all
}

// Resume pays the debt of a persistence id now, in the goroutine of its caller.
func (g *Group) Resume(ctx context.Context, projection, persistenceID string) error {
	ctx = g.serving(ctx)
	for _, of := range g.Members {
		if of.inGroup != projection {
			continue
		}
		if !of.Only.Takes(persistenceID) {
			return Argument("persistenceID", persistenceID, "OnlyIDs of the projection leaves it out")
		}
		for {
			r := g.newRun(of, persistenceID)
			r.pays, r.asked, r.probes = true, true, true
			o := r.execute(ctx)
			if o.ending != endUndecided && o.ending != endDebt {
				return o.err
			}
			if err := backoff.Wait(ctx, g.Config.RetryShortest); err != nil {
				return err
			}
		}
	}
	return Argument("projection", projection, "the group has no projection of that name")
}
