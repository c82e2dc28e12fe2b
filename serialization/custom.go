package serialization

import (
	"fmt"
	"reflect"
)

// Codec is the application's own serializer of one Go type for one manifest.
type Codec[T any] struct {
	// SerializerID is the id the JVM side configures for its counterpart. The
	// ids of built-in serializers that ignore manifests can't be used.
	SerializerID int32
	// Manifest is written with the bytes, and selects Decode.
	Manifest string
	// Encode serializes a value. A codec without Encode only reads, for example
	// a manifest that is no longer written.
	Encode func(value T) ([]byte, error)
	// Decode reverses Encode. data can be any bytes, and Decode must not retain
	// it.
	Decode func(data []byte) (T, error)
}

// Custom registers c. It fails if c has no Decode, if c has an Encode and T
// already has a serializer, or if the id and manifest are taken.
func Custom[T any](r *Registry, c Codec[T]) error {
	t := reflect.TypeFor[T]()
	if err := checkManifest(c.Manifest); err != nil {
		return fmt.Errorf("register %v: %w", t, err)
	}
	if c.Decode == nil {
		return fmt.Errorf("register %v: codec without Decode", t)
	}
	var encode encodeFunc
	if c.Encode != nil {
		if t.Kind() == reflect.Interface {
			return fmt.Errorf("register %v: an interface type cannot be encoded", t)
		}
		encode = encoderOf(func(value T) (Payload, error) {
			b, err := c.Encode(value)
			if b == nil {
				b = []byte{}
			}

			return Payload{SerializerID: c.SerializerID, Manifest: c.Manifest, Bytes: b}, err
		})
	}
	decode := func(p Payload) (any, error) { return c.Decode(p.Bytes) }
	key := decoderKey{c.SerializerID, canonicalName(c.SerializerID, c.Manifest)}

	return r.register(t, encode, []decoderKey{key}, decode)
}
