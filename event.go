package dynajournal

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/serialization"
)

// MaxSequenceNumber is the highest sequence number that an event can have; the lowest is 1. It is
// one less than the largest int64, because the number after the last deleted event must also exist.
const MaxSequenceNumber int64 = math.MaxInt64 - 1

// Event is a stored event. [Event.Payload] and [Decode] decode its bytes.
type Event struct {
	PersistenceID  string
	SequenceNumber int64
	// WriterUUID is the UUID of the writer of the event. Each recovery returns a writer with a new
	// UUID.
	WriterUUID string
	// Manifest is the manifest that Config.Adapter returned, which can be empty.
	Manifest string
	// SerializerID, SerializerManifest and Bytes are the serialized payload, as stored.
	SerializerID       int32
	SerializerManifest string
	Bytes              []byte
	// Time is the time at which the event was written, by the clock of its writer, with a precision
	// of two microseconds. It is never earlier than the time of the event before. It is the zero
	// Time if the time is not stored: see Config.EventMetadata.
	Time time.Time
	// Metadata and Tags are the fields of the [NewEvent], or nil. Tags are in ascending order.
	Metadata map[string]string
	Tags     []string

	eventParts
}

// eventParts contains the registry that decodes the event, or the decoded value.
type eventParts = core.EventParts

// Payload returns the value of the event: decoded by Config.Serialization and converted by
// Config.Adapter, or converted by one of the entity.Type.Upcasters.
//
// The error is serialization.ErrUnknownSerializer if the serializer or the manifest is not
// registered, another decoding error, or the error of the upcaster. Serialized returns the bytes
// even then. ctx is used only to read a payload from a [serialization.PayloadStore].
func (e Event) Payload(ctx context.Context) (any, error) {
	parts := core.PartsIn(e.eventParts)
	if parts.Decoded != nil {
		return parts.Decoded.Value, parts.Decoded.Err
	}
	return core.DecodeEvent(ctx, parts.Registry, e.PersistenceID, e.SequenceNumber, e.Serialized())
}

// Serialized returns the payload as stored. Writer.Append writes it as it is.
func (e Event) Serialized() serialization.Payload {
	return serialization.Payload{SerializerID: e.SerializerID, Manifest: e.SerializerManifest, Bytes: e.Bytes}
}

// Decode decodes the payload of an event as a T, using [Event.Payload]. A payload of another type
// is an error.
func Decode[T any](ctx context.Context, e Event) (T, error) {
	v, err := e.Payload(ctx)
	if err != nil {
		var none T
		return none, err
	}
	t, ok := v.(T)
	if !ok {
		return t, fmt.Errorf("decode event %d of %q: it is a %T, not a %T", e.SequenceNumber, e.PersistenceID, v, t)
	}
	return t, nil
}

// eventOf returns the public form of an event.
func eventOf(e core.Delivered) Event {
	return Event{
		PersistenceID:      e.PersistenceID,
		SequenceNumber:     e.SequenceNr,
		WriterUUID:         e.WriterUUID,
		Manifest:           e.Manifest,
		SerializerID:       e.SerializerID,
		SerializerManifest: e.SerializerManifest,
		Bytes:              e.Bytes,
		Time:               layout.TimeOf(e.Metadata.Time),
		Metadata:           e.Metadata.Values,
		Tags:               e.Metadata.Tags,
		eventParts:         core.NewEventParts(e.Parts),
	}
}

// EventAdapter converts events before they are stored and after they are read, as Akka's event
// adapters do. It separates the program's types from the stored types, and reads events that older
// versions have stored. It must be safe for concurrent use.
type EventAdapter interface {
	// ToJournal returns the value to store for an event, and a manifest to store with it. The
	// manifest may be empty. An error rejects the event.
	ToJournal(event any) (stored any, manifest string, err error)
	// FromJournal returns the events for a stored value, in order: one, several or none. All of
	// them have the sequence number of the stored event. An error stops reading.
	FromJournal(stored any, manifest string) ([]any, error)
}
