package serialization_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/dynajournal/dynajournal/serialization"
)

const ownID int32 = 9001

type registerShipped func(*serialization.Registry, string, ...serialization.JacksonOption) error

// An additional Jackson binding, with and without classes in its manifests, is read and written
// like the bindings of the built-in ids: with migrations, compression and former classes.
func TestJacksonBindingWithItsOwnID(t *testing.T) {
	for name, c := range map[string]struct {
		register registerShipped
		class    string
		options  []serialization.JacksonOption
		written  string
		read     []string
	}{
		"JSON": {serialization.JSON[shipped], "com.example.Shipped", nil, "com.example.Shipped#3",
			[]string{"com.example.Shipped", "com.example.Shipped#1", "com.example.Sent", "com.example.Sent#1"}},
		"CBOR": {serialization.CBOR[shipped], "com.example.Shipped", nil, "com.example.Shipped#3", []string{"com.example.Shipped"}},
		"JSON without classes": {serialization.JSON[shipped], "", []serialization.JacksonOption{serialization.OmitClass()}, "#3",
			[]string{"", "#1", "com.example.Sent", "com.example.Sent#1"}},
		"CBOR without classes": {serialization.CBOR[shipped], "", []serialization.JacksonOption{serialization.OmitClass()}, "#3", []string{"", "#1"}},
		"JSON that had classes": {serialization.JSON[shipped], "com.example.Shipped",
			[]serialization.JacksonOption{serialization.OmitClass()}, "#3", []string{"", "#1", "com.example.Shipped", "com.example.Sent"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, compression := range []serialization.Compression{serialization.NoCompression, serialization.Gzip, serialization.LZ4} {
				options := append([]serialization.JacksonOption{
					serialization.SerializerID(ownID), serialization.Version(3), serialization.Migrate(migrateShipped),
					serialization.FormerClasses("com.example.Sent"), serialization.Compress(compression, 100),
				}, c.options...)
				r, older := serialization.NewRegistry(), serialization.NewRegistry()
				if err := c.register(r, c.class, options...); err != nil {
					t.Fatal(err)
				}
				want := shipped{strings.Repeat("a", 1000), "USD"}
				p, err := r.Encode(t.Context(), want)
				if err != nil || p.SerializerID != ownID || p.Manifest != c.written ||
					(len(p.Bytes) < 500) != (compression != serialization.NoCompression) {
					t.Fatalf("%d, %q, %d bytes, %v", p.SerializerID, p.Manifest, len(p.Bytes), err)
				}
				if got, err := r.Decode(t.Context(), p); err != nil || got != any(want) {
					t.Fatalf("%+v, %v", got, err)
				}
				if err := c.register(older, "older", serialization.SerializerID(ownID)); err != nil {
					t.Fatal(err)
				}
				old, err := older.Encode(t.Context(), shipped{ID: "a"})
				if err != nil {
					t.Fatal(err)
				}
				for _, old.Manifest = range c.read {
					if got, err := r.Decode(t.Context(), old); err != nil || got != any(shipped{"a", "EUR"}) {
						t.Errorf("manifest %q: %+v, %v", old.Manifest, got, err)
					}
				}
				if err := r.WellFormed(old); err != nil {
					t.Error(err)
				}
				if r.WellFormed(serialization.Payload{SerializerID: ownID, Bytes: []byte("{")}) == nil {
					t.Error("half a document is well-formed")
				}
				old.Manifest = "com.example.Other"
				if got, err := r.Decode(t.Context(), old); !errors.Is(err, serialization.ErrUnknownSerializer) {
					t.Errorf("another class: %+v, %v", got, err)
				}
				old.Manifest = c.written[:strings.LastIndexByte(c.written, '#')] + "#4"
				if got, err := r.Decode(t.Context(), old); err == nil {
					t.Errorf("a newer version: %+v", got)
				}
			}
		})
	}
}

// Values that the built-in binding wrote are read after a type has moved to an additional binding.
func TestJacksonTypeMovesToItsOwnID(t *testing.T) {
	r := serialization.NewRegistry()
	if err := serialization.JSON[shipped](r, "com.example.Shipped", serialization.SerializerID(ownID)); err != nil {
		t.Fatal(err)
	}
	p := serialization.Payload{SerializerID: serialization.IDJacksonJSON, Manifest: "com.example.Shipped", Bytes: []byte(`{"id":"a"}`)}
	if got, err := r.Decode(t.Context(), p); err != nil || got != any(shipped{ID: "a"}) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestJacksonBindingOfTheBuiltInIDWithoutClasses(t *testing.T) {
	r := serialization.NewRegistry()
	err := errors.Join(serialization.JSON[shipped](r, "", serialization.OmitClass()),
		serialization.CBOR[map[string]string](r, "", serialization.OmitClass()))
	if err != nil {
		t.Fatal(err)
	}
	p, err := r.Encode(t.Context(), shipped{ID: "a"})
	if err != nil || p.SerializerID != serialization.IDJacksonJSON || p.Manifest != "" || !bytes.HasPrefix(p.Bytes, []byte("{")) {
		t.Fatalf("%+v, %v", p, err)
	}
	if got, err := r.Decode(t.Context(), p); err != nil || got != any(shipped{ID: "a"}) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestJacksonBindingsThatCollideAreRefused(t *testing.T) {
	r := serialization.NewRegistry()
	own, omit := serialization.SerializerID(ownID), serialization.OmitClass()
	if err := serialization.JSON[shipped](r, "", own, omit); err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"a second type without classes": serialization.JSON[json.RawMessage](r, "", own, omit),
		"a built-in id":                 serialization.JSON[json.RawMessage](r, "a", serialization.SerializerID(serialization.IDString)),
		"CBOR by an id of JSON":         serialization.CBOR[json.RawMessage](r, "a", own),
		"no class":                      serialization.JSON[json.RawMessage](r, "", own),
		"an empty former class":         serialization.JSON[json.RawMessage](r, "", serialization.SerializerID(1), omit, serialization.FormerClasses("")),
	} {
		if err == nil {
			t.Errorf("%s is registered", name)
		}
	}
	if err := serialization.JSON[json.RawMessage](r, "com.example.Other", own); err != nil {
		t.Errorf("a second type with its class: %v", err)
	}
}

// A codec with the id of a Jackson binding is selected by its manifest.
func TestCodecBesideAJacksonBinding(t *testing.T) {
	r := serialization.NewRegistry()
	err := errors.Join(
		serialization.JSON[shipped](r, "", serialization.SerializerID(ownID), serialization.OmitClass()),
		serialization.Custom(r, serialization.Codec[string]{SerializerID: ownID, Manifest: "#9",
			Decode: func(data []byte) (string, error) { return string(data), nil }}),
	)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := r.Decode(t.Context(), serialization.Payload{SerializerID: ownID, Manifest: "#9", Bytes: []byte("x")}); err != nil || got != "x" {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := r.Decode(t.Context(), serialization.Payload{SerializerID: ownID, Manifest: "#2", Bytes: []byte(`{}`)}); err != nil || got != any(shipped{}) {
		t.Errorf("%v, %v", got, err)
	}
}
