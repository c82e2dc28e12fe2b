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

// overdue are the calls of handlers of a group that have not returned although their context ended
// long ago. Such a call keeps its persistence id. Its place is given to another worker, so that it
// holds up no other persistence id.
type overdue struct {
	mu sync.Mutex
	// calls counts them by projection. replaced is how many have given their place away.
	calls    map[*Member]int
	replaced int
}

// worker runs tasks.
type worker struct {
	// begin makes another worker begin.
	begin func()
	// replaced reports whether another one has its place: then it ends with its run.
	replaced bool
}

// Call calls a function of the program apart.
func (r *Run) Call(ctx context.Context, limit time.Duration, do func(context.Context) error) error {
	return apart(func() error { return r.call(ctx, limit, do) })
}

// call calls a function of the program. It is overdue if it has not returned limit after its
// context has ended. That is at the latest when the claim of the run counts as dead. If the
// function was denied a request of the journal, or could not reach the store of a payload, the
// error is a *DelayedError.
func (r *Run) call(ctx context.Context, limit time.Duration, do func(context.Context) error) error {
	began, returned, late := time.Now(), false, false
	o := &r.Group.overdue
	timer := time.AfterFunc(limit+limit, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		if returned {
			return
		}
		late = true
		o.calls[r.Of]++
		r.logCall(ctx, "a handler has not returned after its context has ended", began)
		// At most as many again as there are places: what is never returned to must not grow.
		free := o.replaced < r.Group.Config.Concurrency
		w := r.worker
		replaces := w != nil && !w.replaced && free
		if replaces {
			w.replaced = true
			o.replaced++
			w.begin()
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
			r.logCall(ctx, "a handler has returned long after its context ended", began)
		}
	}()
	err := protect(ctx, limit, do)
	// Both are outages, as those that the group meets itself.
	if denied(err) || errors.Is(err, serialization.ErrPayloadUnreachable) {
		return Delayed(fmt.Errorf("projection %s of %q: %w", r.Of.Name, r.Pid, err))
	}
	return err
}

// lost reports whether a worker has lost its place.
func (o *overdue) lost(w *worker) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return w.replaced
}

// end notes that a worker has ended.
func (o *overdue) end(w *worker) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if w.replaced {
		o.replaced--
	}
}

// of returns how many calls for a projection are overdue.
func (o *overdue) of(m *Member) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.calls[m]
}

func (r *Run) logCall(ctx context.Context, text string, began time.Time) {
	r.Group.Config.Logger.LogAttrs(ctx, slog.LevelWarn, text, slog.String("projection", r.Of.Name),
		slog.String("persistence_id", r.Pid), slog.Duration("after", time.Since(began)))
}
