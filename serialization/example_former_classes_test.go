package serialization_test

import (
	"context"
	"fmt"
	"log"

	"github.com/dynajournal/dynajournal/serialization"
)

// A type is stored under a new name. Values that are stored under the old name are read as before.
func ExampleFormerClasses() {
	type Shipped struct{ Parcel string }
	reg := serialization.NewRegistry()
	err := serialization.JSON[Shipped](reg, "shipped", serialization.FormerClasses("com.example.OrderShipped"))
	if err != nil {
		log.Fatal(err)
	}

	written, err := reg.Encode(context.Background(), Shipped{"p-1"})
	fmt.Println(written.Manifest, err)
	older := serialization.Payload{
		SerializerID: serialization.IDJacksonJSON, Manifest: "com.example.OrderShipped", Bytes: []byte(`{"Parcel":"p-0"}`),
	}
	value, err := reg.Decode(context.Background(), older)
	fmt.Printf("%+v %v\n", value, err)
	// Output:
	// shipped <nil>
	// {Parcel:p-0} <nil>
}
