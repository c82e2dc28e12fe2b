package serialization_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/dynajournal/dynajournal/serialization"
)

func ExampleJSON() {
	type OrderPlaced struct {
		ID       string `json:"id"`
		Currency string `json:"currency"`
	}
	addCurrency := func(_ int, document []byte) ([]byte, error) {
		order := OrderPlaced{Currency: "EUR"}
		if err := json.Unmarshal(document, &order); err != nil {
			return nil, err
		}

		return json.Marshal(order)
	}
	reg := serialization.NewRegistry()
	err := serialization.JSON[OrderPlaced](reg, "com.example.OrderPlaced",
		serialization.Version(2), serialization.Migrate(addCurrency))
	if err != nil {
		fmt.Println(err)

		return
	}

	written, err := reg.Encode(context.Background(), OrderPlaced{ID: "a", Currency: "USD"})
	fmt.Println(written.SerializerID, written.Manifest, string(written.Bytes), err)

	older := serialization.Payload{SerializerID: 31, Manifest: "com.example.OrderPlaced", Bytes: []byte(`{"id":"b"}`)}
	value, err := reg.Decode(context.Background(), older)
	fmt.Printf("%+v %v\n", value, err)

	_, err = reg.Decode(context.Background(), serialization.Payload{SerializerID: 31, Manifest: "com.example.OrderPlaced#3"})
	fmt.Println(errors.Unwrap(err))
	// Output:
	// 31 com.example.OrderPlaced#2 {"id":"a","currency":"USD"} <nil>
	// {ID:b Currency:EUR} <nil>
	// version 3 is newer than the registered 2
}
