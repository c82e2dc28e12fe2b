package entity

import (
	"context"
	"time"

	"github.com/dynajournal/dynajournal/internal/clock"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// moment is a point in time. clocks has the times of the journal's clocks, because Go's clock alone
// stops while the machine sleeps. Two moments can have the same times, but they differ in order.
type moment struct {
	clocks clock.Moment
	order  int64
}

func (h *Entities[S, E]) moment() moment { return moment{h.core.Clock.Now(), h.moments.Add(1)} }

// isOld reports whether an entity whose state was current at m may have been purged since, so long
// ago that all traces of the purge are gone. Other events can then have its numbers.
func (h *Entities[S, E]) isOld(m moment) bool {
	return h.since(m) > h.core.FenceWindow/layout.KnowledgePart
}

// since returns the time since m by the journal's clocks: the longest that one of them shows.
func (h *Entities[S, E]) since(m moment) time.Duration { return h.core.Clock.Since(m.clocks) }

// View calls show with the state of an entity, and returns the version of the state: the sequence
// number of its last event, or 0 without events. The state is durable: it never contains events
// that are still being written. show must not change what the state points to.
//
// By default View checks whether another process has written, with a consistent read of one item,
// and catches up if so: the state contains the events of all commands that had returned, in any
// process, before the call. The check takes 1 request and 1 read unit if nothing was written. In a
// journal that is shared with a JVM, View also reads low marks: 1 request and 3 units more (2 with
// one shard), or 2 requests and one more unit for each shard if the last event is deleted.
// [InMemory] and [MaxAge] skip the check.
//
// An entity that is not in memory is loaded. View does not write: read permissions are enough.
//
// Errors: the error of show, unchanged; [ErrClosed], [ErrPanic], errors of loading the entity,
// errors of requests, and the cause of ctx.
func (h *Entities[S, E]) View(
	ctx context.Context, id string, show func(S) error, opts ...ViewOption,
) (int64, error) {
	if show == nil {
		return 0, argument("show", "nil", "it must be a function")
	}
	var opt ViewOption
	if len(opts) > 0 {
		opt = opts[len(opts)-1]
	}
	if opt.memory {
		if at, known := h.inMemory(id); known {
			return at.version, h.show(id, at.state, show)
		}
	}
	e, err := h.startCall(id, 0)
	if err != nil {
		return 0, err
	}
	defer h.calls.Done()
	at, err := h.currentState(ctx, e, opt)
	if err != nil {
		return 0, err
	}
	return at.version, h.show(id, at.state, show)
}

// inMemory returns the durable state of an entity, and whether it is known.
func (h *Entities[S, E]) inMemory(id string) (at point[S], known bool) {
	h.mu.Lock()
	e := h.loaded[id]
	if e == nil || h.closed {
		h.mu.Unlock()
		return at, false
	}
	h.uses++
	e.used = h.uses
	h.mu.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.durable, e.knows(InMemory)
}

// knows reports whether the state in memory is current enough for opt. The caller holds mu.
func (e *entity[S, E]) knows(opt ViewOption) bool {
	if !e.loaded || e.dropped || e.reload {
		return false
	}
	return opt.memory || opt.age > 0 && e.host.since(e.confirmed) <= opt.age
}

// lastStays reports whether the last event of the durable state was stored, and not deleted, when
// the state was found.
func (e *entity[S, E]) lastStays() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.durable.version > e.deletedTo
}

// show calls a function of the caller, and returns a panic as an error.
func (h *Entities[S, E]) show(id string, state S, show func(S) error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = panicked(h.kind.PersistenceID(id), value)
		}
	}()
	return show(state)
}

// currentState returns the durable state. It loads the state if it is not in memory, and catches up
// with other writers if opt requires it.
func (h *Entities[S, E]) currentState(ctx context.Context, e *entity[S, E], opt ViewOption) (point[S], error) {
	for {
		e.mu.Lock()
		switch {
		case e.dropped && e.failure != nil:
			err := e.failure
			e.mu.Unlock()
			return point[S]{}, err
		case e.dropped:
			e.mu.Unlock()
			var err error
			if e, err = h.replace(e.id); err != nil {
				return point[S]{}, err
			}
			continue
		case e.loaded && !e.reload:
			at, known := e.durable, e.knows(opt)
			e.mu.Unlock()
			if known {
				return at, nil
			}
			if _, err := h.refresh(ctx, e); err != nil {
				return point[S]{}, err
			}
			opt = InMemory // it was confirmed since the call began
			continue
		}
		start, changed := h.moment(), e.awaitChange()
		e.startJob()
		e.mu.Unlock()
		if err := h.await(ctx, changed); err != nil {
			return point[S]{}, err
		}
		e.mu.Lock()
		if e.loaded && e.confirmed.order > start.order {
			opt = InMemory // it was loaded since the call began
		}
		e.mu.Unlock()
	}
}

// await waits for a change.
func (h *Entities[S, E]) await(ctx context.Context, changed <-chan struct{}) error {
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-h.life.Done():
		return ErrClosed
	}
}

// refresh makes sure that the state of an entity, once it is loaded, contains everything that was
// durable when refresh was called. It reports whether the state lacked something before, or may
// have.
func (h *Entities[S, E]) refresh(ctx context.Context, e *entity[S, E]) (bool, error) {
	start, beyond := h.moment(), false
	for {
		e.mu.Lock()
		loaded := e.loaded && !e.reload
		switch {
		case e.dropped || !loaded && !e.busy || loaded && e.confirmed.order > start.order:
			// The state is current, or it will be loaded from now on.
			e.mu.Unlock()
			return true, nil
		case !loaded:
			// The load in progress may have started before the call. Then its state is not current.
			changed := e.awaitChange()
			e.mu.Unlock()
			if err := h.awaitUnwritten(ctx, e, changed); err != nil {
				return false, err
			}
			beyond = true
			continue
		}
		next, known, readAt := e.next, e.confirmed, h.moment()
		e.mu.Unlock()
		found, err := h.storage.checkNews(ctx, e, next, known)
		if err != nil {
			return false, &notWrittenError{e.pid, err}
		}
		if found == noNews {
			e.mu.Lock()
			if e.confirmed.order < readAt.order {
				e.confirmed = readAt
			}
			e.mu.Unlock()
			return beyond, nil
		}
		if err := h.awaitNews(ctx, e, found, next, readAt); err != nil {
			return false, err
		}
		beyond = true
	}
}

// awaitNews waits until the state of an entity contains the news that a read of a number has found
// at readAt, or until the entity is loaded again. It starts a job for this, but not
// during a purge: events that the job reads may be gone when it adopts the state.
func (h *Entities[S, E]) awaitNews(
	ctx context.Context, e *entity[S, E], found news, number int64, readAt moment,
) error {
	for {
		e.mu.Lock()
		if e.dropped || !e.loaded || e.reload || e.next > number || e.confirmed.order > readAt.order {
			e.mu.Unlock()
			return nil
		}
		if !e.busy && !e.isAlone() {
			e.blocked = true
			e.runAsync(func() { e.catchUp(found) })
		}
		changed := e.awaitChange()
		e.mu.Unlock()
		if err := h.awaitUnwritten(ctx, e, changed); err != nil {
			return err
		}
	}
}

// awaitUnwritten is await for a command that has written nothing: the error says so.
func (h *Entities[S, E]) awaitUnwritten(ctx context.Context, e *entity[S, E], changed <-chan struct{}) error {
	if err := h.await(ctx, changed); err != nil {
		return &notWrittenError{e.pid, err}
	}
	return nil
}

// catchUp is the job that catches up with other writers after storage.checkNews has found news.
func (e *entity[S, E]) catchUp(what news) {
	got, err := e.host.storage.catchUp(e, what)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.busy = false
	if err != nil {
		e.fail(err)
		return
	}
	e.adopt(got)
	e.sendBack(nil)
	e.advance()
}
