package lifetime

import (
	"context"
	"fmt"
	"sync/atomic"
)

// Turn lets the calls on a writer in one after the other, in the order in which they come, until
// the writer ends. Open makes it ready. It is safe for concurrent use.
type Turn struct {
	pid   string
	ended error
	// held has an element while a call has the turn.
	held chan struct{}
	// cause is why the writer has ended, nil while it lives; over is closed then.
	cause atomic.Pointer[error]
	over  chan struct{}
}

// Open makes it ready for the writer of a persistence id. ended is what every call fails with after
// End.
func (t *Turn) Open(pid string, ended error) {
	t.pid, t.ended = pid, ended
	t.held, t.over = make(chan struct{}, 1), make(chan struct{})
}

// Enter waits for the turn, which Leave gives back. It fails, and changes nothing, if ctx or the
// writer ends before.
func (t *Turn) Enter(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("write to %q: %w", t.pid, err)
	}
	if err := t.refusal(); err != nil {
		return err
	}
	select {
	case t.held <- struct{}{}:
	case <-t.over: // a write of it may go on in the background, and keep the turn
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

// Leave gives the turn back.
func (t *Turn) Leave() { <-t.held }

// End ends the writer: calls that wait for the turn fail, and so do later ones. Of several causes
// the first counts.
func (t *Turn) End(cause error) {
	if t.cause.CompareAndSwap(nil, &cause) {
		close(t.over)
	}
}

// Err returns the cause of the writer's end, nil before. It does not wait for the turn.
func (t *Turn) Err() error {
	if cause := t.cause.Load(); cause != nil {
		return *cause
	}
	return nil
}

// refusal returns the error of a call on a writer that has ended, nil before.
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
