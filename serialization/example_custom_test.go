package serialization_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log"

	"github.com/dynajournal/dynajournal/serialization"
)

// The codec has the serializer id of its counterpart on the JVM, or any free id.
func ExampleCustom() {
	type Counted struct{ By uint16 }
	reg := serialization.NewRegistry()
	err := serialization.Custom(reg, serialization.Codec[Counted]{
		SerializerID: 1001,
		Manifest:     "counted",
		Encode:       func(c Counted) ([]byte, error) { return binary.BigEndian.AppendUint16(nil, c.By), nil },
		Decode: func(data []byte) (Counted, error) {
			if len(data) != 2 {
				return Counted{}, errors.New("it must have 2 bytes")
			}
			return Counted{binary.BigEndian.Uint16(data)}, nil
		},
	})
	if err != nil {
		log.Fatal(err)
	}

	written, err := reg.Encode(context.Background(), Counted{300})
	fmt.Printf("%d %s %x %v\n", written.SerializerID, written.Manifest, written.Bytes, err)
	value, err := reg.Decode(context.Background(), written)
	fmt.Println(value, err)
	// Output:
	// 1001 counted 012c <nil>
	// {300} <nil>
}
