package projection

import (
	"context"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/projection/internal/engine"
)

// Group is a group of projections of one journal. It is safe for concurrent use.
type Group struct{ inGroup }

type inGroup = engine.GroupHandle

// New returns a group of projections. The journal stays open until the group has ended.
//
// Errors: a *dynajournal.ArgumentError for a wrong argument.
func New(journal *dynajournal.Journal, config Config, projections ...Projection) (*Group, error) {
	if journal == nil {
		return nil, engine.Argument("journal", nil, "it must be an open journal")
	}
	settings, err := config.complete(core.Of(journal))
	if err != nil {
		return nil, err
	}
	specs := make([]*engine.Spec, len(projections))
	for i := range projections {
		specs[i] = engine.SpecOf(&projections[i])
	}
	g, err := engine.NewGroup(journal, settings, specs)
	if err != nil {
		return nil, err
	}
	return &Group{engine.NewGroupHandle(g)}, nil
}

// Start prepares the projections that have never run, and returns. [Group.Run] does it too, if it
// was not done.
//
// For a projection with [FromNow] it stores for each persistence id how far its events are decided.
// An event that is committed after Start has returned is handled; one that was committed before may
// be: where an earlier number was still undecided, and where the persistence id is so new that its
// index does not list it yet. It reads at most Config.Source's PerSecond ids a second. An id with
// few events costs 6 read units and 2 write units. It continues where it was interrupted, in
// any process, and no handler is called before it is done.
//
// Errors: [ErrNoTable], [ErrReplicated], those of a listing, and those of requests.
func (g *Group) Start(ctx context.Context) error { return public(engine.GroupOf(g).Begins(ctx)) }

// Run runs the projections until ctx ends, and then returns nil: the handlers have returned, and
// their claims are released. It may be called again.
//
// Failures of handlers, throttling and outages do not end it: they are logged, and what was under
// way is tried again. So is a denial, once the group has handled something: a policy that is
// changed while the group runs can be changed back. Errors: a *dynajournal.ArgumentError for a
// group on AWS Lambda, [ErrRunning], [ErrNoTable], [ErrNoStream], [ErrReplicated], [ErrResetting],
// for projections of SQL sqlprojection.ErrNoOffsetsTable and [ErrOtherOffsets], and of the journal
// [dynajournal.ErrClosed], [dynajournal.ErrDenied], [dynajournal.ErrTableNotFound], and those of a
// listing that can't succeed.
func (g *Group) Run(ctx context.Context) error { return public(engine.GroupOf(g).Run(ctx)) }

// Trigger says that a persistence id may have new events, which are then handled at once. Call it
// after an append of the same process. It never waits. It does nothing while the group does not
// run, or if Config.MaxWaiting persistence ids wait: the source of the group finds the events. A
// [Sweep] finds a purge when the persistence id is used again.
func (g *Group) Trigger(persistenceID string) { engine.GroupOf(g).Trigger(persistenceID) }

// Resume handles a persistence id of a projection of this group, given by its own name, that is
// stuck or is owed a run: it calls the handler in this process, also if the run is not due yet or
// the projection is paused, and returns when all events are handled. While another process has the
// claim, it waits. It does nothing if no run is owed.
//
// Errors: a *dynajournal.ArgumentError if there is no such projection, a *[HandlerError] if the
// handler fails again: a persistence id that was stuck stays stuck. Requests can also fail.
func (g *Group) Resume(ctx context.Context, projection, persistenceID string) error {
	return public(engine.GroupOf(g).Resume(ctx, projection, persistenceID))
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
	// target of an outbox, the SQL database, a table, or what a handler means with [Delayed].
	Delayed int
	// Debts is how many persistence ids are owed a run: they could not be handled for some seconds,
	// and any process of the group handles them later. It is what the last look at the projections
	// table has shown, at most 100. A process looks six times in Config.ClaimTimeout, at least
	// every 10 seconds. operator.Operator.Debts lists them. OldestDebt is the age of the oldest of
	// them.
	Debts      int
	OldestDebt time.Duration
	// Stuck is how many persistence ids have become stuck in this process since New. Each is
	// logged. operator.Operator.Stuck lists those that are stuck now.
	Stuck int64
	// Paused reports whether it is paused: see operator.Operator.Pause. Triggers wait until that is
	// read again.
	Paused bool
	// Overdue is how many calls of its handler have not returned although their context ended more
	// than a third of Config.ClaimTimeout ago. Each is logged. It keeps its persistence id from
	// being handled by this process, and [Group.Run] waits for it; others continue, until there are
	// more such calls than Config.Concurrency. Another process takes the persistence id over when
	// the claim is as old as Config.ClaimTimeout: then both may handle the same event.
	Overdue int
	// Oldest is the age of the oldest trigger that is not done, or of the oldest run that is owed,
	// 0 if there is none.
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
	lags := engine.GroupOf(g).Lag()
	all := make([]Lag, len(lags))
	for i, l := range lags {
		all[i] = Lag(l)
	}
	return all
}
