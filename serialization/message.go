package serialization

import (
	"fmt"
	"reflect"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/dynajournal/dynajournal/internal/persistentpb"
)

func (r *Registry) addMessages() {
	addMessage(r, PersistentRepr.message, reprFromMessage,
		"org.apache.pekko.persistence.PersistentImpl", "org.apache.pekko.persistence.PersistentRepr", "")
	addMessage(r, AtomicWrite.message, atomicWriteFromMessage,
		"org.apache.pekko.persistence.AtomicWrite")
	addMessage(r, AtLeastOnceDeliverySnapshot.message, deliveryFromMessage,
		"org.apache.pekko.persistence.AtLeastOnceDelivery$AtLeastOnceDeliverySnapshot")
	addMessage(r, StateChangeEvent.message, stateChangeFromMessage,
		"org.apache.pekko.persistence.fsm.PersistentFSM$StateChangeEvent")
	addMessage(r, FSMSnapshot.message, fsmSnapshotFromMessage,
		"org.apache.pekko.persistence.fsm.PersistentFSM$PersistentFSMSnapshot")
}

// messagePointer is a pointer to a generated message.
type messagePointer[M any] interface {
	*M
	proto.Message
}

// addMessage adds a type of serializer 7 by its conversions to and from the
// wire message M. The first manifest is written, all are read.
func addMessage[T, M any, P messagePointer[M]](r *Registry, to func(T) P, from func(P) T, manifests ...string) {
	r.encoders[reflect.TypeFor[T]()] = encoderOf(func(value T) (Payload, error) {
		b, err := marshalMessage(to(value))

		return Payload{SerializerID: IDMessage, Manifest: manifests[0], Bytes: b}, err
	})
	for _, manifest := range manifests {
		r.decoders[decoderKey{IDMessage, manifest}] = func(p Payload) (any, error) {
			return unmarshalMessage(p.Bytes, from)
		}
	}
}

func marshalMessage(m proto.Message) ([]byte, error) {
	if err := checkText(m.ProtoReflect()); err != nil {
		return nil, err
	}
	b, err := proto.MarshalOptions{}.MarshalAppend([]byte{}, m)
	if err != nil {
		return nil, fmt.Errorf("marshal message: %w", err)
	}

	return b, nil
}

func unmarshalMessage[T, M any, P messagePointer[M]](b []byte, from func(P) T) (T, error) {
	var none T
	m := P(new(M))
	if err := (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(b, m); err != nil {
		return none, fmt.Errorf("unmarshal message: %w", err)
	}
	if err := checkText(m.ProtoReflect()); err != nil {
		return none, err
	}

	return from(m), nil
}

// checkText returns an error for strings and payload manifests that are not
// UTF-8, which proto2 accepts, and for events without payload. It recurses no
// deeper than the messages are defined.
func checkText(m protoreflect.Message) error {
	if event, is := m.Interface().(*persistentpb.PersistentMessage); is && event.GetPayload() == nil {
		return fmt.Errorf("event %d has no payload", event.GetSequenceNr())
	}
	var err error
	m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		if !field.IsList() {
			err = checkFieldText(field, value)

			return err == nil
		}
		for i := 0; i < value.List().Len() && err == nil; i++ {
			err = checkFieldText(field, value.List().Get(i))
		}

		return err == nil
	})

	return err
}

func checkFieldText(field protoreflect.FieldDescriptor, value protoreflect.Value) error {
	valid := true
	switch {
	case field.Kind() == protoreflect.MessageKind:
		return checkText(value.Message())
	case field.Kind() == protoreflect.StringKind:
		valid = utf8.ValidString(value.String())
	case field.Name() == "payload_manifest":
		valid = utf8.Valid(value.Bytes())
	}
	if !valid {
		return fmt.Errorf("field %s is not valid UTF-8", field.FullName().Name())
	}

	return nil
}

func payloadMessage(p Payload) *persistentpb.PersistentPayload {
	m := &persistentpb.PersistentPayload{
		SerializerId: new(p.SerializerID),
		// A nil slice would omit the required field.
		Payload: append([]byte{}, p.Bytes...),
	}
	if p.Manifest != "" {
		m.PayloadManifest = []byte(p.Manifest)
	}

	return m
}

func payloadFromMessage(m *persistentpb.PersistentPayload) Payload {
	return Payload{
		SerializerID: m.GetSerializerId(),
		Manifest:     string(m.GetPayloadManifest()),
		Bytes:        m.GetPayload(),
	}
}

// stringField returns a pointer to s, or nil if s is empty.
func stringField(s string) *string {
	if s == "" {
		return nil
	}

	return &s
}
