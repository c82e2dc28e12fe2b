package dynajournal

import (
	"fmt"

	"github.com/dynajournal/dynajournal/internal/layout"
)

// EventAdapter changes events on their way into the journal and out of it, as Akka's event adapters do: to keep the domain's
// types apart from the stored ones, and to read what older versions stored. It must be safe for concurrent use.
type EventAdapter interface {
	// ToJournal gives what is stored in the place of an event, and a manifest that is stored beside it; the manifest may be
	// empty. An error rejects the event.
	ToJournal(event any) (stored any, manifest string, err error)
	// FromJournal gives the events that a stored one stands for, in order: one, several or none. All have the stored one's
	// sequence number. An error ends the reading.
	FromJournal(stored any, manifest string) ([]any, error)
}

// deliver gives a stored event to a reader: as it is, or what the adapter makes of it. A payload that can't be decoded is
// given as it is: a reader that does not need its value is not disturbed, one that asks for it gets the error.
func (j *Journal) deliver(e *layout.Event, read func(Event) error) error {
	event := j.event(e)
	if j.config.Adapter == nil && !j.config.DecodeEagerly {
		return read(event)
	}
	value, err := event.Payload()
	switch {
	case err != nil && j.config.DecodeEagerly:
		return err
	case err != nil:
		return read(event)
	case j.config.Adapter == nil:
		event.decoded = &value
		return read(event)
	}
	values, err := j.config.Adapter.FromJournal(value, event.Manifest)
	if err != nil {
		return fmt.Errorf("adapt event %d of %q: %w", event.SequenceNumber, event.PersistenceID, err)
	}
	for _, v := range values {
		event.decoded = &v
		if err := read(event); err != nil {
			return err
		}
	}
	return nil
}

// adapt gives what is stored in the place of an event, and the manifest beside it.
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
