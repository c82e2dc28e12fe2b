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

// deliver passes a stored event to a reader, or the events for which its upcaster or the adapter
// converts it. An event that can't be decoded or upcast is passed without its value: Event.Payload
// returns the error, so that a reader that does not need the value can continue.
func (j *Journal) deliver(ctx context.Context, e *layout.Event, read func(Event) error) error {
	event := j.event(e)
	values, upcast, err := j.upcast(ctx, &event)
	switch {
	case err != nil && j.config.DecodeEagerly:
		return err
	case err != nil:
		event.decoded = &decoded{err: err}
		return read(event)
	case upcast:
		return deliverEach(&event, values, read)
	}
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
		event.decoded = &decoded{value: value}
		return read(event)
	}
	if values, err = j.fromJournal(&event, value); err != nil {
		return err
	}
	return deliverEach(&event, values, read)
}

// deliverEach passes the events for which a stored one is converted to a reader, by their values.
func deliverEach(event *Event, values []any, read func(Event) error) error {
	for i, value := range values {
		part := *event
		part.decoded, part.part = &decoded{value: value}, i
		if err := read(part); err != nil {
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
