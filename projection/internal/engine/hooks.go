package engine

import (
	"context"
	"errors"
	"time"
)

// Hooks receive what happens in a group. Each is nil if no hook receives it.
type Hooks struct {
	StartHandle  func(ctx context.Context, call Handling) context.Context
	OnHandle     func(ctx context.Context, call Handled)
	StartSend    func(ctx context.Context, message Sending) context.Context
	OnSend       func(ctx context.Context, message Sent)
	OnStuck      func(ctx context.Context, failure *HandlerError)
	OnClaim      func(ctx context.Context, claim Claim)
	OnLease      func(ctx context.Context, lease Lease)
	OnStreamRead func(ctx context.Context, read StreamRead)
	OnSweep      func(ctx context.Context, count SweepCount)
}

// Sending is a projection.Sending.
type Sending struct {
	Projection, PersistenceID string
	SequenceNumber            int64
	MessageID, Topic          string
}

// Sent is a projection.Sent.
type Sent struct {
	Sending

	Result   string
	Duration time.Duration
	Err      error
}

// The results of sending a message.
const (
	SendAccepted = "accepted"
	SendRefused  = "refused"
	SendFailed   = "failed"
)

// Claim is a projection.Claim.
type Claim struct{ Projection, PersistenceID, Change string }

// The changes of claims.
const (
	ClaimWaits     = "waits"
	ClaimTakenOver = "taken_over"
	ClaimLost      = "lost"
)

// claimChanged passes a change of the claim to the hooks.
func (r *Run) claimChanged(ctx context.Context, change string) {
	if onClaim := r.Group.Config.Hooks.OnClaim; onClaim != nil {
		onClaim(ctx, Claim{r.Of.Name, r.Pid, change})
	}
}

// Lease is a projection.Lease.
type Lease struct{ Group, Shard, Change string }

// The changes of leases.
const (
	LeaseGained    = "gained"
	LeaseTakenOver = "taken_over"
	LeaseLost      = "lost"
	LeaseReleased  = "released"
	LeaseEnded     = "ended"
)

// StreamRead is a projection.StreamRead.
type StreamRead struct {
	Group, Shard string
	Records      int
	Duration     time.Duration
	Err          error
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
	if hooks := &r.Group.Config.Hooks; hooks.StartHandle == nil && hooks.OnHandle == nil {
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

// startHandle passes a call of the handler to the hooks, and returns its context.
func (r *Run) startHandle(ctx context.Context, h Handling) context.Context {
	if start := r.Group.Config.Hooks.StartHandle; start != nil {
		return start(ctx, h)
	}
	return ctx
}

// endHandle passes a call of the handler that has returned to the hooks.
func (r *Run) endHandle(ctx context.Context, h Handling, start time.Time, err error) {
	if r.Group.Config.Hooks.OnHandle == nil {
		return
	}
	_, delayed := errors.AsType[*DelayedError](err)
	handled := Handled{Handling: h, Duration: time.Since(start), Delayed: delayed, Err: err}
	if !h.Oldest.IsZero() {
		handled.Age = max(time.Since(h.Oldest), 1) // 0 is unknown
	}
	r.Group.Config.Hooks.OnHandle(ctx, handled)
}
