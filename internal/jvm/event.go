package jvm

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/dynajournal/dynajournal/internal/persistentpb"
)

// Payload is a serialized value.
type Payload struct {
	Bytes      []byte
	Serializer int32
	Manifest   string
}

// The serializers of the values that a test passes.
const (
	bytesSerializer  = 4
	stringSerializer = 20
)

// errPayload reports a value of a type that is not serialized here.
var errPayload = errors.New("neither a string nor bytes nor a Payload")

// payloadOf serializes a string or bytes, and returns a Payload unchanged.
func payloadOf(value any) (Payload, error) {
	switch v := value.(type) {
	case string:
		return Payload{Bytes: []byte(v), Serializer: stringSerializer}, nil
	case []byte:
		return Payload{Bytes: v, Serializer: bytesSerializer}, nil
	case Payload:
		return v, nil
	}
	return Payload{}, fmt.Errorf("serialize %T: %w", value, errPayload)
}

// Event is a replayed event.
type Event struct {
	PersistenceID  string
	SequenceNumber int64
	Writer         string
	// Adapter is the event adapter's manifest.
	Adapter string
	Payload
}

// errNoEvent reports an item that the plug-in can't replay: it is neither an event nor a member of
// an incomplete atomic write.
var errNoEvent = errors.New("the item is not an event")

// eventOf decodes an event in the current form, or in the form of Akka's plug-in 1.1.
func eventOf(i item) (Event, error) {
	if b, ok := binaryOf(i, "event"); ok {
		seq, _, err := numberOf(i, "seq")
		if err != nil {
			return Event{}, err
		}
		serializer, _, err := numberOf(i, "ev_ser_id")
		return Event{
			PersistenceID:  textOf(i, "persistence_id"),
			SequenceNumber: seq,
			Writer:         textOf(i, "writer_uuid"),
			Adapter:        textOf(i, "manifest"),
			Payload:        Payload{b, int32(serializer), textOf(i, "ev_ser_manifest")},
		}, err
	}
	b, ok := binaryOf(i, "pay")
	if !ok {
		num, _, _ := numberOf(i, "num")
		return Event{}, fmt.Errorf("replay %s %d: %w", textOf(i, "par"), num, errNoEvent)
	}
	var m persistentpb.PersistentMessage
	if err := proto.Unmarshal(b, &m); err != nil {
		return Event{}, fmt.Errorf("read an event of Akka: %w", err)
	}
	return Event{
		PersistenceID:  m.GetPersistenceId(),
		SequenceNumber: m.GetSequenceNr(),
		Writer:         m.GetWriterUuid(),
		Adapter:        m.GetManifest(),
		Payload: Payload{
			m.GetPayload().GetPayload(), m.GetPayload().GetSerializerId(),
			string(m.GetPayload().GetPayloadManifest()),
		},
	}, nil
}
