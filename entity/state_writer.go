package entity

import (
	"context"
	"errors"
	"slices"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/commandids"
	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/outside"
	"github.com/dynajournal/dynajournal/internal/states"
)

// stateWriter replaces the state of an entity. It belongs to the job of the entity.
type stateWriter[S any] struct {
	entity *entity[S, S]
	self   states.Writer
	// put is the last put, regardless of its outcome.
	put states.PutID
	// base is the stored state without its value, as far as this writer knows. It is nil if nothing
	// is stored.
	// ids has the command ids of base.
	base *layout.State
	ids  remembered
	// swept reports that the writer has looked for parts that were left by crashes.
	swept bool
	ended error
}

func (w *stateWriter[S]) Err() error { return w.ended }

func (w *stateWriter[S]) UUID() string { return authorOf(w.base) }

// Append puts the last recorded state.
func (w *stateWriter[S]) Append(ctx context.Context, all []encoded) (core.Result, error) {
	e := w.entity
	last := all[len(all)-1].state
	next := &layout.State{
		PersistenceID: e.pid, Time: last.time,
		SerializerID: last.payload.SerializerID, Manifest: last.payload.Manifest, Bytes: last.payload.Bytes,
		Outside: last.put,
	}
	first := int64(1)
	if w.base != nil {
		first += w.base.Version
		next.IDs = w.base.IDs
	}
	next.Version = first + int64(len(all)) - 1
	ids := w.idsAfter(all, first)
	if ids != nil {
		saved := commandids.Saved{Done: ids.done, Limits: commandids.Limits(*ids.limits)}
		next.IDs = saved.Append(nil)
	}
	cost, err := e.host.core.OnState(ctx, e.pid, func(ctx context.Context, store *states.Store, m *dynamo.Meter) error {
		return store.Put(ctx, m, w.base, next, w.self)
	})
	w.put = states.LastPut(next)
	result := core.Result{Cost: cost}
	if err != nil {
		return result, w.failed(err, first, next, len(all)-1)
	}
	w.cleanInBackground(next)
	next.Bytes = nil // the entity has the state
	w.base = next
	if ids != nil {
		w.ids = *ids
	}
	result.First, result.Last = first, next.Version
	return result, nil
}

// idsAfter returns the command ids after a put, or nil if they do not change. first is the version
// of the first recorded state.
func (w *stateWriter[S]) idsAfter(all []encoded, first int64) *remembered {
	var after *remembered
	for i := range all {
		r := all[i].state
		if !r.named {
			continue
		}
		if after == nil {
			after = &remembered{limits: w.ids.limits, done: slices.Clone(w.ids.done)}
			after.index()
		}
		after.add(commandids.Done{Hash: r.hash, Version: first + int64(i), Time: r.time})
	}
	return after
}

// failed returns the error of Append for the error of a put.
func (w *stateWriter[S]) failed(err error, first int64, next *layout.State, index int) error {
	pid := w.entity.pid
	_, old := errors.AsType[*outside.OldError](err)
	switch {
	case errors.Is(err, states.ErrConflict):
		w.ended = &dynajournal.ConflictError{PersistenceID: pid, SequenceNumber: first}
	case dynamo.MaybeApplied(err):
		w.ended = &dynajournal.OutcomeUnknownError{PersistenceID: pid, First: first, Last: next.Version, Err: err}
	case old, errors.Is(err, states.ErrTooLarge):
		return &dynajournal.RejectedError{PersistenceID: pid, Index: index, Err: err}
	default:
		return err
	}
	return w.ended
}

// cleanInBackground deletes the parts that a put has replaced, in the background. The first put of
// a writer with parts before or after it also deletes parts that were left by crashes.
func (w *stateWriter[S]) cleanInBackground(next *layout.State) {
	replaced := w.base
	if next.Parts == 0 && (replaced == nil || replaced.Parts == 0) {
		return
	}
	sweep := !w.swept
	w.swept = true
	h := w.entity.host
	h.jobs.Go(func() {
		_, err := h.core.OnState(h.saves, next.PersistenceID, func(ctx context.Context, store *states.Store, m *dynamo.Meter) error {
			return store.Clean(ctx, m, replaced, next, sweep)
		})
		if err != nil {
			h.options.Logger.Warn("parts of a replaced state were not deleted",
				"event", "entity.state_parts_left", "persistence_id", next.PersistenceID, "error", err)
		}
	})
}

// fence makes puts on the current item that are still in flight fail. It reports false if another
// writer has replaced the item.
func (w *stateWriter[S]) fence(ctx context.Context) (bool, error) {
	e := w.entity
	_, err := e.host.core.OnState(ctx, e.pid, func(ctx context.Context, store *states.Store, m *dynamo.Meter) error {
		fenced, err := store.Fence(ctx, m, e.pid, []byte(authorOf(w.base)))
		if err == nil {
			w.base = fenced
			w.base.Bytes = nil // the entity has the state
		}
		return err
	})
	if errors.Is(err, states.ErrConflict) {
		return false, nil
	}
	return err == nil, err
}
