package core

import (
	"context"
	"fmt"

	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/serialization"
)

// Adapter has the methods of the root's EventAdapter.
type Adapter interface {
	ToJournal(event any) (stored any, manifest string, err error)
	FromJournal(stored any, manifest string) ([]any, error)
}

// Delivered is an event in the form that a reader gets: as stored, or as an upcaster or the adapter
// converted it.
type Delivered struct {
	*layout.Event
	Parts
}

// Deliver passes a stored event to read, or the events to which its upcaster or the adapter
// converts it. An event that can't be decoded or upcast is passed without its value, so that a
// reader that does not need the value can continue. If the upcaster failed, Decoded has the error.
func (j *Journal) Deliver(ctx context.Context, e *layout.Event, read func(Delivered) error) error {
	event := Delivered{Event: e, Parts: Parts{Registry: j.Serialization}}
	values, upcast, err := j.upcast(ctx, e)
	switch {
	case err != nil && j.DecodeEagerly:
		return err
	case err != nil:
		event.Decoded = &Decoded{Err: err}
		return read(event)
	case upcast:
		return deliverEach(event, values, read)
	}
	if j.Adapter == nil && !j.DecodeEagerly {
		return read(event)
	}
	value, err := j.Decode(ctx, e)
	switch {
	case err != nil && j.DecodeEagerly:
		return err
	case err != nil:
		return read(event)
	case j.Adapter == nil:
		event.Decoded = &Decoded{Value: value}
		return read(event)
	}
	if values, err = j.fromJournal(e, value); err != nil {
		return err
	}
	return deliverEach(event, values, read)
}

// deliverEach passes one event to read for each value to which a stored event was converted.
func deliverEach(event Delivered, values []any, read func(Delivered) error) error {
	for i, value := range values {
		part := event
		part.Decoded, part.Part = &Decoded{Value: value}, i
		if err := read(part); err != nil {
			return err
		}
	}
	return nil
}

// Converted returns the values to which the upcaster of a stored event converts it, or else the
// adapter: one, several or no values. It reports false if the event has no upcaster and the journal
// no adapter.
func (j *Journal) Converted(ctx context.Context, e *layout.Event) ([]any, bool, error) {
	values, upcast, err := j.upcast(ctx, e)
	if upcast || j.Adapter == nil {
		return values, upcast, err
	}
	value, err := j.Decode(ctx, e)
	if err != nil {
		return nil, true, err
	}
	values, err = j.fromJournal(e, value)
	return values, true, err
}

// Decode returns the value of a stored event, as the registry decodes it.
func (j *Journal) Decode(ctx context.Context, e *layout.Event) (any, error) {
	return DecodeEvent(ctx, j.Serialization, e.PersistenceID, e.SequenceNr, Payload(e))
}

// DecodeEvent returns the value of the payload of an event. The error names the event.
func DecodeEvent(
	ctx context.Context, registry *serialization.Registry, pid string, seq int64, p serialization.Payload,
) (any, error) {
	v, err := registry.Decode(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("decode event %d of %q: %w", seq, pid, err)
	}
	return v, nil
}

// Payload returns the serialized form of an event.
func Payload(e *layout.Event) serialization.Payload {
	return serialization.Payload{SerializerID: e.SerializerID, Manifest: e.SerializerManifest, Bytes: e.Bytes}
}

// fromJournal returns the values to which the adapter converts the value of an event.
func (j *Journal) fromJournal(e *layout.Event, value any) ([]any, error) {
	values, err := j.Adapter.FromJournal(value, e.Manifest)
	if err != nil {
		return nil, fmt.Errorf("adapt event %d of %q: %w", e.SequenceNr, e.PersistenceID, err)
	}
	return values, nil
}

// adapt returns the value to store for an event, and the manifest to store with it.
func (j *Journal) adapt(event any) (any, string, error) {
	if j.Adapter == nil {
		return event, "", nil
	}
	stored, manifest, err := j.Adapter.ToJournal(event)
	if err != nil {
		return nil, "", fmt.Errorf("adapt the event: %w", err)
	}
	return stored, manifest, nil
}
