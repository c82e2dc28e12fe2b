package serialization

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
)

// Snapshot is the envelope in which older plug-ins store a snapshot.
type Snapshot struct {
	// Data is the serialized snapshot.
	Data Payload
}

// The envelope: the header's length, then the header (serializer id and
// manifest), then the data. Both numbers are 4 bytes, little-endian.
const (
	snapshotLengthSize = 4
	snapshotIDSize     = 4
)

// Marshal returns the serialized form of s, as [Registry.Encode] does.
func (s Snapshot) Marshal() ([]byte, error) {
	if err := checkManifest(s.Data.Manifest); err != nil {
		return nil, err
	}
	if len(s.Data.Manifest) > math.MaxInt32-snapshotIDSize {
		return nil, errors.New("manifest is too long for a snapshot header")
	}
	header := snapshotIDSize + len(s.Data.Manifest)
	b := make([]byte, 0, snapshotLengthSize+header+len(s.Data.Bytes))
	b = binary.LittleEndian.AppendUint32(b, uint32(header))
	b = binary.LittleEndian.AppendUint32(b, uint32(s.Data.SerializerID))
	b = append(b, s.Data.Manifest...)

	return append(b, s.Data.Bytes...), nil
}

// ParseSnapshot reads a snapshot envelope. It does not retain data. Every error
// is a [*DecodeError].
func ParseSnapshot(data []byte) (Snapshot, error) {
	s, err := parseSnapshot(data)
	if err != nil {
		return Snapshot{}, &DecodeError{SerializerID: IDSnapshot, Err: err}
	}

	return s, nil
}

func parseSnapshot(data []byte) (Snapshot, error) {
	if len(data) < snapshotLengthSize+snapshotIDSize {
		return Snapshot{}, errors.New("snapshot envelope is shorter than its header")
	}
	size, rest := int64(binary.LittleEndian.Uint32(data)), data[snapshotLengthSize:]
	if size < snapshotIDSize || size > int64(len(rest)) {
		return Snapshot{}, fmt.Errorf("snapshot header of %d bytes in an envelope with %d", size, len(rest))
	}
	header, content := rest[:size], rest[size:]
	if strings.HasPrefix(string(header), javaStreamMagic) {
		return Snapshot{}, errors.New("snapshot header of Akka 2.3, by Java serialization, is not supported")
	}
	manifest := string(header[snapshotIDSize:])
	if err := checkManifest(manifest); err != nil {
		return Snapshot{}, err
	}

	return Snapshot{Data: Payload{
		SerializerID: int32(binary.LittleEndian.Uint32(header)),
		Manifest:     manifest,
		Bytes:        append([]byte{}, content...),
	}}, nil
}

func (r *Registry) addSnapshot() {
	r.encoders[reflect.TypeFor[Snapshot]()] = encoderOf(func(s Snapshot) (Payload, error) {
		b, err := s.Marshal()

		return Payload{SerializerID: IDSnapshot, Bytes: b}, err
	})
	r.anyManifest[IDSnapshot] = func(p Payload) (any, error) { return parseSnapshot(p.Bytes) }
}
