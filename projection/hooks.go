package projection

import (
	"context"
	"time"

	"github.com/dynajournal/dynajournal/projection/internal/engine"
)

// Hook has functions that a group calls when something happens. Each may be nil. They are called
// from many goroutines at once, and must not block or panic.
type Hook struct {
	// StartHandle is called before a call of a handler. The handler and OnHandle get the returned
	// context, which must be ctx or derived from it, for example to contain a span.
	StartHandle func(ctx context.Context, call Handling) context.Context

	// OnHandle is called when a handler has returned, with the context of StartHandle. The offset
	// is not stored yet.
	OnHandle func(ctx context.Context, call Handled)

	// OnStuck is called when a persistence id has become stuck, and that is stored. failure names
	// the projection, the persistence id and the event.
	OnStuck func(ctx context.Context, failure *HandlerError)

	// StartSend is called before a message of an outbox is sent. The target and OnSend get the
	// returned context, which must be ctx or derived from it, for example to contain a span.
	StartSend func(ctx context.Context, message Sending) context.Context

	// OnSend is called when the target of an outbox has returned, with the context of StartSend.
	OnSend func(ctx context.Context, message Sent)

	// OnClaim is called when processes compete for a persistence id: see [ClaimChange].
	OnClaim func(ctx context.Context, claim Claim)

	// OnLease is called when this process gains or loses the lease of a shard of the stream.
	OnLease func(ctx context.Context, lease Lease)

	// OnStreamRead is called after each read of a shard of the stream.
	OnStreamRead func(ctx context.Context, read StreamRead)

	// OnSweep is called with the progress of a sweep: about once a minute while persistence ids get
	// done, and at the end. It reports the sweeps of [Sweep], and the sweeps that other sources
	// need. The same progress is logged.
	OnSweep func(ctx context.Context, count SweepCount)
}

// Handling describes a call of a handler.
type Handling struct {
	// Projection is the name of the group and of the projection, such as billing/balances.
	Projection    string
	PersistenceID string
	// Events is the number of stored events. A [BatchHandler] gets several, any other handler 1. It
	// is 0 for a gap or a purge.
	Events int
	// First and Last are the first and the last sequence number: of the events, or of the gap. For
	// a purge both are Purge.Last.
	First, Last int64
	// Gap reports whether the call is for deleted events that the projection has not handled. Purge
	// reports whether it is for a purge. The hooks are called even if the handler has no method for
	// it.
	Gap, Purge bool
}

// Handled describes a call of a handler that has returned.
type Handled struct {
	Handling

	// Age is the time from the writing of the first event to the return of the handler, by the
	// clocks of the writer and of this process. It is 0 if the time of the event is not stored: see
	// dynajournal.Config.EventMetadata.
	Age time.Duration
	// Duration is the duration of the call.
	Duration time.Duration
	// Delayed reports whether Err is no failure of the handler, so that the attempt does not count:
	// see [Delayed].
	Delayed bool
	// Err is the error of the handler, or nil.
	Err error
}

// hooks returns the functions that pass what happens to Config.Hooks.
func (c *Config) hooks() engine.Hooks {
	var all engine.Hooks
	for i := range c.Hooks {
		hook := &c.Hooks[i]
		all.StartHandle = started(all.StartHandle, hook.StartHandle, handlingOf)
		all.OnHandle = joined(all.OnHandle, hook.OnHandle, handledOf)
		all.StartSend = started(all.StartSend, hook.StartSend, sendingOf)
		all.OnSend = joined(all.OnSend, hook.OnSend, sentOf)
		all.OnStuck = joined(all.OnStuck, hook.OnStuck, handlerError)
		all.OnClaim = joined(all.OnClaim, hook.OnClaim, claimOf)
		all.OnLease = joined(all.OnLease, hook.OnLease, leaseOf)
		all.OnStreamRead = joined(all.OnStreamRead, hook.OnStreamRead, streamReadOf)
		all.OnSweep = joined(all.OnSweep, hook.OnSweep, sweepCountOf)
	}
	return all
}

// started returns a function that calls first and then next with the context of first. Both may be
// nil; if next is nil, started returns first.
func started[E, P any](
	first func(context.Context, E) context.Context, next func(context.Context, P) context.Context, of func(E) P,
) func(context.Context, E) context.Context {
	switch {
	case next == nil:
		return first
	case first == nil:
		return func(ctx context.Context, e E) context.Context { return next(ctx, of(e)) }
	}
	return func(ctx context.Context, e E) context.Context { return next(first(ctx, e), of(e)) }
}

// joined returns a function that calls first and then next. Both may be nil; if next is nil, joined
// returns first.
func joined[E, P any](first func(context.Context, E), next func(context.Context, P), of func(E) P) func(context.Context, E) {
	switch {
	case next == nil:
		return first
	case first == nil:
		return func(ctx context.Context, e E) { next(ctx, of(e)) }
	}
	return func(ctx context.Context, e E) {
		first(ctx, e)
		next(ctx, of(e))
	}
}

func handlingOf(h engine.Handling) Handling {
	return Handling{h.Projection, h.PersistenceID, h.Events, h.First, h.Last, h.Gap, h.Purge}
}

func handledOf(h engine.Handled) Handled {
	return Handled{handlingOf(h.Handling), h.Age, h.Duration, h.Delayed, public(h.Err)}
}

func sendingOf(s engine.Sending) Sending { return Sending(s) }

func sentOf(s engine.Sent) Sent {
	return Sent{sendingOf(s.Sending), SendResult(s.Result), s.Duration, public(s.Err)}
}

func claimOf(c engine.Claim) Claim {
	return Claim{c.Projection, c.PersistenceID, ClaimChange(c.Change)}
}

func leaseOf(l engine.Lease) Lease { return Lease{l.Group, l.Shard, LeaseChange(l.Change)} }

func streamReadOf(r engine.StreamRead) StreamRead {
	return StreamRead{r.Group, r.Shard, r.Records, r.Duration, public(r.Err)}
}

func sweepCountOf(c engine.SweepCount) SweepCount { return SweepCount(c) }
