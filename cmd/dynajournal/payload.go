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
		return p.Bytes // what the payload is, the program knows that has the store
	}
	value, err := d.registry.Decode(context.Background(), p) // without a store no context is needed
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
	default: // messages of the JVM have no form in JSON
		return nil
	}
}

// document is any value that Jackson wrote, as JSON.
type document struct{ json json.RawMessage }

// UnmarshalJSON keeps the text.
func (d *document) UnmarshalJSON(text []byte) error { //nolint:unparam // an interface of encoding/json
	d.json = append(json.RawMessage(nil), text...)
	return nil
}

// UnmarshalCBOR turns CBOR into JSON.
func (d *document) UnmarshalCBOR(data []byte) error {
	var value any
	if err := objectsByName.Unmarshal(data, &value); err != nil {
		return fmt.Errorf("read CBOR: %w", err)
	}
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("turn CBOR into JSON: %w", err)
	}
	d.json = text
	return nil
}

// objectsByName decodes objects as JSON has them, with strings as keys.
var objectsByName = func() cbor.DecMode {
	mode, err := cbor.DecOptions{DefaultMapType: reflect.TypeFor[map[string]any]()}.DecMode()
	if err != nil {
		panic(err) // the options are constant
	}
	return mode
}()

// payloadText is a payload on a line of text, with its serializer.
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
