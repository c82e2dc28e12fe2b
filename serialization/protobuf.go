package serialization

import (
	"errors"
	"fmt"
	"reflect"

	"google.golang.org/protobuf/proto"
)

// protobufRecursionLimit is the maximum nesting that the JVM's library reads by
// default.
const protobufRecursionLimit = 100

// Protobuf registers the generated message type T, a pointer, for the JVM class
// generated from the same definition (serializer 2). It fails if T or the class
// is registered already.
func Protobuf[T proto.Message](r *Registry, class string) error {
	t := reflect.TypeFor[T]()
	if t.Kind() != reflect.Pointer {
		return fmt.Errorf("register %v: not a pointer to a generated message", t)
	}
	if err := checkManifest(class); err != nil {
		return fmt.Errorf("register %v: %w", t, err)
	}
	var none T
	messageType := none.ProtoReflect().Type()
	encode := encoderOf(func(value T) (Payload, error) {
		if reflect.ValueOf(value).IsNil() {
			return Payload{}, errors.New("nil message")
		}
		b, err := proto.MarshalOptions{Deterministic: true}.MarshalAppend([]byte{}, value)
		if err != nil {
			return Payload{}, fmt.Errorf("marshal message: %w", err)
		}

		return Payload{SerializerID: IDProtobuf, Manifest: class, Bytes: b}, nil
	})
	decode := func(p Payload) (any, error) {
		message := messageType.New().Interface()
		options := proto.UnmarshalOptions{RecursionLimit: protobufRecursionLimit}
		if err := options.Unmarshal(p.Bytes, message); err != nil {
			return nil, fmt.Errorf("unmarshal message: %w", err)
		}

		return message, nil
	}

	return r.register(t, encode, []decoderKey{{IDProtobuf, canonicalName(IDProtobuf, class)}}, decode)
}
