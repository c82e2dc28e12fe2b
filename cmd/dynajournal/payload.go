package main

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"unicode/utf8"

	"github.com/fxamacker/cbor/v2"

	"github.com/dynajournal/dynajournal/serialization"
)

// payloadDecoder converts stored payloads to JSON: strings, numbers and booleans, bytes in base64,
// and values of any class that Jackson wrote. The zero value is ready for use.
type payloadDecoder struct{ registry *serialization.Registry }

// anyClass is the class by which values of every class are decoded.
const anyClass = "any"

// decode returns nil for payloads of other kinds, and for damaged ones.
func (d *payloadDecoder) decode(p serialization.Payload) json.RawMessage {
	if d.registry == nil {
		registry := serialization.NewRegistry()
		if err := serialization.JSON[document](registry, anyClass); err != nil {
			panic(err) // the arguments are constant
		}
		d.registry = registry
	}
	switch p.SerializerID {
	case serialization.IDJacksonJSON, serialization.IDJacksonCBOR, serialization.IDJacksonOldCBOR:
		if !utf8.ValidString(p.Manifest) {
			return nil
		}
		p.Manifest = anyClass
	case serialization.IDExternal:
		if _, err := serialization.ParseReference(p.Bytes); err != nil {
			return nil
		}
		return p.Bytes // only the program that has the store can load the payload
	}
	value, err := d.registry.Decode(context.Background(), p) // only a store needs a context
	if err != nil {
		return nil
	}
	switch value := value.(type) {
	case document:
		return value.json
	case string, []byte, serialization.ByteString, int32, int64, bool:
		text, err := json.Marshal(value)
		if err != nil {
			return nil
		}
		return text
	default: // JVM messages have no JSON form
		return nil
	}
}

// document is any value that Jackson wrote, as JSON.
type document struct{ json json.RawMessage }

// UnmarshalJSON copies the text.
func (d *document) UnmarshalJSON(text []byte) error { //nolint:unparam // an interface of encoding/json
	d.json = append(json.RawMessage(nil), text...)
	return nil
}

// UnmarshalCBOR converts CBOR to JSON.
func (d *document) UnmarshalCBOR(data []byte) error {
	var value any
	if err := objectsByName.Unmarshal(data, &value); err != nil {
		return fmt.Errorf("read CBOR: %w", err)
	}
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("convert CBOR to JSON: %w", err)
	}
	d.json = text
	return nil
}

// objectsByName decodes CBOR maps with strings as keys, as in JSON.
var objectsByName = func() cbor.DecMode {
	mode, err := cbor.DecOptions{DefaultMapType: reflect.TypeFor[map[string]any]()}.DecMode()
	if err != nil {
		panic(err) // the options are constant
	}
	return mode
}()

// payloadText formats a payload and its serializer for a line of text.
func payloadText(serializer int32, manifest string, decoded json.RawMessage, base64 string) string {
	kind := fmt.Sprintf("serializer %d", serializer)
	if manifest != "" {
		kind += " " + printable(manifest)
	}
	if decoded == nil {
		return kind + "  base64 " + base64
	}
	return kind + "  " + string(decoded)
}
