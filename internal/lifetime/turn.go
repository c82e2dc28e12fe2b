package lifetime

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
)

// ErrWriterEnded is wrapped by the errors of calls on a writer that has ended.
var ErrWriterEnded = errors.New("the writer has ended: recover the persistence id again")

// Turn admits the calls on a writer one after the other, in the order of their arrival, until the
// writer ends. Open prepares it. It is safe for concurrent use. It has no channels of its own,
// because a process can have a writer for each of many thousand persistence ids, most of which are
// idle.
type Turn struct {
	pid string
	// cause is the reason why the writer has ended, or nil.
	cause atomic.Pointer[error]

	mu sync.Mutex
	// waiting contains a channel for each waiting call, in order. A call receives true when it gets
	// the turn, or false when the writer has ended.
	waiting []chan bool
	// taken is true while a call has the turn.
	taken bool
}

// Open prepares a Turn for the writer of a persistence id.
func (t *Turn) Open(pid string) { t.pid = pid }

// Enter waits for the turn, which Leave releases. If ctx or the writer ends first, it returns an
// error and changes nothing.
func (t *Turn) Enter(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil {
		return t.left(ctx)
	}
	next, entered, err := t.enterOrWait()
	if err != nil || entered {
		return err
	}
	select {
	case entered := <-next:
		err := t.refusal()
		if err != nil && entered {
			t.Leave()
		}
		return err
	case <-ctx.Done():
		t.stopWaiting(next)
		return t.left(ctx)
	}
}

// TryEnter takes the turn if it is free and the writer has not ended. It reports whether it has
// taken the turn.
func (t *Turn) TryEnter() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.taken || t.Err() != nil {
		return false
	}
	t.taken = true
	return true
}

// enterOrWait takes the turn if it is free. Otherwise it returns the channel on which the call must
// wait.
func (t *Turn) enterOrWait() (next chan bool, entered bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.refusal(); err != nil {
		return nil, false, err
	}
	if !t.taken {
		t.taken = true
		return nil, true, nil
	}
	next = make(chan bool, 1)
	t.waiting = append(t.waiting, next)
	return next, false, nil
}

// stopWaiting removes a waiting call from the queue. If the call has got the turn meanwhile, it
// passes the turn on.
func (t *Turn) stopWaiting(next chan bool) {
	t.mu.Lock()
	at := slices.Index(t.waiting, next)
	if at >= 0 {
		t.waiting = slices.Delete(t.waiting, at, at+1)
	}
	t.mu.Unlock()
	if at < 0 && <-next {
		t.Leave()
	}
}

// Leave releases the turn.
func (t *Turn) Leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.waiting) == 0 {
		t.taken, t.waiting = false, nil
		return
	}
	t.waiting[0] <- true
	t.waiting = slices.Delete(t.waiting, 0, 1)
}

// End ends the writer: waiting and later calls fail with the first cause. A write may continue in
// the background and keep the turn.
func (t *Turn) End(cause error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.cause.CompareAndSwap(nil, &cause) {
		return
	}
	for _, next := range t.waiting {
		next <- false
	}
	t.waiting = nil
}

// Err returns the cause with which the writer ended, or nil. It does not wait for the turn.
func (t *Turn) Err() error {
	if cause := t.cause.Load(); cause != nil {
		return *cause
	}
	return nil
}

// left returns the error for a call whose context has ended.
func (t *Turn) left(ctx context.Context) error {
	return fmt.Errorf("write to %q: %w", t.pid, context.Cause(ctx))
}

// refusal returns the error for a call on a writer that has ended, or nil.
func (t *Turn) refusal() error {
	if cause := t.Err(); cause != nil {
		return &endedError{fmt.Errorf("%w: %q: it ended with: %w", ErrWriterEnded, t.pid, cause)}
	}
	return nil
}

// endedError reports a call on a writer that has ended.
type endedError struct{ error }

func (e *endedError) Unwrap() error { return e.error }

// MaybeApplied returns false: the call has sent nothing, even if the call that ended the writer may
// have changed something.
func (*endedError) MaybeApplied() bool { return false }
