package layout

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/dynajournal/dynajournal/internal/persistentpb"
)

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
