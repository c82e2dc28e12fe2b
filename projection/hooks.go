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

// hooks returns the functions that pass what happens to Config.Hooks. They are nil if there is no
// hook.
func (c *Config) hooks() engine.Hooks {
	if len(c.Hooks) == 0 {
		return engine.Hooks{}
	}
	return engine.Hooks{
		StartHandle: func(ctx context.Context, call engine.Handling) context.Context {
			for _, hook := range c.Hooks {
				if hook.StartHandle != nil {
					ctx = hook.StartHandle(ctx, handlingOf(&call)) //nolint:fatcontext // there are few hooks
				}
			}
			return ctx
		},
		OnHandle: func(ctx context.Context, call engine.Handled) {
			for _, hook := range c.Hooks {
				if hook.OnHandle != nil {
					hook.OnHandle(ctx, Handled{handlingOf(&call.Handling), call.Age, call.Duration, call.Delayed, public(call.Err)})
				}
			}
		},
		OnStuck: func(ctx context.Context, failure *engine.HandlerError) {
			for _, hook := range c.Hooks {
				if hook.OnStuck != nil {
					hook.OnStuck(ctx, handlerError(failure))
				}
			}
		},
	}
}

func handlingOf(call *engine.Handling) Handling {
	return Handling{call.Projection, call.PersistenceID, call.Events, call.First, call.Last, call.Gap, call.Purge}
}
