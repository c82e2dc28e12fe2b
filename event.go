package dynajournal

import (
	"fmt"
	"math"

	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/serialization"
)

// MaxSequenceNumber is the highest sequence number that an event can have; the lowest is 1. It is one
// less than the largest int64, as the number after the last deleted event has to exist, too.
const MaxSequenceNumber int64 = math.MaxInt64 - 1

// Event is one persisted event. Its bytes are always there; what they mean is decoded on demand.
type Event struct {
	PersistenceID  string
	SequenceNumber int64
	// WriterUUID names the recovery whose writer wrote it.
	WriterUUID string
	// Manifest is the event adapter's, mostly empty.
	Manifest string
	// SerializerID, SerializerManifest and Bytes are the serialized payload, as stored.
	SerializerID       int32
	SerializerManifest string
	Bytes              []byte

	registry *serialization.Registry
	// decoded is the value, where it was decoded or adapted while reading.
	decoded *any
}

// Payload is the event's value: decoded with the journal's serialization, and as Config.Adapter has made it. An event whose serializer or manifest is not registered gives
// serialization.ErrUnknownSerializer; its bytes can still be read and written elsewhere.
func (e Event) Payload() (any, error) {
	if e.decoded != nil {
		return *e.decoded, nil
	}
	v, err := e.registry.Decode(e.Serialized())
	if err != nil {
		return nil, fmt.Errorf("decode event %d of %q: %w", e.SequenceNumber, e.PersistenceID, err)
	}
	return v, nil
}

// Serialized is the payload as stored. Appended to a journal it is written as it is.
func (e Event) Serialized() serialization.Payload {
	return serialization.Payload{SerializerID: e.SerializerID, Manifest: e.SerializerManifest, Bytes: e.Bytes}
}

// Decode decodes the payload of an event as a T. A payload of another type is an error.
func Decode[T any](e Event) (T, error) {
	v, err := e.Payload()
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

// event gives a stored event its public form.
func (j *Journal) event(e *layout.Event) Event {
	return Event{
		PersistenceID:      e.PersistenceID,
		SequenceNumber:     e.SequenceNr,
		WriterUUID:         e.WriterUUID,
		Manifest:           e.Manifest,
		SerializerID:       e.SerializerID,
		SerializerManifest: e.SerializerManifest,
		Bytes:              e.Bytes,
		registry:           j.config.Serialization,
	}
}
