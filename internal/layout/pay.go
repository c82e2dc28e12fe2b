package layout

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/dynajournal/dynajournal/internal/persistentpb"
)

// envelope serializes everything but the batch as one message, as Akka's serializer did: fields in the order of their numbers,
// empty manifests left out.
func (e *Event) envelope() []byte {
	message := &persistentpb.PersistentMessage{
		Payload:       &persistentpb.PersistentPayload{SerializerId: &e.SerializerID, Payload: e.Bytes},
		SequenceNr:    &e.SequenceNr,
		PersistenceId: &e.PersistenceID,
		WriterUuid:    &e.WriterUUID,
	}
	if e.Bytes == nil { // absent would not be empty
		message.Payload.Payload = []byte{}
	}
	if e.SerializerManifest != "" {
		message.Payload.PayloadManifest = []byte(e.SerializerManifest)
	}
	if e.Manifest != "" {
		message.Manifest = &e.Manifest
	}
	return persistentpb.Encode(message)
}

// payEvent reads an event in the form of Akka 1.0 and 1.1: everything but the batch stands in one serialized message.
func (r *reader) payEvent(pid string, seq int64) *Event {
	var message persistentpb.PersistentMessage
	if err := proto.Unmarshal(r.bytes(AttrPay), &message); r.err == nil && err != nil {
		r.fail(AttrPay, fmt.Errorf("it is no PersistentMessage: %w", err))
	}
	if r.err == nil && (message.GetSequenceNr() != seq || message.GetPersistenceId() != pid) {
		r.fail(AttrPay, ErrMismatch)
	}
	payload := message.GetPayload()
	e := &Event{
		PersistenceID:      pid,
		SequenceNr:         seq,
		Bytes:              payload.GetPayload(),
		SerializerID:       payload.GetSerializerId(),
		SerializerManifest: string(payload.GetPayloadManifest()),
		Manifest:           message.GetManifest(),
		WriterUUID:         message.GetWriterUuid(),
		Enveloped:          true,
	}
	e.Batch = r.batch(seq, e.WriterUUID)
	return e
}

// payPersistenceID is the persistence id in a serialized message, empty if it can't be read.
func payPersistenceID(b []byte) string {
	var message persistentpb.PersistentMessage
	if err := proto.Unmarshal(b, &message); err != nil {
		return ""
	}
	return message.GetPersistenceId()
}
