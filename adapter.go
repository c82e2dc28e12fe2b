package dynajournal

import (
	"context"
	"fmt"

	"github.com/dynajournal/dynajournal/internal/layout"
)

// EventAdapter converts events before they are stored and after they are read, as Akka's event
// adapters do. It keeps the types of the program apart from the stored ones, and reads what older
// versions have stored. It must be safe for concurrent use.
type EventAdapter interface {
	// ToJournal returns the value to store for an event, and a manifest to store with it. The
	// manifest may be empty. An error rejects the event.
	ToJournal(event any) (stored any, manifest string, err error)
	// FromJournal returns the events for a stored value, in order: one, several or none. All have
	// the sequence number of the stored event. An error ends the reading.
	FromJournal(stored any, manifest string) ([]any, error)
}

// deliver passes a stored event, or the events for which the adapter converts it, to a reader. An
// event whose payload can't be decoded is passed without its value: Event.Payload returns the
// error, so that a reader that does not need the value goes on.
func (j *Journal) deliver(ctx context.Context, e *layout.Event, read func(Event) error) error {
	event := j.event(e)
	if j.config.Adapter == nil && !j.config.DecodeEagerly {
		return read(event)
	}
	value, err := event.PayloadContext(ctx)
	switch {
	case err != nil && j.config.DecodeEagerly:
		return err
	case err != nil:
		return read(event)
	case j.config.Adapter == nil:
		event.decoded = &value
		return read(event)
	}
	values, err := j.fromJournal(&event, value)
	if err != nil {
		return err
	}
	for i, v := range values {
		event.decoded, event.part = &v, i
		if err := read(event); err != nil {
			return err
		}
	}
	return nil
}

// fromJournal returns the values for which the adapter converts that of an event.
func (j *Journal) fromJournal(event *Event, value any) ([]any, error) {
	values, err := j.config.Adapter.FromJournal(value, event.Manifest)
	if err != nil {
		return nil, fmt.Errorf("adapt event %d of %q: %w", event.SequenceNumber, event.PersistenceID, err)
	}
	return values, nil
}

// adapt returns the value to store for an event, and the manifest to store with it.
func (j *Journal) adapt(event any) (any, string, error) {
	if j.config.Adapter == nil {
		return event, "", nil
	}
	stored, manifest, err := j.config.Adapter.ToJournal(event)
	if err != nil {
		return nil, "", fmt.Errorf("adapt the event: %w", err)
	}
	return stored, manifest, nil
}
