package v3

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/dynajournal/dynajournal/serialization"
)

// The types of former versions, as they are stored. Only the upcasters use them.
type (
	registered struct{ Name, Language string }
	customer   struct{ Name, Language, Street, City string }
)

// decodeFormer decodes a value of a former type. It uses a registry and not package json, because a
// registry also handles versions and compressed documents.
func decodeFormer[T any](stored serialization.Payload) (T, error) {
	var value T
	r := serialization.NewRegistry()
	err := errors.Join(
		serialization.JSON[registered](r, "registered", serialization.Version(2)),
		serialization.JSON[customer](r, "customer", serialization.Version(2)),
	)
	if err != nil {
		return value, err
	}
	decoded, err := r.Decode(context.Background(), stored)
	if err != nil {
		return value, err
	}
	value, ok := decoded.(T)
	if !ok {
		return value, errors.New("the payload has another type")
	}
	return value, nil
}

// splitAddress converts a document of version 1 to version 2.
func splitAddress(_ int, document []byte) ([]byte, error) {
	var old struct{ Address string }
	if err := json.Unmarshal(document, &old); err != nil {
		return nil, err
	}
	street, city, _ := strings.Cut(old.Address, ", ")
	return json.Marshal(Moved{street, city})
}
