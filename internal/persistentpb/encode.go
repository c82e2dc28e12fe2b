package persistentpb

import (
	"fmt"

	"google.golang.org/protobuf/proto"
)

// Encode serializes a message as the JVM does: fields in the order of their numbers, and equal
// messages always to equal bytes. It panics if a required field is missing, which is a programming
// error.
func Encode(m *PersistentMessage) []byte {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		panic(fmt.Sprintf("persistentpb: a message can't be serialized: %v", err))
	}
	return b
}
