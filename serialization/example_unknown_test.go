package serialization_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/dynajournal/dynajournal/serialization"
)

// A value without a serializer here stays as it is: it can't be decoded, but is written as it was
// read.
func ExampleRegistry_Decode_unknown() {
	reg := serialization.NewRegistry()
	stored := serialization.Payload{SerializerID: 777, Manifest: "com.example.Other", Bytes: []byte{1, 2}}

	_, err := reg.Decode(context.Background(), stored)
	fmt.Println(errors.Is(err, serialization.ErrUnknownSerializer))
	again, err := reg.Encode(context.Background(), stored)
	fmt.Println(again.SerializerID, again.Manifest, len(again.Bytes), err)
	// Output:
	// true
	// 777 com.example.Other 2 <nil>
}
