package serialization

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"

	"github.com/fxamacker/cbor/v2"
)

// cborMaxNesting is Jackson's limit on nesting.
const cborMaxNesting = 1000

var (
	cborEncoding = newCBOREncoding()
	cborDecoding = newCBORDecoding()
)

func newCBOREncoding() cbor.EncMode {
	mode, err := cbor.EncOptions{
		Time:       cbor.TimeRFC3339Nano,
		NaNConvert: cbor.NaNConvertNone,
		InfConvert: cbor.InfConvertNone,
	}.EncMode()
	if err != nil {
		panic("serialization: invalid constant CBOR options: " + err.Error())
	}

	return mode
}

func newCBORDecoding() cbor.DecMode {
	mode, err := cbor.DecOptions{
		MaxNestedLevels: cborMaxNesting,
		// Each element takes at least one byte, so the document's size is the
		// limit.
		MaxArrayElements: math.MaxInt32,
		MaxMapPairs:      math.MaxInt32,
		DefaultMapType:   reflect.TypeFor[map[string]any](),
	}.DecMode()
	if err != nil {
		panic("serialization: invalid constant CBOR options: " + err.Error())
	}

	return mode
}

func unmarshalCBOR(document []byte, value any) error {
	if err := cborDecoding.Unmarshal(document, value); err != nil {
		return fmt.Errorf("CBOR document: %w", err)
	}

	return nil
}

// jsonFromCBOR returns the same document as JSON; byte strings become base64.
func jsonFromCBOR(document []byte) ([]byte, error) {
	var tree any
	if err := unmarshalCBOR(document, &tree); err != nil {
		return nil, err
	}
	converted, err := json.Marshal(tree)
	if err != nil {
		return nil, fmt.Errorf("CBOR document as JSON: %w", err)
	}

	return converted, nil
}

func marshalCBOR(value any) ([]byte, error) {
	document, err := cborEncoding.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("CBOR document: %w", err)
	}
	if err := cborDecoding.Wellformed(document); err != nil {
		return nil, fmt.Errorf("CBOR document: %w", err)
	}
	form := jacksonForm{out: make([]byte, 0, len(document)), rest: document}
	form.item()

	return form.out, nil
}
