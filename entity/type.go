package entity

import (
	"context"
	"strings"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/entity/internal/kit"
	"github.com/dynajournal/dynajournal/serialization"
)

// Type describes a kind of entities: how events change the state of an entity. S is the state. E is
// the event, usually an interface. The types of both are registered in Config.Serialization of the
// journal.
type Type[S, E any] struct {
	// Name is the first part of the persistence ids: entity "anna" of the type "account" is stored
	// as "account|anna". It must not be empty or contain "|".
	Name string

	// Initial returns the state of an entity without events.
	//
	// Defaults to the zero S.
	Initial func(id string) S

	// Evolve returns the state after an event. It must be pure: it must have no side effects, and
	// must not change what state points to unless Copy is set. It is called for every stored event
	// when an entity is loaded, so it must know all events that were ever stored. A panic becomes
	// an error that names the event.
	Evolve func(state S, event E) S

	// Copy returns a copy of a state. The copy must not share anything with the original that
	// Evolve changes. Set Copy if S contains pointers, maps or slices and Evolve changes what they
	// refer to. It is usually called once for each write, and never while an entity is being
	// loaded. It is called more often if commands are decided again or fail after they have
	// recorded events, and once when the entity catches up with events of other processes.
	//
	// Defaults to none: Evolve does not change its argument.
	Copy func(state S) S

	// Tags returns the tags that are stored with an event. The journal must store metadata: see
	// Config.EventMetadata.
	//
	// Defaults to none.
	Tags func(event E) []string

	// Upcasters decode events whose types the program no longer has. The key is the manifest that
	// is stored with the event. An upcaster returns the events to apply instead of the stored one:
	// one, several or none. Config.Adapter is not called for them. Upcasters must be pure.
	//
	// All readers of the journal that is passed to Open also get the returned events:
	// Journal.Events, projections, outboxes and process managers. See [UseUpcasters] for a journal
	// without entities.
	//
	// Defaults to none: Config.Serialization decodes all events.
	Upcasters map[string]func(stored serialization.Payload) ([]E, error)

	// SnapshotUpcasters decode states whose types the program no longer has. The key is the
	// manifest that is stored with the state. They must be pure.
	//
	// Defaults to none: Config.Serialization decodes all states.
	SnapshotUpcasters map[string]func(stored serialization.Payload) (S, error)

	// Snapshots selects when states are saved.
	//
	// Defaults to never.
	Snapshots Snapshots

	// SnapshotWhen reports whether to save a snapshot after a command, in addition to
	// Snapshots.Every. It is called with each event that the command records, the state after the
	// event, and the number of the event, until it returns true. The snapshot has the state after
	// the whole write. SnapshotWhen must be pure.
	//
	// Defaults to none.
	SnapshotWhen func(state S, event E, version int64) bool
}

// Snapshots selects when the states of entities are saved, and what is deleted afterwards. A due
// snapshot is saved in the background after the write: no command waits for it. A failure is logged
// and reported to hooks; the next snapshot is tried when it is due.
type Snapshots struct {
	// Every is the number of events after which a snapshot is due. If a snapshot is missing when an
	// entity is loaded for a command, because saving it failed or the type had no snapshots before,
	// it is saved then.
	//
	// Defaults to 0: snapshots are saved only for Type.SnapshotWhen.
	Every int64

	// Keep is the number of snapshots to retain for each entity. Older ones are deleted.
	//
	// Defaults to 2.
	Keep int

	// DeleteEvents deletes the events up to the oldest retained snapshot. The entity can then no
	// longer be loaded without a snapshot: loading fails if no retained snapshot can be decoded,
	// and with [dynajournal.ErrSnapshotMissing] if none exists.
	//
	// Defaults to false.
	DeleteEvents bool

	// Needed returns the first sequence number of an entity that another reader, such as a
	// projection, still needs. It is called before events are deleted. The event at this number and
	// all later events are retained. After an error no event is deleted, but older snapshots are
	// already deleted.
	//
	// Defaults to none.
	Needed func(ctx context.Context, persistenceID string) (int64, error)
}

// defaultKeep is the default of Snapshots.Keep.
const defaultKeep = 2

// PersistenceID returns the persistence id of an entity.
func (t *Type[S, E]) PersistenceID(id string) string { return t.Name + kit.Separator + id }

// Check returns the error that [Open] returns for the type if the type can't be used: a
// [*dynajournal.ArgumentError].
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
