package serialization

import "bytes"

// Ids of the built-in serializers of Akka and Pekko.
const (
	IDJava            int32 = 1
	IDProtobuf        int32 = 2
	IDByteArray       int32 = 4
	IDMessage         int32 = 7
	IDSnapshot        int32 = 8
	IDLong            int32 = 18
	IDInteger         int32 = 19
	IDString          int32 = 20
	IDByteString      int32 = 21
	IDJacksonJSON     int32 = 31
	IDJacksonOldCBOR  int32 = 32
	IDJacksonCBOR     int32 = 33
	IDFilteredPayload int32 = 34
	IDBoolean         int32 = 35
)

// builtInIDs has the ids above, and IDExternal.
var builtInIDs = []int32{
	IDJava, IDProtobuf, IDByteArray, IDMessage, IDSnapshot, IDLong, IDInteger, IDString, IDByteString,
	IDJacksonJSON, IDJacksonOldCBOR, IDJacksonCBOR, IDFilteredPayload, IDBoolean, IDExternal,
}

// Payload is a serialized value: its bytes, and the serializer id and manifest
// that name their format.
type Payload struct {
	// SerializerID is the id of the serializer that wrote Bytes.
	SerializerID int32
	// Manifest names the type to that serializer. It is empty if the serializer
	// does not need one.
	Manifest string
	// Bytes is the serialized form. For some serializers, empty Bytes are a
	// value.
	Bytes []byte
}

// Equal reports whether both have the same id, manifest and bytes.
func (p Payload) Equal(q Payload) bool {
	return p.SerializerID == q.SerializerID && p.Manifest == q.Manifest && bytes.Equal(p.Bytes, q.Bytes)
}
