package main

import (
	"testing"

	"github.com/fxamacker/cbor/v2"

	"github.com/dynajournal/dynajournal/serialization"
)

type sample struct {
	Name  string `json:"name"`
	Count int64  `json:"count"`
}

func TestPayloadsAreDecoded(t *testing.T) {
	compressed := serialization.NewRegistry()
	err := serialization.JSON[sample](compressed, "bank.Sample", serialization.Version(3),
		serialization.Compress(serialization.Gzip, 0))
	if err != nil {
		t.Fatal(err)
	}
	gzip, err := compressed.Encode(t.Context(), sample{"x", 1 << 60})
	if err != nil {
		t.Fatal(err)
	}
	binary, err := cbor.Marshal(map[string]any{"name": "x", "count": 5, "list": []any{1, nil, true}})
	if err != nil {
		t.Fatal(err)
	}
	plain := serialization.NewRegistry()
	encode := func(v any) serialization.Payload {
		p, err := plain.Encode(t.Context(), v)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	for name, c := range map[string]struct {
		payload serialization.Payload
		want    string
	}{
		"a string":                {encode("a<\"\n"), `"a\u003c\"\n"`},
		"bytes":                   {encode([]byte{0, 255}), `"AP8="`},
		"a byte string":           {encode(serialization.ByteString{1}), `"AQ=="`},
		"a number":                {encode(int64(-1 << 63)), `-9223372036854775808`},
		"a small number":          {encode(int32(7)), `7`},
		"a boolean":               {encode(true), `true`},
		"gzipped JSON of a class": {gzip, `{"name":"x","count":1152921504606846976}`},
		"JSON of no class":        {serialization.Payload{SerializerID: 31, Bytes: []byte(`[1]`)}, `[1]`},
		"JSON that is null":       {serialization.Payload{SerializerID: 31, Bytes: []byte(`null`)}, `null`},
		"CBOR": {serialization.Payload{SerializerID: 33, Manifest: "bank.Other",
			Bytes: binary}, `{"count":5,"list":[1,null,true],"name":"x"}`},
		"what is of no known kind": {serialization.Payload{SerializerID: 4711, Bytes: []byte(`x`)}, ""},
		"damaged JSON":             {serialization.Payload{SerializerID: 31, Bytes: []byte(`{`)}, ""},
		"damaged CBOR":             {serialization.Payload{SerializerID: 33, Bytes: []byte{0xff}}, ""},
		"a string of Java": {serialization.Payload{SerializerID: 1,
			Bytes: []byte("\xac\xed\x00\x05t\x00\x06\xed\xa0\xbd\xed\xb8\x80")}, `"😀"`},
		"an object of the JVM": {serialization.Payload{SerializerID: 1,
			Bytes: []byte("\xac\xed\x00\x05ur\x00\x02[B")}, ""},
		"a manifest that's no text": {serialization.Payload{SerializerID: 31, Manifest: "\xff", Bytes: []byte(`1`)},
			""},
	} {
		t.Run(name, func(t *testing.T) {
			var d payloadDecoder
			for range 2 { // the second time from the cache
				if got := string(d.decode(c.payload)); got != c.want {
					t.Errorf("%s, want %s", got, c.want)
				}
			}
		})
	}
}
