package engine

import (
	"context"
	"errors"
	"time"
)

// Hooks receive what happens in a group. All are nil if there is no hook.
type Hooks struct {
	StartHandle func(ctx context.Context, call Handling) context.Context
	OnHandle    func(ctx context.Context, call Handled)
	OnStuck     func(ctx context.Context, failure *HandlerError)
}

// Handling is a projection.Handling.
type Handling struct {
	Projection, PersistenceID string
	Events                    int
	First, Last               int64
	Gap, Purge                bool
	Oldest                    time.Time
}

// Handled is a projection.Handled.
type Handled struct {
	Handling

	Age, Duration time.Duration
	Delayed       bool
	Err           error
}

// handling describes a call of the handler for steps. It reports false if the handler is not called
// for any of them, or if no hook receives the call.
func (r *Run) handling(steps []Step) (Handling, bool) {
	h := Handling{Projection: r.Of.Name, PersistenceID: r.Pid}
	if r.Group.Config.Hooks.StartHandle == nil {
		return h, false
	}
	for i := range steps {
		s := &steps[i]
		first, last := s.First, s.Last
		switch {
		case s.LeftOut:
			continue
		case s.Purge:
			h.Purge, first, last = true, s.To.Seq, s.To.Seq
		case s.Event == nil:
			h.Gap = true
		default:
			first, last = s.Event.SequenceNumber, s.Event.SequenceNumber
			if h.Events++; h.Oldest.IsZero() {
				h.Oldest = s.Event.Time()
			}
		}
		if h.First == 0 {
			h.First = first
		}
		h.Last = last
	}
	return h, h.Events > 0 || h.Gap || h.Purge
}

// endHandle passes a call of the handler that has returned to the hooks.
func (r *Run) endHandle(ctx context.Context, h Handling, start time.Time, err error) {
	_, delayed := errors.AsType[*DelayedError](err)
	handled := Handled{Handling: h, Duration: time.Since(start), Delayed: delayed, Err: err}
	if !h.Oldest.IsZero() {
		handled.Age = max(time.Since(h.Oldest), 1) // 0 is unknown
	}
	r.Group.Config.Hooks.OnHandle(ctx, handled)
}
