package serialization

import (
	"github.com/dynajournal/dynajournal/internal/persistentpb"
)

// PersistentRepr is an event in the envelope of persistence. Some journals
// store it whole; zero fields are not written.
type PersistentRepr struct {
	// Payload is the serialized event.
	Payload       Payload
	SequenceNr    int64
	PersistenceID string
	// Deleted is set by old versions that only marked events as deleted.
	Deleted bool
	// Sender is an actor reference in serialized form.
	Sender string
	// Manifest is the manifest of the event adapter. The manifest of the
	// serializer is in Payload.
	Manifest   string
	WriterUUID string
	// Timestamp is in milliseconds since 1970.
	Timestamp int64
	// Metadata is nil if the event has no metadata.
	Metadata *Payload
	// Channel is written only by Akka 2.3. It is nil for all later events.
	Channel *ChannelFields
}

// ChannelFields is the part of an event's envelope for the channels of Akka
// 2.3. If it is present, Deleted and all flags are written even if zero, as
// that version did.
type ChannelFields struct {
	Redeliveries int32
	// Confirms are ids of channels.
	Confirms    []string
	Confirmable bool
	// ConfirmMessage is a serialized message of the channel, which is not
	// decoded.
	ConfirmMessage []byte
	ConfirmTarget  string
}

// Marshal returns the serialized form of r, as [Registry.Encode] does.
func (r PersistentRepr) Marshal() ([]byte, error) {
	return marshalMessage(r.message())
}

// ParseRepr reads the serialized form of an event in its envelope. It does not
// retain data. Every error is a [*DecodeError].
func ParseRepr(data []byte) (PersistentRepr, error) {
	r, err := unmarshalMessage(data, reprFromMessage)
	if err != nil {
		return PersistentRepr{}, &DecodeError{SerializerID: IDMessage, Err: err}
	}

	return r, nil
}

func (r PersistentRepr) message() *persistentpb.PersistentMessage {
	m := &persistentpb.PersistentMessage{
		Payload:       payloadMessage(r.Payload),
		SequenceNr:    new(r.SequenceNr),
		PersistenceId: stringField(r.PersistenceID),
		Sender:        stringField(r.Sender),
		Manifest:      stringField(r.Manifest),
		WriterUuid:    stringField(r.WriterUUID),
	}
	if r.Deleted || r.Channel != nil {
		m.Deleted = new(r.Deleted)
	}
	if r.Timestamp != 0 {
		m.Timestamp = new(r.Timestamp)
	}
	if r.Metadata != nil {
		m.Metadata = payloadMessage(*r.Metadata)
	}
	if c := r.Channel; c != nil {
		m.Redeliveries = new(c.Redeliveries)
		m.Confirms = c.Confirms
		m.Confirmable = new(c.Confirmable)
		m.ConfirmMessage = c.ConfirmMessage
		m.ConfirmTarget = stringField(c.ConfirmTarget)
	}

	return m
}

func reprFromMessage(m *persistentpb.PersistentMessage) PersistentRepr {
	r := PersistentRepr{
		Payload:       payloadFromMessage(m.GetPayload()),
		SequenceNr:    m.GetSequenceNr(),
		PersistenceID: m.GetPersistenceId(),
		Deleted:       m.GetDeleted(),
		Sender:        m.GetSender(),
		Manifest:      m.GetManifest(),
		WriterUUID:    m.GetWriterUuid(),
		Timestamp:     m.GetTimestamp(),
	}
	if m.GetMetadata() != nil {
		metadata := payloadFromMessage(m.GetMetadata())
		r.Metadata = &metadata
	}
	if m.Redeliveries != nil || m.Confirms != nil || m.Confirmable != nil || m.ConfirmMessage != nil ||
		m.ConfirmTarget != nil {
		r.Channel = &ChannelFields{
			Redeliveries:   m.GetRedeliveries(),
			Confirms:       m.GetConfirms(),
			Confirmable:    m.GetConfirmable(),
			ConfirmMessage: m.GetConfirmMessage(),
			ConfirmTarget:  m.GetConfirmTarget(),
		}
	}

	return r
}

// AtomicWrite is a batch of events persisted as one.
type AtomicWrite struct {
	Events []PersistentRepr
}

func (w AtomicWrite) message() *persistentpb.AtomicWrite {
	m := &persistentpb.AtomicWrite{}
	for _, event := range w.Events {
		m.Payload = append(m.Payload, event.message())
	}

	return m
}

func atomicWriteFromMessage(m *persistentpb.AtomicWrite) AtomicWrite {
	w := AtomicWrite{}
	for _, event := range m.GetPayload() {
		w.Events = append(w.Events, reprFromMessage(event))
	}

	return w
}
