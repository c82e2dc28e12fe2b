package persistentpb

import (
	"fmt"

	"google.golang.org/protobuf/proto"
)

// Encode serializes a message that has all its required fields, as the JVM does: fields in the order of their numbers, and the
// same message always to the same bytes. A message without a required field is a mistake in the program.
func Encode(m *PersistentMessage) []byte {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		panic(fmt.Sprintf("persistentpb: a message can't be serialized: %v", err))
	}
	return b
}
