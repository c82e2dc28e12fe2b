package lifetime

import (
	"context"
	"fmt"
	"sync/atomic"
)

// Turn admits the calls on a writer one after the other, in the order in which they come, until the
// writer ends. Open prepares it. It is safe for concurrent use.
type Turn struct {
	pid   string
	ended error
	// held holds an element while a call has the turn.
	held chan struct{}
	// cause is why the writer has ended, or nil; over is closed at the same time.
	cause atomic.Pointer[error]
	over  chan struct{}
}

// Open prepares a Turn for the writer of a persistence id. Every call after End fails with ended.
func (t *Turn) Open(pid string, ended error) {
	t.pid, t.ended = pid, ended
	t.held, t.over = make(chan struct{}, 1), make(chan struct{})
}

// Enter waits for the turn, which Leave releases. If ctx or the writer ends before, it returns an
// error and changes nothing.
func (t *Turn) Enter(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("write to %q: %w", t.pid, err)
	}
	if err := t.refusal(); err != nil {
		return err
	}
	select {
	case t.held <- struct{}{}:
	case <-t.over: // a write may continue in the background, and keep the turn
		return t.refusal()
	case <-ctx.Done():
		return fmt.Errorf("write to %q: %w", t.pid, context.Cause(ctx))
	}
	err := t.refusal()
	if err != nil {
		t.Leave()
	}
	return err
}

// TryEnter takes the turn if it is free and the writer has not ended. It reports whether it has.
func (t *Turn) TryEnter() bool {
	select {
	case t.held <- struct{}{}:
	default:
		return false
	}
	if t.Err() != nil {
		t.Leave()
		return false
	}
	return true
}

// Leave releases the turn.
func (t *Turn) Leave() { <-t.held }

// End ends the writer: waiting and later calls fail. The first cause counts.
func (t *Turn) End(cause error) {
	if t.cause.CompareAndSwap(nil, &cause) {
		close(t.over)
	}
}

// Err returns the cause of the writer's end, or nil. It does not wait for the turn.
func (t *Turn) Err() error {
	if cause := t.cause.Load(); cause != nil {
		return *cause
	}
	return nil
}

// refusal returns the error of a call on a writer that has ended, or nil.
func (t *Turn) refusal() error {
	if cause := t.Err(); cause != nil {
		return &endedError{fmt.Errorf("%w: %q: it ended with: %w", t.ended, t.pid, cause)}
	}
	return nil
}

// endedError is the error of a call on a writer that has ended.
type endedError struct{ error }

func (e *endedError) Unwrap() error { return e.error }

// MaybeApplied reports false: the call has sent nothing, whatever the cause of the writer's end may
// have changed.
func (*endedError) MaybeApplied() bool { return false }
