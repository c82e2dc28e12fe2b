package entity

import (
	"math"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/internal/states"
	"github.com/dynajournal/dynajournal/serialization"
)

// StateType is a kind of entities that are stored as their state, without events: for what needs no
// history, such as sessions. S is the state, which is registered in Config.Serialization of the
// journal.
type StateType[S any] struct {
	// Name is the first part of the persistence ids, as that of [Type]. States and entities with
	// events do not meet, also if they have the same name.
	Name string

	// Initial returns the state of an entity for which none is stored.
	//
	// Defaults to the zero S.
	Initial func(id string) S

	// Upcasters read states of types that the program no longer has, by the manifest that is stored
	// with them. They must be pure.
	//
	// Defaults to none: Config.Serialization decodes all states.
	Upcasters map[string]func(stored serialization.Payload) (S, error)
}

// Type returns the type as one whose event is the next state, as entitytest.New takes it.
func (t StateType[S]) Type() Type[S, S] {
	return Type[S, S]{
		Name: t.Name, Initial: t.Initial, Evolve: func(_, next S) S { return next }, SnapshotUpcasters: t.Upcasters,
	}
}

// States hosts the entities of one [StateType]. They are entities whose event is the next state, so
// what holds for [Entities] holds for them.
type States[S any] = Entities[S, S]

// StateTx is what a command of [States] decides with. Record replaces the state. The command must
// not change what State points to: it records a new state. The version counts what was recorded.
type StateTx[S any] = Tx[S, S]

// The defaults and bounds of the options of states.
const (
	defaultStateIDs = 20
	maxStateIDs     = 1000
)

// OpenStates returns the entities of a type that are stored as their states: each is one item of
// the snapshot table, which every write replaces, if it is still what was read. A write of an item
// up to 1 KB costs one write unit, in every kind of journal. The journal stays open until the
// states are closed. They are not part of it: Journal.PersistenceIDs does not list them.
//
// A state that does not fit into an item is split over several. Config.MaxSnapshotBytes limits it:
// more is dynajournal.ErrRejected.
//
// Options are those of [Open], but for these. CommandIDs.Last defaults to 20, Most to Last, and
// both are limited to 1,000, as the ids are part of the item, with up to 33 bytes each. Commands
// are joined in every kind of journal, and Join.Bytes has no effect. Metadata must not be set.
//
// The error is a *dynajournal.ArgumentError if the type or the options can't be used.
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
