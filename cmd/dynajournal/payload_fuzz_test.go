package main

import (
	"encoding/json"
	"testing"

	"github.com/dynajournal/dynajournal/serialization"
)

// FuzzPayload checks that any stored payload is shown as JSON on one line.
func FuzzPayload(f *testing.F) {
	f.Add(serialization.IDJacksonJSON, "a.B#1", []byte(`{"a":[1,"x\u2028"]}`))
	f.Add(serialization.IDJacksonCBOR, "a.B", []byte("\xa1\x61a\x82\xf9\x7e\x00\xc2\x41\xff"))
	f.Add(serialization.IDString, "", []byte("x\xff\n"))
	f.Fuzz(func(t *testing.T, id int32, manifest string, data []byte) {
		shown := new(payloadDecoder).decode(serialization.Payload{SerializerID: id, Manifest: manifest, Bytes: data})
		if shown != nil && !json.Valid(shown) {
			t.Errorf("%q is no JSON", shown)
		}
	})
}
