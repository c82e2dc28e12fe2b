package entity

import "context"

// Purge removes an entity: its events and snapshots, as Writer.Purge of the journal does, or its
// durable state. It waits for earlier commands; later commands start from the initial state.
//
// In a native journal the low mark stays for good, with the id in its key, so the version continues
// to rise. The same applies to the item of a durable state. So do not put personal data in an id.
// Purge has no [dynajournal.PurgeOptions].
//
// Errors: [ErrBusy], [ErrClosed], [ErrReentrant], errors of Writer.Purge, and the cause of ctx.
// After an error the purge may be partly done, and may be repeated.
func (h *Entities[S, E]) Purge(ctx context.Context, id string) error {
	return h.alone(ctx, id, func(e *entity[S, E]) error { return h.storage.purge(ctx, e) })
}

// Drop drops an entity from memory. It waits for earlier commands; later commands load the entity
// again. Nothing is written.
//
// Errors: [ErrBusy], [ErrClosed], [ErrReentrant], and the cause of ctx.
func (h *Entities[S, E]) Drop(ctx context.Context, id string) error {
	return h.alone(ctx, id, func(*entity[S, E]) error { return nil })
}

// alone calls do while no command of the entity is in progress. The entity is loaded again after
// that.
func (h *Entities[S, E]) alone(ctx context.Context, id string, do func(*entity[S, E]) error) error {
	e, err := h.startCall(id, 0)
	if err != nil {
		return err
	}
	defer h.calls.Done()
	c := &command[S, E]{ctx: ctx}
	var failed error
	gone := false
	var at *entity[S, E]
	c.alone = func() {
		failed = do(at)
		at.mu.Lock()
		defer at.mu.Unlock()
		at.endTurn()
		at.epoch++
		at.loaded, at.wanted, at.writer, at.saved, at.tried = false, false, nil, nil, 0
		at.ids, at.durable, at.author, at.time = remembered{limits: &at.host.options.CommandIDs}, point[S]{}, "", 0
		c.end(nil)
		if gone = at.idle(); gone {
			at.drop(DropRequested)
		}
		at.advance()
	}
	if at, err = h.enter(e, c); err != nil {
		return err
	}
	if err := h.finish(at, c); err != nil {
		return err
	}
	if gone {
		h.forget(at)
	}
	return failed
}

// closeNext seals the next number of a found state. It reports false if the number is taken.
func closeNext[S any](ctx context.Context, got *found[S]) (bool, error) {
	closed, err := got.writer.(eventWriter).CloseNext(ctx) //nolint:forcetypeassert // events are looked for by a recovery
	if closed {
		got.next++
	}
	return closed, err
}
