package legacy

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"google.golang.org/protobuf/proto"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/persistentpb"
)

// Attribute names. The hash-key-only layouts have attrKey, and attrSequence in marks. In the naive
// layouts, the hash key is attrPersistenceID or attrProcessorID, and the range key is attrSequence.
const (
	attrKey           = "key"
	attrPersistenceID = "persistenceId"
	attrProcessorID   = "processorId"
	attrSequence      = "sequenceNr"
	attrPayload       = "payload"
	attrDeleted       = "deleted"
	attrConfirmations = "confirmations"
)

const (
	isDeleted  = "true"
	notDeleted = "false"
)

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

// message returns the serialized form of an event, with the fields that Akka 2.3 wrote. A message
// of 0.3 has no writer, and has flags that are never set. In the naive layouts the writer's UUID is
// added, so that a writer recognizes its own event. Readers that do not know that field skip it.
func message(l Layout, e *dynajournal.Event) []byte {
	m := &persistentpb.PersistentMessage{
		Payload:       &persistentpb.PersistentPayload{SerializerId: &e.SerializerID, Payload: e.Bytes},
		SequenceNr:    &e.SequenceNumber,
		PersistenceId: &e.PersistenceID,
	}
	if e.Bytes == nil { // absent is not the same as empty
		m.Payload.Payload = []byte{}
	}
	if e.SerializerManifest != "" {
		m.Payload.PayloadManifest = []byte(e.SerializerManifest)
	}
	if l != Naive {
		m.Deleted, m.Redeliveries, m.Confirmable = new(false), new(int32(0)), new(false)
	}
	if !l.hashKeyOnly() {
		m.WriterUuid = &e.WriterUUID
	}
	return persistentpb.Encode(m)
}

// encode returns the item of an event.
func encode(l Layout, key dynamo.Attributes, e *dynajournal.Event) dynamo.Attributes {
	key[attrPayload] = &types.AttributeValueMemberB{Value: message(l, e)}
	if l.marks() {
		key[attrDeleted] = text(notDeleted)
	}
	return key
}

// decode reads the item at a sequence number. It reports false for an item without a payload, which
// is not an event. Errors are *ItemError without the table.
func decode(pid string, seq int64, key string, item dynamo.Attributes) (Event, bool, error) {
	e := Event{Event: dynajournal.Event{PersistenceID: pid, SequenceNumber: seq}}
	fail := func(attribute string, raw []byte, err error) (Event, bool, error) {
		return Event{}, true, &ItemError{Key: key, SequenceNumber: seq, Attribute: attribute, Raw: raw, Err: err}
	}
	if item[attrPayload] == nil {
		return e, false, nil
	}
	payload, ok := item[attrPayload].(*types.AttributeValueMemberB)
	if !ok {
		return fail(attrPayload, nil, errWrongType)
	}
	if v := item[attrDeleted]; v != nil {
		deleted, ok := v.(*types.AttributeValueMemberS)
		if !ok {
			return fail(attrDeleted, payload.Value, errWrongType)
		}
		e.Deleted = deleted.Value == isDeleted
	}
	if v := item[attrConfirmations]; v != nil {
		channels, ok := v.(*types.AttributeValueMemberSS)
		if !ok {
			return fail(attrConfirmations, payload.Value, errWrongType)
		}
		e.Confirmations = sorted(channels.Value)
	}
	var m persistentpb.PersistentMessage
	if err := proto.Unmarshal(payload.Value, &m); err != nil {
		return fail(attrPayload, payload.Value, fmt.Errorf("it is not a PersistentMessage: %w", err))
	}
	switch {
	case m.Payload == nil:
		return fail(attrPayload, payload.Value, errNoPayload)
	case m.GetSequenceNr() != seq || m.GetPersistenceId() != pid:
		return fail(attrPayload, payload.Value, errMismatch)
	}
	e.Bytes, e.SerializerID = m.GetPayload().GetPayload(), m.GetPayload().GetSerializerId()
	e.SerializerManifest = string(m.GetPayload().GetPayloadManifest())
	e.Manifest, e.WriterUUID = m.GetManifest(), m.GetWriterUuid()
	return e, true, nil
}

func sorted(channels []string) []string {
	channels = slices.Clone(channels)
	slices.Sort(channels)
	return channels
}

// sequenceOf reads the number of a mark or a range key. Errors are *ItemError without the table.
func sequenceOf(key string, item dynamo.Attributes) (int64, error) {
	fail := func(err error) (int64, error) {
		return 0, &ItemError{Key: key, Attribute: attrSequence, Err: err}
	}
	if item[attrSequence] == nil {
		return fail(errMissing)
	}
	v, ok := item[attrSequence].(*types.AttributeValueMemberN)
	if !ok {
		return fail(errWrongType)
	}
	n, err := strconv.ParseInt(v.Value, 10, 64)
	if err != nil || n < 0 || n > dynajournal.MaxSequenceNumber {
		return fail(errRange)
	}
	return n, nil
}

// samePayload reports whether two items have the same payload.
func samePayload(a, b dynamo.Attributes) bool {
	x, okX := a[attrPayload].(*types.AttributeValueMemberB)
	y, okY := b[attrPayload].(*types.AttributeValueMemberB)
	return okX && okY && string(x.Value) == string(y.Value)
}

// keyText returns the key of an event's item as text.
func keyText(key dynamo.Attributes) string {
	for _, name := range []string{attrKey, attrPersistenceID, attrProcessorID} {
		if v, ok := key[name].(*types.AttributeValueMemberS); ok {
			return v.Value
		}
	}
	return strconv.Itoa(len(key))
}
