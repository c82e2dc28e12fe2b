package entitytest

import (
	"context"
	"errors"
	"fmt"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/serialization"
)

// storeAll returns events as they would be read from a journal, and reports events that change by
// that. The error is the one of a journal that can't store an event.
func (k *Kit[S, E]) storeAll(id string, events []E) ([]E, error) {
	k.t.Helper()
	stored := make([]E, len(events))
	for i, event := range events {
		read, err := store(context.WithoutCancel(k.t.Context()), k.registry, event)
		if err != nil {
			k.t.Errorf("event %s of %q can't be stored: %v", dump(event), id, err)
			return nil, &dynajournal.RejectedError{PersistenceID: k.kind.PersistenceID(id), Index: i, Err: err}
		}
		if !same(event, read) {
			k.t.Errorf("event %s of %q is read back as %s", dump(event), id, dump(read))
		}
		stored[i] = read
	}
	return stored, nil
}

// checkState reports a state that changes when it is stored in a snapshot and read back. A type
// that saves no snapshots need not register its state.
func (k *Kit[S, E]) checkState(id string, h *history[S, E]) {
	k.t.Helper()
	read, err := store(context.WithoutCancel(k.t.Context()), k.registry, h.state)
	saved := k.kind.Snapshots.Every > 0 || k.kind.SnapshotWhen != nil
	switch {
	case errors.Is(err, serialization.ErrUnknownType) && !saved:
	case err != nil:
		k.t.Errorf("state %s of %q can't be stored: %v", dump(h.state), id, err)
	case !same(h.state, read):
		k.t.Errorf("state %s of %q is read back as %s", dump(h.state), id, dump(read))
	}
}

// checkReplay reports events that lead to another state when an entity is loaded: from the initial
// state, without Type.Copy, with the events as they are read. It returns false if it has reported
// something.
func (k *Kit[S, E]) checkReplay(id string, h *history[S, E]) bool {
	k.t.Helper()
	state := k.initial(id)
	before := dump(state)
	for _, event := range h.events {
		state = k.kind.Evolve(state, event)
	}
	if after := dump(k.initial(id)); after != before {
		k.t.Errorf("Initial of %q returns a state that Evolve has changed: %s became %s. It must return a new state at every call",
			id, before, after)
		return false
	}
	if !same(state, h.state) {
		k.t.Errorf("the events of %q lead to %s when they are replayed, but led to %s when they were recorded", id, dump(state), dump(h.state))
		return false
	}
	return true
}

// store encodes and decodes a value.
func store[T any](ctx context.Context, registry *serialization.Registry, value T) (T, error) {
	var none T
	payload, err := registry.Encode(ctx, value)
	if err != nil {
		return none, fmt.Errorf("encode: %w", err)
	}
	decoded, err := registry.Decode(ctx, payload)
	if err != nil {
		return none, fmt.Errorf("decode: %w", err)
	}
	read, ok := decoded.(T)
	if !ok {
		return none, fmt.Errorf("read back as a %T, want a %T", decoded, value)
	}
	return read, nil
}
