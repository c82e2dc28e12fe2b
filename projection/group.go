package projection

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
)

// Group is a group of projections of one journal. It is safe for concurrent use.
type Group struct {
	config  Config
	journal *dynajournal.Journal
	table   *table
	members []*member
	holes   *holes
	overdue overdue
	lambda  attendance

	streamDelay streamDelay

	mu sync.Mutex
	// running is nil while the group does not run.
	running *schedule
}

// member is a projection of a group. name is the name of both.
type member struct {
	Projection

	name string
	// paused, owed and sweeps are what was last read of the projection's item: whether it is
	// paused, how many sweeps are owed, and how many were owed so far.
	paused       atomic.Bool
	owed, sweeps atomic.Int64
	// effect applies steps, and offsets stores the offset after them.
	effect  effect
	offsets offsetStore
	// becameStuck is how many persistence ids have become stuck in this process.
	becameStuck atomic.Int64
	// outage is when the log was last told that something can't be reached, in nanoseconds.
	outage atomic.Int64
}

// outageDue reports whether the log is told of an outage: at most once in reportedEvery, as an
// outage concerns all persistence ids, again and again.
func (of *member) outageDue() bool {
	now, told := time.Now().UnixNano(), of.outage.Load()
	return now-told >= int64(reportedEvery) && of.outage.CompareAndSwap(told, now)
}

// New returns a group of projections. The journal stays open until the group has ended.
//
// Errors: a *dynajournal.ArgumentError for a wrong argument.
func New(journal *dynajournal.Journal, config Config, projections ...Projection) (*Group, error) {
	if journal == nil {
		return nil, argument("journal", nil, "it must be an open journal")
	}
	if err := config.complete(core.Of(journal)); err != nil {
		return nil, err
	}
	g := &Group{config: config, journal: journal, table: openTable(journal), holes: newHoles()}
	g.overdue.calls = map[*member]int{}
	g.lambda = attendance{turn: make(chan struct{}, 1), worker: uuid.NewString(), claims: map[taskKey]claimSeen{}}
	known := map[string]bool{}
	for _, p := range projections {
		if err := p.check(); err != nil {
			return nil, err
		}
		if known[p.name] {
			return nil, argument("the name of a projection", p.name, "the group has another of that name")
		}
		known[p.name] = true
		of := &member{Projection: p, name: config.Name + "/" + p.name}
		of.effect, of.offsets = p.kind.open(g, of)
		g.members = append(g.members, of)
	}
	if len(g.members) == 0 {
		return nil, argument("projections", 0, "there must be at least one")
	}
	return g, nil
}

// Run runs the projections until ctx ends, and then returns nil: the handlers have returned, and
// their claims are released. It may be called again.
//
// Failures of handlers, throttling and outages do not end it: they are logged, and what was under
// way is tried again. Errors: a *dynajournal.ArgumentError for a group on [Lambda], [ErrRunning],
// [ErrNoTable], [ErrNoStream], [ErrReplicated], [ErrResetting], for projections of SQL
// [ErrNoOffsetsTable] and [ErrOtherOffsets], and of the journal [dynajournal.ErrClosed],
// [dynajournal.ErrDenied], [dynajournal.ErrTableNotFound], and those of a listing that can't
// succeed.
func (g *Group) Run(ctx context.Context) error {
	if kind := g.config.Source.kind(); kind == sourceLambda {
		return argument("Config.Source", kind, "a group on Lambda has HandleDynamoDBEvent")
	}
	s := newSchedule(g)
	g.mu.Lock()
	if g.running != nil {
		g.mu.Unlock()
		return ErrRunning
	}
	g.running = s
	g.mu.Unlock()
	defer func() {
		g.mu.Lock()
		g.running = nil
		g.mu.Unlock()
	}()
	defer s.end()
	if err := g.begin(ctx, g.check); err != nil {
		return ended(ctx, fmt.Errorf("projections %q: %w", g.config.Name, err))
	}
	worker := uuid.NewString()
	defer g.absent(context.WithoutCancel(ctx), worker) // bounded by the journal's OperationTimeout
	enter := func(ctx context.Context) error { return g.enter(ctx, worker) }
	if err := g.begin(ctx, enter); err != nil {
		return ended(ctx, fmt.Errorf("projections %q: %w", g.config.Name, err))
	}
	if err := g.begin(ctx, g.start); err != nil {
		return ended(ctx, fmt.Errorf("projections %q: %w", g.config.Name, err))
	}
	work, workCtx := errgroup.WithContext(ctx)
	var begin func()
	begin = func() { work.Go(func() error { return s.work(workCtx, begin) }) }
	for range g.config.Concurrency {
		begin()
	}
	work.Go(func() error { return g.config.Source.feed(workCtx, g, s) })
	work.Go(func() error { s.watch(workCtx); return nil })
	work.Go(func() error { return g.prepare(workCtx) })
	work.Go(func() error { return g.attend(workCtx, worker) })
	if err := work.Wait(); err != nil {
		return ended(ctx, fmt.Errorf("projections %q: %w", g.config.Name, err))
	}
	return nil
}

// ended returns nil if ctx has ended, which is how a group ends.
func ended(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return nil
}

// Trigger says that a persistence id may have new events, which are then handled at once. Call it
// after an append of the same process. It never waits, and does nothing while the group does not
// run: the source of the group finds the events.
func (g *Group) Trigger(persistenceID string) {
	g.mu.Lock()
	s := g.running
	g.mu.Unlock()
	if s != nil {
		s.trigger(persistenceID, trigger{})
	}
}

// Lag is how far a projection is behind the triggers that this process has received.
type Lag struct {
	// Projection is the name of the group and of the projection, such as billing/balances.
	Projection string
	// IDs is how many persistence ids are waiting or being handled.
	IDs int
	// Failing is how many of them wait because their handler has failed.
	Failing int
	// Delayed is how many of them wait because something that they need could not be reached: the
	// target of an [Outbox], the SQL database, a table, or what a handler means with [Delayed].
	Delayed int
	// Stuck is how many persistence ids have become stuck in this process since New. Each is
	// logged. [Operator.Stuck] lists those that are stuck now.
	Stuck int64
	// Paused reports whether it is paused: see [Operator.Pause]. Triggers wait until that is read
	// again.
	Paused bool
	// Overdue is how many calls of its handler have not returned although their context ended more
	// than a third of Config.ClaimTimeout ago. Each is logged. It keeps its persistence id from
	// being handled by this process, and [Group.Run] waits for it; others go on, until there are
	// more such calls than Config.Concurrency. Another process takes the persistence id over when
	// the claim is as old as Config.ClaimTimeout: then both may handle the same event.
	Overdue int
	// Oldest is the age of the oldest trigger that is not done, 0 if all are.
	Oldest time.Duration
	// StreamDelay is how far the reading of the stream is behind, with [Streams]: the time up to
	// which the records of a shard were received is so long ago. It is that of the shard of this
	// process that is the farthest behind, and grows while the stream can't be read. If all is well
	// it is about StreamsOptions.Poll.
	StreamDelay time.Duration
	// Trimmed is how often since New records of a shard were trimmed before this process had read
	// them, or may have been. Each is logged, and makes the group look at all persistence ids.
	Trimmed int64
	// Missing is how many persistence ids wait for a sequence number that a JVM may still be
	// writing.
	Missing int
	// Passed is how many sequence numbers were passed since New, because nothing was stored there
	// for Config.HoleWait. Late is at how many passed ones an event was stored later: that event is
	// not handled. Both are logged, too.
	Passed, Late int64
}

// Lag returns the lag of each projection. It sends nothing.
func (g *Group) Lag() []Lag {
	delay, trimmed := g.streamDelay.at(g.now()), g.streamDelay.trimmed.Load()
	all := make([]Lag, len(g.members))
	place := map[string]*Lag{}
	for i, of := range g.members {
		all[i].Projection = of.name
		all[i].Paused = of.paused.Load()
		all[i].Overdue = g.overdue.of(of)
		all[i].Stuck = of.becameStuck.Load()
		all[i].StreamDelay, all[i].Trimmed = delay, trimmed
		place[of.name] = &all[i]
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
		lag := place[t.of.name]
		lag.IDs++
		if t.last == endUndecided {
			lag.Missing++
		}
		if t.failures.count > 0 {
			lag.Failing++
		}
		if t.last == endUnreachable {
			lag.Delayed++
		}
		lag.Oldest = max(lag.Oldest, time.Since(t.received))
	}
	return all
}

// Resume continues a stuck persistence id of a projection of this group, given by its own name: it
// calls the handler for the events behind the offset, once each, and ends the stuck state when all
// are handled. It does nothing if the persistence id is not stuck and has no new events.
//
// Errors: a *dynajournal.ArgumentError if there is no such projection, a *[HandlerError] if the
// handler fails again: then the persistence id stays stuck. And those of requests.
func (g *Group) Resume(ctx context.Context, projection, persistenceID string) error {
	for _, of := range g.members {
		if of.Projection.name != projection {
			continue
		}
		if !of.only.takes(persistenceID) {
			return argument("persistenceID", persistenceID, "OnlyIDs of the projection leaves it out")
		}
		t := &task{}
		for {
			r := g.newRun(of, persistenceID)
			r.resume = true
			r.takeOver = t.dead(g.config.ClaimTimeout)
			o := r.execute(ctx)
			switch o.ending {
			case endClaimed:
				t.claimed(o.claim)
			case endUndecided:
			default:
				return o.err
			}
			if err := backoff.Wait(ctx, g.config.RetryShortest); err != nil {
				return err
			}
		}
	}
	return argument("projection", projection, "the group has none of that name")
}
