package dynajournal

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/serialization"
)

// MaxSequenceNumber is the highest sequence number that an event can have; the lowest is 1. It is
// one less than the largest int64, as the number after the last deleted event has to exist, too.
const MaxSequenceNumber int64 = math.MaxInt64 - 1

// Event is a stored event. Payload and Decode decode its bytes.
type Event struct {
	PersistenceID  string
	SequenceNumber int64
	// WriterUUID is the UUID of the writer of the event. Each recovery returns a writer with
	// another UUID.
	WriterUUID string
	// Manifest is the manifest of Config.Adapter, empty if it returned none.
	Manifest string
	// SerializerID, SerializerManifest and Bytes are the serialized payload, as stored.
	SerializerID       int32
	SerializerManifest string
	Bytes              []byte
	// Time is when the event was written, by the clock of its writer to two microseconds, and never
	// before the event before it. It is the zero Time if it is not stored: see
	// Config.EventMetadata.
	Time time.Time
	// Metadata and Tags are those of the [NewEvent], nil if there are none. Tags are in ascending
	// order.
	Metadata map[string]string
	Tags     []string

	registry *serialization.Registry
	// decoded is what Payload returns, if that was known when the event was read.
	decoded *decoded
	// part is the place of the event among those that the upcaster or the adapter makes of the
	// stored one.
	part int
}

// decoded is the value of an event, or why there is none.
type decoded struct {
	value any
	err   error
}

// Payload returns the value of the event: decoded by Config.Serialization and converted by
// Config.Adapter, or converted by one of the entity.Type.Upcasters.
//
// The error is serialization.ErrUnknownSerializer if the serializer or the manifest is not
// registered, another error of decoding, or the error of the upcaster. Serialized returns the bytes
// anyway.
func (e Event) Payload() (any, error) { return e.PayloadContext(context.Background()) }

// PayloadContext is Payload with a context, for a payload in a [serialization.PayloadStore].
func (e Event) PayloadContext(ctx context.Context) (any, error) {
	if e.decoded != nil {
		return e.decoded.value, e.decoded.err
	}
	v, err := e.registry.DecodeContext(ctx, e.Serialized())
	if err != nil {
		return nil, fmt.Errorf("decode event %d of %q: %w", e.SequenceNumber, e.PersistenceID, err)
	}
	return v, nil
}

// Serialized returns the payload as stored. Writer.Append writes it as it is.
func (e Event) Serialized() serialization.Payload {
	return serialization.Payload{SerializerID: e.SerializerID, Manifest: e.SerializerManifest, Bytes: e.Bytes}
}

// Decode decodes the payload of an event as a T. A payload of another type is an error.
func Decode[T any](e Event) (T, error) { return DecodeContext[T](context.Background(), e) }

// DecodeContext is Decode with a context, for a payload in a [serialization.PayloadStore].
func DecodeContext[T any](ctx context.Context, e Event) (T, error) {
	v, err := e.PayloadContext(ctx)
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

// event returns the public form of a stored event.
func (j *Journal) event(e *layout.Event) Event {
	return Event{
		PersistenceID:      e.PersistenceID,
		SequenceNumber:     e.SequenceNr,
		WriterUUID:         e.WriterUUID,
		Manifest:           e.Manifest,
		SerializerID:       e.SerializerID,
		SerializerManifest: e.SerializerManifest,
		Bytes:              e.Bytes,
		Time:               timeOf(e.Metadata.Time),
		Metadata:           e.Metadata.Values,
		Tags:               e.Metadata.Tags,
		registry:           j.config.Serialization,
	}
}

// timeOf returns the public form of the time of an event, in UTC.
func timeOf(microseconds int64) time.Time {
	if microseconds == 0 {
		return time.Time{}
	}
	return time.UnixMicro(microseconds).UTC()
}

// microseconds returns the stored form of the time of an event.
func microseconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}
