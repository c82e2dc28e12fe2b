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

// New returns a group of projections. The journal must stay open until the group has ended.
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

// Start prepares projections that have never run, and returns. [Group.Run] also does this, if Start
// was not called.
//
// For a projection with [FromNow], Start stores an offset for each persistence id: its last event
// before which every number is decided. An event that is committed after Start has returned is
// handled. An event that was committed before may also be handled: if an earlier number was still
// undecided, or if the persistence id is so new that its index does not list it yet. Start reads at
// most as many persistence ids a second as PerSecond of Config.Source allows. A persistence id with
// few events costs 6 read units and 2 write units. If Start is interrupted, any process can
// continue it, and no handler is called before it is done.
//
// Errors: [ErrNoTable], [ErrReplicated], errors of a listing, and errors of requests.
func (g *Group) Start(ctx context.Context) error { return public(engine.GroupOf(g).Prepare(ctx)) }

// Run runs the projections until ctx ends. It returns nil when the handlers have returned and their
// claims are released. It may be called again.
//
// Failures of handlers, throttling and outages do not stop it: they are logged and retried. So is a
// denied request, once the group has handled something: a policy that is changed while the group
// runs can be changed back.
//
// Errors: a *dynajournal.ArgumentError for a group on AWS Lambda, [ErrRunning], [ErrNoTable],
// [ErrNoStream], [ErrReplicated], [ErrResetting], for projections of SQL
// sqlprojection.ErrNoOffsetsTable and [ErrOtherOffsets], of the journal [dynajournal.ErrClosed],
// [dynajournal.ErrDenied] and [dynajournal.ErrTableNotFound], and errors of a listing that can't
// succeed.
func (g *Group) Run(ctx context.Context) error { return public(engine.GroupOf(g).Run(ctx)) }

// Trigger reports that a persistence id may have new events, which are then handled at once. Call
// it after an append in the same process. It never blocks. It does nothing while the group does not
// run, or while Config.MaxWaiting persistence ids wait: the source of the group finds the events. A
// [Sweep] finds a purge when the persistence id is used again.
func (g *Group) Trigger(persistenceID string) { engine.GroupOf(g).Trigger(persistenceID) }

// Resume handles a persistence id that is stuck or has a debt. The projection is one of this
// group, given by its own name. Resume calls the handler in this process, even if the run is not
// due yet or the projection is paused, and returns when all events are handled. While another
// process has the claim, Resume waits. It does nothing if the persistence id has no debt.
//
// Errors: a *dynajournal.ArgumentError if the group has no such projection, a *[HandlerError] if
// the handler fails again (a persistence id that was stuck stays stuck), and errors of requests.
func (g *Group) Resume(ctx context.Context, projection, persistenceID string) error {
	return public(engine.GroupOf(g).Resume(ctx, projection, persistenceID))
}

// Lag is the backlog of a projection, as this process knows it.
type Lag struct {
	// Projection is the name of the group and of the projection, such as billing/balances.
	Projection string
	// IDs counts persistence ids that wait or are being handled.
	IDs int
	// Failing counts the waiting persistence ids whose handler has failed.
	Failing int
	// Delayed counts the persistence ids that wait because something they need can't be reached:
	// the target of an outbox, the SQL database, a table, or whatever makes a handler return
	// [Delayed].
	Delayed int
	// Debts counts persistence ids that have a debt: they could not be handled for some seconds,
	// and any process of the group handles them later. It is at most 100, and as of the last poll
	// of the projections table. A process polls six times in Config.ClaimTimeout, at least every 10
	// seconds. operator.Operator.Debts lists the debts. OldestDebt is the age of the oldest one.
	Debts      int
	OldestDebt time.Duration
	// Stuck counts persistence ids that have become stuck in this process since New. Each is
	// logged. operator.Operator.Stuck lists the persistence ids that are stuck now.
	Stuck int64
	// Paused reports whether the projection is paused: see operator.Operator.Pause. Triggers wait
	// until this process reads that the projection was continued.
	Paused bool
	// Overdue counts the calls of the handler that have not returned although their context ended
	// more than a third of Config.ClaimTimeout ago. Each is logged. Such a call blocks its
	// persistence id in this process, and [Group.Run] waits for it. Other persistence ids continue,
	// until there are more overdue calls than Config.Concurrency. Another process takes the
	// persistence id over when the claim is as old as Config.ClaimTimeout: then both may handle the
	// same event.
	Overdue int
	// Oldest is the age of the oldest trigger that is not done, or of the oldest debt. It is 0 if
	// there is neither.
	Oldest time.Duration
	// StreamDelay is the delay of reading the stream, with [Streams]: the time since the moment up
	// to which the records of a shard were received. It is the longest delay of all shards that
	// this process reads, and grows while the stream can't be read. Normally it is about
	// StreamsOptions.Poll.
	StreamDelay time.Duration
	// Trimmed counts how often since New records of a shard were trimmed before this process had
	// read them, or may have been. Each time is logged, and makes the group sweep all persistence
	// ids.
	Trimmed int64
	// ReadsStream reports whether Config.Source is [Streams]. Shards is the number of shards that
	// this process reads: all processes of the group together read all shards.
	ReadsStream bool
	Shards      int
	// SweepPending reports whether a sweep of all persistence ids was requested and is not done, as
	// of the last poll of the projections table.
	SweepPending bool
	// Missing counts persistence ids that wait for a sequence number that a JVM may still be
	// writing.
	Missing int
	// Passed counts sequence numbers that were passed since New because nothing was stored there
	// for Config.HoleWait. Late counts passed numbers at which an event was stored later: that
	// event is not handled. Both are logged.
	Passed, Late int64
}

// Lag returns the lag of each projection. It sends no requests.
func (g *Group) Lag() []Lag {
	lags := engine.GroupOf(g).Lag()
	all := make([]Lag, len(lags))
	for i, l := range lags {
		all[i] = Lag(l)
	}
	return all
}
