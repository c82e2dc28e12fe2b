package layout

import (
	"errors"
	"fmt"
	"maps"

	"google.golang.org/protobuf/proto"

	"github.com/dynajournal/dynajournal/internal/persistentpb"
)

// envelope serializes everything but the batch as one message, as Akka's serializer did: fields in
// the order of their numbers, without empty manifests.
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

// payEvent decodes an event in the form of Akka 1.0 and 1.1: everything but the batch is in one
// serialized message.
func (r *reader) payEvent(pid string, seq int64) *Event {
	var message persistentpb.PersistentMessage
	if err := proto.Unmarshal(r.bytes(AttrPay), &message); r.err == nil && err != nil {
		r.fail(AttrPay, fmt.Errorf("decode PersistentMessage: %w", err))
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

// payPersistenceID returns the persistence id in a serialized message, or "" if it can't be read.
func payPersistenceID(b []byte) string {
	var message persistentpb.PersistentMessage
	if err := proto.Unmarshal(b, &message); err != nil {
		return ""
	}
	return message.GetPersistenceId()
}

// Reasons why an enveloped event is not converted.
var (
	ErrHasMore     = errors.New("its envelope has fields that the current form can't store")
	ErrSplitTooBig = errors.New("in the current form it would be over DynamoDB's limit")
)

// Unwrap returns the item of an enveloped event in the current form, with all its other attributes,
// or nil if it is not enveloped. If something would be lost, it returns an error.
func (k Keys) Unwrap(pid string, p int64, item Attributes) (seq int64, split Attributes, err error) {
	if _, enveloped := item[AttrPay]; !enveloped {
		return 0, nil, nil
	}
	slot, err := k.DecodeSlot(pid, p, item)
	if err != nil || !slot.Event.Enveloped {
		return slot.SequenceNr, nil, err
	}
	var message persistentpb.PersistentMessage
	r := reader{item: mapped(item)}
	if err := proto.Unmarshal(r.bytes(AttrPay), &message); err != nil {
		return slot.SequenceNr, nil, fmt.Errorf("decode PersistentMessage: %w", err)
	}
	var again persistentpb.PersistentMessage
	if err := proto.Unmarshal(slot.Event.envelope(), &again); err != nil ||
		!proto.Equal(plain(&message), plain(&again)) {
		return slot.SequenceNr, nil, errors.Join(ErrHasMore, err)
	}
	split = maps.Clone(item)
	delete(split, AttrPay)
	event := *slot.Event
	event.Enveloped = false
	maps.Copy(split, k.EncodeEvent(&event))
	if Size(split) > MaxItemBytes {
		return slot.SequenceNr, nil, ErrSplitTooBig
	}
	return slot.SequenceNr, split, nil
}

// MaxItemBytes is DynamoDB's limit of an item, in bytes.
const MaxItemBytes = 400 << 10

// plain removes the fields with empty values, which have no meaning, from a message. It returns the
// message.
func plain(m *persistentpb.PersistentMessage) *persistentpb.PersistentMessage {
	if !m.GetDeleted() {
		m.Deleted = nil
	}
	if m.GetManifest() == "" {
		m.Manifest = nil
	}
	if m.GetSender() == "" {
		m.Sender = nil
	}
	if m.GetWriterUuid() == "" {
		m.WriterUuid = nil
	}
	if m.GetTimestamp() == 0 {
		m.Timestamp = nil
	}
	if payload := m.GetPayload(); payload != nil && len(payload.GetPayloadManifest()) == 0 {
		payload.PayloadManifest = nil
	}
	return m
}
