//go:build interop

package interop_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/dynajournal/dynajournal/serialization"
)

// Classes of the Java program.
type (
	// orderPlaced is serialized by Jackson as JSON, in version 2.
	orderPlaced struct {
		ID     string `json:"id"`
		Amount int64  `json:"amount"`
		Note   string `json:"note"`
	}
	// orderShipped is serialized by Jackson as CBOR.
	orderShipped struct {
		ID     string `json:"id"`
		Amount int64  `json:"amount"`
		Note   string `json:"note"`
	}
	// remark is stored as a string by an event adapter.
	remark struct {
		Text string `json:"text"`
	}
)

const (
	classPlaced  = "interop.Values$OrderPlaced"
	classShipped = "interop.Values$OrderShipped"
	classTotals  = "interop.Values$Totals"
)

// registry returns a registry with these classes.
func registry(
	tb testing.TB, placed, shipped []serialization.JacksonOption, opts ...serialization.Option,
) *serialization.Registry {
	tb.Helper()
	r := serialization.NewRegistry(opts...)
	migrate := func(from int, document []byte) ([]byte, error) {
		order := map[string]any{}
		if err := json.Unmarshal(document, &order); err != nil {
			return nil, err
		}
		order["note"] = fmt.Sprintf("from version %d", from)
		return json.Marshal(order)
	}
	err := errors.Join(
		serialization.JSON[orderPlaced](r, classPlaced, append(placed, serialization.Version(2), serialization.Migrate(migrate))...),
		serialization.CBOR[orderShipped](r, classShipped, shipped...),
		serialization.JSON[totals](r, classTotals),
		serialization.Protobuf[*wrapperspb.StringValue](r, "com.google.protobuf.StringValue"),
	)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// remarks is the event adapter of the Java program.
type remarks struct{}

const remarkManifest = "remark"

func (remarks) ToJournal(event any) (stored any, manifest string, err error) {
	if r, ok := event.(remark); ok {
		return r.Text, remarkManifest, nil
	}
	return event, "", nil
}

func (remarks) FromJournal(stored any, manifest string) ([]any, error) {
	text, ok := stored.(string)
	if !ok || manifest != remarkManifest {
		return []any{stored}, nil
	}
	return []any{remark{text}}, nil
}

// typed is a value in the protocol of the two programs.
type typed struct {
	Type  string          `json:"type"`
	Value json.RawMessage `json:"value"`
}

func (v typed) String() string { return fmt.Sprintf("%s %.60s", v.Type, v.Value) }

// typedOf returns a Go value as typed.
func typedOf(tb testing.TB, value any) typed {
	tb.Helper()
	v := typed{}
	switch given := value.(type) {
	case string:
		v.Type = "string"
	case []byte:
		v.Type = "bytes"
	case serialization.ByteString:
		v.Type, value = "bytestring", []byte(given)
	case int64:
		v.Type = "long"
	case int32:
		v.Type = "int"
	case bool:
		v.Type = "bool"
	case *wrapperspb.StringValue:
		v.Type, value = "protobuf", given.GetValue()
	case orderPlaced:
		v.Type = "placed"
	case orderShipped:
		v.Type = "shipped"
	case remark:
		v.Type = "remark"
	case totals:
		v.Type = "totals"
	default:
		tb.Fatalf("a %T has no form in the Java program", value)
	}
	var err error
	if v.Value, err = json.Marshal(value); err != nil {
		tb.Fatalf("make JSON of a %T: %v", value, err)
	}
	return v
}

// typedAll returns several Go values as typed.
func typedAll(tb testing.TB, values ...any) []typed {
	tb.Helper()
	all := make([]typed, len(values))
	for i, v := range values {
		all[i] = typedOf(tb, v)
	}
	return all
}

// same reports whether two values are equal: JSON may be written in different ways.
func (v typed) same(w typed) bool {
	var a, b any
	return v.Type == w.Type && decode(v.Value, &a) == nil && decode(w.Value, &b) == nil && reflect.DeepEqual(a, b)
}
