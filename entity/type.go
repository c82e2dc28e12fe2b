package entity

import (
	"context"
	"strings"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/entity/internal/kit"
	"github.com/dynajournal/dynajournal/serialization"
)

// Type is a kind of entities: how the state of one follows from its events. S is the state, E the
// event, usually an interface. The types of both are registered in Config.Serialization of the
// journal.
type Type[S, E any] struct {
	// Name is the first part of the persistence ids: entity "anna" of the type "account" is stored
	// as "account|anna". It must not be empty or contain "|".
	Name string

	// Initial returns the state of an entity without events.
	//
	// Defaults to the zero S.
	Initial func(id string) S

	// Evolve returns the state after an event. It must be pure: it must not change what state
	// points to, unless Copy is set, and has no effects. It is called for every stored event when
	// an entity is loaded, so it must know all events that were ever stored. A panic is an error
	// that names the event.
	Evolve func(state S, event E) S

	// Copy returns a copy of a state that shares nothing with it that Evolve changes. Set it if S
	// holds pointers, maps or slices and Evolve changes what they hold. It is usually called once
	// for each write, and never while an entity is loaded. It is called more often if commands are
	// decided again or fail after they have recorded events, and once when the entity catches up
	// with events of other processes.
	//
	// Defaults to none: Evolve changes nothing.
	Copy func(state S) S

	// Tags returns the tags that are stored with an event. The journal must store metadata: see
	// Config.EventMetadata.
	//
	// Defaults to none.
	Tags func(event E) []string

	// Upcasters read events of types that the program no longer has, by the manifest that is stored
	// with them. They return the events to apply instead of the stored one: one, several or none.
	// Config.Adapter is not called for them. They must be pure.
	//
	// All readers of the journal that the entities are opened with get the returned events, too:
	// Journal.Events, projections, outboxes and process managers. See [UseUpcasters] for a journal
	// without entities.
	//
	// Defaults to none: Config.Serialization decodes all events.
	Upcasters map[string]func(stored serialization.Payload) ([]E, error)

	// SnapshotUpcasters read states of types that the program no longer has, by the manifest that
	// is stored with them. They must be pure.
	//
	// Defaults to none: Config.Serialization decodes all states.
	SnapshotUpcasters map[string]func(stored serialization.Payload) (S, error)

	// Snapshots selects when states are saved.
	//
	// Defaults to never.
	Snapshots Snapshots

	// SnapshotWhen reports whether the state is saved after a command, besides Snapshots.Every. It
	// is called with each event that the command records, the state after it, and its number, until
	// it reports true. The state that is saved is that after the write. It must be pure.
	//
	// Defaults to none.
	SnapshotWhen func(state S, event E, version int64) bool
}

// Snapshots selects when the states of entities are saved, and what is deleted then. A snapshot is
// saved after the write after which it is due: no command waits for it. If it fails, that is
// logged and reported to hooks, and the next one is tried when it is due.
type Snapshots struct {
	// Every is after how many events a snapshot is due. If one is missing when an entity is loaded
	// for a command, because it has failed or the type had no snapshots before, it is saved then.
	//
	// Defaults to 0: never, but for Type.SnapshotWhen.
	Every int64

	// Keep is how many snapshots of an entity are kept. Older ones are deleted.
	//
	// Defaults to 2.
	Keep int

	// DeleteEvents deletes the events up to the oldest snapshot that is kept. Then the state can't
	// be found without a snapshot: it is an error if none of those that are kept can be read, and
	// dynajournal.ErrSnapshotMissing if none of them is there.
	//
	// Defaults to false.
	DeleteEvents bool

	// Needed returns the first sequence number of an entity that a reader outside still needs, such
	// as a projection. It is asked before events are deleted. That event and those after it stay.
	// After an error no event is deleted; older snapshots are deleted already.
	//
	// Defaults to none.
	Needed func(ctx context.Context, persistenceID string) (int64, error)
}

// defaultKeep is the default of Snapshots.Keep.
const defaultKeep = 2

// PersistenceID returns the persistence id of an entity.
func (t *Type[S, E]) PersistenceID(id string) string { return t.Name + kit.Separator + id }

// Check returns an error if the type can't be used, as [Open] does: a *dynajournal.ArgumentError.
func (t *Type[S, E]) Check() error {
	switch {
	case t.Name == "" || strings.Contains(t.Name, kit.Separator):
		return argument("Type.Name", t.Name, `it must not be empty or contain "|"`)
	case t.Evolve == nil:
		return argument("Type.Evolve", "nil", "it must be set")
	case t.Snapshots.Every < 0:
		return argument("Snapshots.Every", t.Snapshots.Every, "it must not be negative")
	case t.Snapshots.Keep < 0:
		return argument("Snapshots.Keep", t.Snapshots.Keep, "it must not be negative")
	}
	return nil
}

// snapshots reports whether the type saves snapshots.
func (t *Type[S, E]) snapshots() bool { return t.Snapshots.Every > 0 || t.SnapshotWhen != nil }

// initial returns the state of an entity without events.
func (t *Type[S, E]) initial(id string) S {
	if t.Initial == nil {
		var zero S
		return zero
	}
	return t.Initial(id)
}

func argument(name string, value any, reason string) error {
	return &dynajournal.ArgumentError{Argument: name, Value: value, Reason: reason}
}
