package entity

import (
	"math"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/internal/states"
	"github.com/dynajournal/dynajournal/serialization"
)

// StateType describes a kind of entities that are stored as their state, without events. Use it for
// entities that need no history, such as sessions. S is the state. Its type is registered in
// Config.Serialization of the journal.
type StateType[S any] struct {
	// Name is the first part of the persistence ids, as in [Type]. States and entities with events
	// are stored separately, even if they have the same name.
	Name string

	// Initial returns the state of an entity that has no stored state.
	//
	// Defaults to the zero S.
	Initial func(id string) S

	// Upcasters decode states whose types the program no longer has. The key is the manifest that
	// is stored with the state. They must be pure.
	//
	// Defaults to none: Config.Serialization decodes all states.
	Upcasters map[string]func(stored serialization.Payload) (S, error)
}

// Type returns a [Type] whose event is the next state, for example for entitytest.New.
func (t StateType[S]) Type() Type[S, S] {
	return Type[S, S]{
		Name: t.Name, Initial: t.Initial, Evolve: func(_, next S) S { return next }, SnapshotUpcasters: t.Upcasters,
	}
}

// States hosts the entities of one [StateType]. The event of these entities is the next state, so
// the documentation of [Entities] applies to them.
type States[S any] = Entities[S, S]

// StateTx is the [Tx] of a command of [States]. Record replaces the state. The command must not
// change what State points to: it records a new state. The version counts the recorded states.
type StateTx[S any] = Tx[S, S]

// The defaults and bounds of the options of states.
const (
	defaultStateIDs = 20
	maxStateIDs     = 1000
)

// OpenStates returns the entities of a type that are stored as their states. Each state is one item
// of the snapshot table. A write replaces the item, on the condition that it has not changed since
// it was read. A write of an item up to 1 KB costs one write unit, in every kind of journal. The
// journal must stay open until the states are closed. States are not part of the journal:
// Journal.PersistenceIDs does not list them.
//
// A state that does not fit into an item is split over several. Config.MaxSnapshotBytes limits its
// size: a larger state fails with [dynajournal.ErrRejected].
//
// The options are the options of [Open], with these differences. CommandIDs.Last defaults to 20 and
// CommandIDs.Most to Last. Both are limited to 1,000, because the ids are part of the item, with up
// to 33 bytes each. Commands share writes in every kind of journal, and Join.Bytes has no effect.
// Metadata must not be set.
//
// The error is a [*dynajournal.ArgumentError] if the type or the options can't be used.
func OpenStates[S any](journal *dynajournal.Journal, kind StateType[S], options Options) (*States[S], error) {
	if journal == nil {
		return nil, argument("journal", "nil", "it must be an open journal")
	}
	stored := kind.Type()
	if err := stored.Check(); err != nil {
		return nil, err
	}
	if options.Metadata != nil {
		return nil, argument("Options.Metadata", "set", "states have no metadata")
	}
	ids := &options.CommandIDs
	if ids.Last == 0 {
		ids.Last = defaultStateIDs
	}
	if ids.Most == 0 {
		ids.Most = ids.Last
	}
	if ids.Most > maxStateIDs {
		return nil, argument("CommandIDs.Most", ids.Most, "it must be at most 1,000 for states")
	}
	j := core.Of(journal)
	if err := options.complete(j, true); err != nil {
		return nil, err
	}
	options.Join.Bytes = math.MaxInt
	storage := &stateStorage[S]{self: states.NewWriter()}
	h := host(journal, stored, options, storage)
	h.metadata = true // the item has the ids of commands
	return h, nil
}
