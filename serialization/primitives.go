package serialization

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
	"unicode/utf8"
)

// ByteString is the value of the JVM type of that name. A plain []byte is a
// byte array there, with a serializer of its own.
type ByteString []byte

// FilteredPayload is an event whose payload was removed by a filter. Only the
// sequence number of the event remains.
type FilteredPayload struct{}

func (r *Registry) addPrimitives() {
	addPrimitive(r, IDByteArray, "",
		func(v []byte) ([]byte, error) { return bytes.Clone(v), nil },
		func(b []byte) ([]byte, error) { return append([]byte{}, b...), nil })
	addPrimitive(r, IDByteString, "",
		func(v ByteString) ([]byte, error) { return bytes.Clone(v), nil },
		func(b []byte) (ByteString, error) { return append(ByteString{}, b...), nil })
	addPrimitive(r, IDString, "", encodeString, decodeString)
	addPrimitive(r, IDLong, "",
		func(v int64) ([]byte, error) { return encodeLong(v), nil },
		func(b []byte) (int64, error) { return int64(binary.LittleEndian.Uint64(b)), nil }, 8)
	r.encoders[reflect.TypeFor[int]()] = encoderOf(func(v int) (Payload, error) {
		return Payload{SerializerID: IDLong, Bytes: encodeLong(int64(v))}, nil
	})
	r.encoders[reflect.TypeFor[uint]()] = encoderOf(func(v uint) (Payload, error) {
		if uint64(v) > math.MaxInt64 {
			return Payload{}, fmt.Errorf("%d is above the largest Long, %d", v, int64(math.MaxInt64))
		}

		return Payload{SerializerID: IDLong, Bytes: encodeLong(int64(v))}, nil
	})
	addPrimitive(r, IDInteger, "",
		func(v int32) ([]byte, error) { return binary.LittleEndian.AppendUint32(nil, uint32(v)), nil },
		func(b []byte) (int32, error) { return int32(binary.LittleEndian.Uint32(b)), nil }, 4)
	addPrimitive(r, IDBoolean, "", encodeBool, decodeBool, 1)
	addPrimitive(r, IDFilteredPayload, "F",
		func(FilteredPayload) ([]byte, error) { return nil, nil },
		func([]byte) (FilteredPayload, error) { return FilteredPayload{}, nil })
}

// addPrimitive adds a built-in serializer that writes one manifest and reads
// any. If size is set, decode is only called with exactly size bytes.
func addPrimitive[T any](
	r *Registry, id int32, manifest string, encode func(T) ([]byte, error), decode func([]byte) (T, error), size ...int,
) {
	r.encoders[reflect.TypeFor[T]()] = encoderOf(func(value T) (Payload, error) {
		b, err := encode(value)
		if b == nil {
			b = []byte{}
		}

		return Payload{SerializerID: id, Manifest: manifest, Bytes: b}, err
	})
	r.anyManifest[id] = func(p Payload) (any, error) {
		if len(size) == 1 && len(p.Bytes) != size[0] {
			return nil, fmt.Errorf("%d bytes instead of %d", len(p.Bytes), size[0])
		}

		return decode(p.Bytes)
	}
}

// encodeLong returns v as the JVM's serializer of Long writes it.
func encodeLong(v int64) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(v)) }

func encodeString(v string) ([]byte, error) {
	if !utf8.ValidString(v) {
		return nil, errors.New("string is not valid UTF-8")
	}

	return []byte(v), nil
}

func decodeString(b []byte) (string, error) {
	if !utf8.Valid(b) {
		return "", errors.New("string is not valid UTF-8")
	}

	return string(b), nil
}

func encodeBool(v bool) ([]byte, error) {
	if v {
		return []byte{1}, nil
	}

	return []byte{0}, nil
}

func decodeBool(b []byte) (bool, error) {
	if b[0] > 1 {
		return false, fmt.Errorf("boolean is %d, want 0 or 1", b[0])
	}

	return b[0] == 1, nil
}
