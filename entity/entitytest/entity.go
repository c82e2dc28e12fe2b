package entitytest

import (
	"context"

	"github.com/dynajournal/dynajournal/entity"
)

// DefaultID is the id of the entity that Kit.Given uses.
const DefaultID = "test"

// Entity is an entity of a kit.
type Entity[S, E any] struct {
	kit *Kit[S, E]
	id  string
}

// Entity returns the entity with an id, which has no events at first.
func (k *Kit[S, E]) Entity(id string) *Entity[S, E] { return &Entity[S, E]{k, id} }

// Given is Entity.Given of the entity [DefaultID].
func (k *Kit[S, E]) Given(events ...E) *Entity[S, E] {
	k.t.Helper()
	return k.Entity(DefaultID).Given(events...)
}

// Given resets the entity to these events. It returns the entity.
func (e *Entity[S, E]) Given(events ...E) *Entity[S, E] {
	k := e.kit
	k.t.Helper()
	k.mu.Lock()
	delete(k.histories, e.id)
	k.mu.Unlock()
	r := k.run(context.Background(), e.id, func(tx *entity.Tx[S, E]) error {
		tx.Record(events...)
		return nil
	}, nil)
	if r.err != nil {
		k.t.Fatalf("the events given to %q can't be recorded: %v", e.id, r.err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.history(e.id).recorded = nil
	return e
}

// When runs a command without a result. The function [When] runs a command with a result.
func (e *Entity[S, E]) When(command func(*entity.Tx[S, E]) error, opts ...entity.CommandOption) *Outcome[S, E] {
	e.kit.t.Helper()
	return newOutcome(e, e.kit.run(context.Background(), e.id, command, opts))
}

// Then checks that all commands since Given together have recorded exactly these events.
func (e *Entity[S, E]) Then(events ...E) *Entity[S, E] {
	e.kit.t.Helper()
	e.kit.mu.Lock()
	recorded := dumpAll(e.kit.history(e.id).recorded)
	e.kit.mu.Unlock()
	if want := dumpAll(events); recorded != want {
		e.kit.t.Errorf("%q has recorded %s, want %s", e.id, recorded, want)
	}
	return e
}

// ThenState checks the state.
func (e *Entity[S, E]) ThenState(want S) *Entity[S, E] {
	e.kit.t.Helper()
	if state := e.State(); !same(state, want) {
		e.kit.t.Errorf("the state of %q is %s, want %s", e.id, dump(state), dump(want))
	}
	return e
}

// State returns the state. The test must not change what the state points to.
func (e *Entity[S, E]) State() S {
	e.kit.mu.Lock()
	defer e.kit.mu.Unlock()
	return e.kit.history(e.id).state
}

// Version returns the number of the last event, or 0 without events.
func (e *Entity[S, E]) Version() int64 {
	e.kit.mu.Lock()
	defer e.kit.mu.Unlock()
	return e.kit.history(e.id).version()
}
