package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/dynajournal/dynajournal/serialization"
)

// overdue tracks the calls of handlers of a group that have not returned although their context
// ended long ago. Such a call blocks its persistence id. Another worker replaces the one that waits
// for the call, so that no other persistence id is delayed.
type overdue struct {
	mu sync.Mutex
	// calls counts overdue calls by projection.
	calls map[*Member]int
	// replaced counts workers that were replaced and have not stopped.
	replaced int
}

// worker runs tasks.
type worker struct {
	// start starts another worker.
	start func()
	// replaced reports whether another worker has replaced it. It then stops after its run.
	replaced bool
}

// Call is call in a goroutine of its own, which ends if the function calls runtime.Goexit.
func (r *Run) Call(ctx context.Context, steps []Step, limit time.Duration, do func(context.Context) error) error {
	return apart(func() error { return r.call(ctx, steps, limit, do) })
}

// call calls the handler for steps, with a context that ends after limit. The call is overdue if
// it has not returned after another limit, which is at the latest when the claim of the run counts
// as dead. If the function was denied a request of the journal, or could not reach the store of a
// payload, the error is a *DelayedError.
func (r *Run) call(
	ctx context.Context, steps []Step, limit time.Duration, do func(context.Context) error,
) (err error) {
	start, returned, late := time.Now(), false, false
	if h, seen := r.handling(steps); seen {
		ctx = r.startHandle(ctx, h)
		defer func() { r.endHandle(ctx, h, start, err) }()
	}
	o := &r.Group.overdue
	timer := time.AfterFunc(limit+limit, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		if returned {
			return
		}
		late = true
		o.calls[r.Of]++
		r.logCall(ctx, "a handler has not returned after its context has ended", "projection.handler_overdue", start)
		// At most Config.Concurrency replacements: calls that never return must not accumulate.
		free := o.replaced < r.Group.Config.Concurrency
		w := r.worker
		replaces := w != nil && !w.replaced && free
		if replaces {
			w.replaced = true
			o.replaced++
			w.start()
		}
		if r.overdue != nil {
			r.overdue(replaces)
		}
	})
	defer func() {
		timer.Stop()
		o.mu.Lock()
		defer o.mu.Unlock()
		returned = true
		if late {
			o.calls[r.Of]--
			r.logCall(ctx, "a handler has returned long after its context ended", "projection.handler_returned_late", start)
		}
	}()
	err = protect(ctx, limit, do)
	// Both are outages, like failed requests of the group.
	if denied(err) || errors.Is(err, serialization.ErrPayloadUnreachable) {
		return Delayed(fmt.Errorf("projection %s of %q: %w", r.Of.Name, r.Pid, err))
	}
	return err
}

// lost reports whether a worker was replaced.
func (o *overdue) lost(w *worker) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return w.replaced
}

// end records that a worker has stopped.
func (o *overdue) end(w *worker) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if w.replaced {
		o.replaced--
	}
}

// of returns the number of overdue calls for a projection.
func (o *overdue) of(m *Member) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.calls[m]
}

func (r *Run) logCall(ctx context.Context, text, event string, start time.Time) {
	r.Group.Config.Logger.LogAttrs(ctx, slog.LevelWarn, text, slog.String("event", event), slog.String("projection", r.Of.Name),
		slog.String("persistence_id", r.Pid), slog.Duration("after", time.Since(start)))
}
