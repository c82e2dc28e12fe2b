package serialization_test

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/dynajournal/dynajournal/serialization"
)

func FuzzDecode(f *testing.F) {
	for _, v := range allGolden(f) {
		f.Add(v.payload.SerializerID, v.payload.Manifest, v.payload.Bytes)
	}
	for _, p := range vectors(f) {
		f.Add(p.SerializerID, p.Manifest, p.Bytes)
		f.Add(p.SerializerID, "json.Any", p.Bytes)
	}
	r := hostileRegistry(f)
	f.Fuzz(func(t *testing.T, id int32, manifest string, data []byte) {
		p := serialization.Payload{SerializerID: id, Manifest: manifest, Bytes: data}
		value, err := r.Decode(t.Context(), p)
		if err != nil {
			if _, ok := errors.AsType[*serialization.DecodeError](err); !ok {
				t.Fatalf("error is %T", err)
			}

			return
		}
		written, err := r.Encode(t.Context(), value)
		if err != nil {
			return // JSON cannot represent every value that CBOR can.
		}
		if _, err := r.Decode(t.Context(), written); err != nil {
			t.Fatalf("%#v was written and cannot be read: %v", value, err)
		}
	})
}

func FuzzParseRepr(f *testing.F) {
	for _, v := range allGolden(f) {
		f.Add(v.envelope)
	}
	for _, envelope := range channelEnvelopes(f) {
		f.Add(envelope)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		repr, err := serialization.ParseRepr(data)
		if err != nil {
			return
		}
		written, err := repr.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		again, err := serialization.ParseRepr(written)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(again, repr) {
			t.Fatalf("%+v became %+v", repr, again)
		}
	})
}

func FuzzParseSnapshot(f *testing.F) {
	for _, v := range allGolden(f) {
		f.Add(v.envelope)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		snapshot, err := serialization.ParseSnapshot(data)
		if err != nil {
			return
		}
		written, err := snapshot.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(written, data) {
			t.Fatalf("%x became %x", data, written)
		}
	})
}

func FuzzDocumentsReadAsWritten(f *testing.F) {
	type node struct {
		Text  string            `json:"text"`
		Bytes []byte            `json:"bytes"`
		Table map[string]string `json:"table"`
		Int   int64             `json:"int"`
	}
	f.Add("a\u2028b\x1f😀", []byte{0xff}, int64(-1), uint16(4000))
	f.Add("漢", []byte{}, int64(1<<40), uint16(1))
	f.Add("\\u2028", []byte("x"), int64(24), uint16(24))
	registries := make([]*serialization.Registry, 0, 6)
	for _, compression := range []serialization.Compression{serialization.NoCompression, serialization.Gzip, serialization.LZ4} {
		json, cbor := serialization.NewRegistry(), serialization.NewRegistry()
		for _, err := range []error{
			serialization.JSON[node](json, "n", serialization.Compress(compression, 0)),
			serialization.CBOR[node](cbor, "n", serialization.Compress(compression, 0)),
		} {
			if err != nil {
				f.Fatal(err)
			}
		}
		registries = append(registries, json, cbor)
	}
	f.Fuzz(func(t *testing.T, text string, data []byte, number int64, times uint16) {
		text = strings.ToValidUTF8(text, "?")
		const most = 1 << 16
		long := strings.Repeat(text, min(int(times), most/(len(text)+1)))
		want := node{Text: long, Bytes: append([]byte{}, data...), Table: map[string]string{text: long, "": "x"}, Int: number}
		for _, r := range registries {
			p, err := r.Encode(t.Context(), want)
			if err != nil {
				t.Fatal(err)
			}
			got, err := r.Decode(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("%+v became %+v", want, got)
			}
		}
	})
}
