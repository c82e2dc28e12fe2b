package serialization_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/dynajournal/dynajournal/serialization"
)

// shipped is at version 3: version 1 had no currency, version 2 called it "cur".
type shipped struct {
	ID       string `json:"id"`
	Currency string `json:"currency"`
}

func migrateShipped(from int, document []byte) ([]byte, error) {
	var old map[string]any
	if err := json.Unmarshal(document, &old); err != nil {
		return nil, err
	}
	switch from {
	case 1:
		old["currency"] = "EUR"
	case 2:
		old["currency"] = old["cur"]
	default:
		return nil, fmt.Errorf("asked to migrate from %d", from)
	}

	return json.Marshal(old)
}

func shippedRegistry(
	t *testing.T, register func(*serialization.Registry, string, ...serialization.JacksonOption) error,
) *serialization.Registry {
	t.Helper()
	r := serialization.NewRegistry()
	err := register(r, "com.example.Shipped", serialization.Version(3), serialization.Migrate(migrateShipped),
		serialization.FormerClasses("com.example.Sent"))
	if err != nil {
		t.Fatal(err)
	}

	return r
}

func TestOlderVersionsAreMigrated(t *testing.T) {
	cborDocument := func(pairs string) string { return "\xbf" + pairs + "\xff" }
	for name, tc := range map[string]struct {
		id                 int32
		manifest, document string
		want               shipped
	}{
		"current":                  {31, "com.example.Shipped#3", `{"id":"a","currency":"USD"}`, shipped{"a", "USD"}},
		"version 1 has no suffix":  {31, "com.example.Shipped", `{"id":"a"}`, shipped{"a", "EUR"}},
		"version 1 with a suffix":  {31, "com.example.Shipped#1", `{"id":"a"}`, shipped{"a", "EUR"}},
		"version 2":                {31, "com.example.Shipped#2", `{"id":"a","cur":"GBP"}`, shipped{"a", "GBP"}},
		"former class":             {31, "com.example.Sent#2", `{"id":"a","cur":"GBP"}`, shipped{"a", "GBP"}},
		"CBOR":                     {33, "com.example.Shipped#2", cborDocument("bidaaccurcGBP"), shipped{"a", "GBP"}},
		"current CBOR":             {33, "com.example.Shipped#3", cborDocument("bidaahcurrencycUSD"), shipped{"a", "USD"}},
		"JSON under the old id":    {32, "com.example.Shipped#2", `{"id":"a","cur":"GBP"}`, shipped{"a", "GBP"}},
		"CBOR under the old id":    {32, "com.example.Shipped#2", cborDocument("bidaaccurcGBP"), shipped{"a", "GBP"}},
		"unknown fields are left":  {31, "com.example.Shipped#3", `{"id":"a","currency":"USD","x":[{}]}`, shipped{"a", "USD"}},
		"missing fields are zero":  {31, "com.example.Shipped#3", `{}`, shipped{}},
		"former class as current":  {31, "com.example.Sent#3", `{"id":"a"}`, shipped{ID: "a"}},
		"last mark has the number": {31, "com.example.Shipped#3", `{"id":"#"}`, shipped{ID: "#"}},
	} {
		t.Run(name, func(t *testing.T) {
			// CBOR text heads: "bid" is text of length 2 and so on.
			document := []byte(tc.document)
			p := serialization.Payload{SerializerID: tc.id, Manifest: tc.manifest, Bytes: document}
			for _, r := range []*serialization.Registry{
				shippedRegistry(t, serialization.JSON[shipped]), shippedRegistry(t, serialization.CBOR[shipped]),
			} {
				if got, err := r.Decode(t.Context(), p); err != nil || got != any(tc.want) {
					t.Fatalf("decoded %+v, %v", got, err)
				}
			}
		})
	}
}

func TestVersionsThatCannotBeReadAreErrors(t *testing.T) {
	r := shippedRegistry(t, serialization.JSON[shipped])
	for name, manifest := range map[string]string{
		"newer": "com.example.Shipped#4", "no number": "com.example.Shipped#", "not a number": "com.example.Shipped#x",
		"zero": "com.example.Shipped#0", "negative": "com.example.Shipped#-1", "signed": "com.example.Shipped#+3",
		"past 32 bits": "com.example.Shipped#4294967299",
	} {
		t.Run(name, func(t *testing.T) {
			p := serialization.Payload{SerializerID: serialization.IDJacksonJSON, Manifest: manifest, Bytes: []byte(`{"id":"a"}`)}
			got, err := r.Decode(t.Context(), p)
			var decode *serialization.DecodeError
			if !errors.As(err, &decode) || errors.Is(err, serialization.ErrUnknownSerializer) {
				t.Fatalf("decoded %+v, %v", got, err)
			}
		})
	}
}

func TestErrorOfAMigrationIsTheReason(t *testing.T) {
	r := serialization.NewRegistry()
	broken := errors.New("broken")
	err := serialization.JSON[shipped](r, "s", serialization.Version(2),
		serialization.Migrate(func(int, []byte) ([]byte, error) { return nil, broken }))
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.Decode(t.Context(), serialization.Payload{SerializerID: serialization.IDJacksonJSON, Manifest: "s", Bytes: []byte(`{}`)})
	if !errors.Is(err, broken) {
		t.Fatalf("error is %v", err)
	}
}

func TestTypeWithoutVersionReadsAnyVersionAsItIs(t *testing.T) {
	r := serialization.NewRegistry()
	if err := serialization.JSON[shipped](r, "s"); err != nil {
		t.Fatal(err)
	}
	for _, manifest := range []string{"s", "s#7"} {
		p := serialization.Payload{SerializerID: serialization.IDJacksonJSON, Manifest: manifest, Bytes: []byte(`{"id":"a"}`)}
		if got, err := r.Decode(t.Context(), p); err != nil || got != any(shipped{ID: "a"}) {
			t.Fatalf("%s decodes to %+v, %v", manifest, got, err)
		}
	}
}

// The name of the Go type is not stored, so a renamed type reads values that the old one wrote.
func TestRenamedGoTypeReadsWhatTheOldNameWrote(t *testing.T) {
	type takenOut struct {
		Amount int `json:"amount"`
	}
	type withdrawn struct {
		Amount int `json:"amount"`
	}
	type register func(*serialization.Registry, string, ...serialization.JacksonOption) error
	for name, tc := range map[string]struct{ before, after register }{
		"JSON": {serialization.JSON[takenOut], serialization.JSON[withdrawn]},
		"CBOR": {serialization.CBOR[takenOut], serialization.CBOR[withdrawn]},
	} {
		t.Run(name, func(t *testing.T) {
			before, after := serialization.NewRegistry(), serialization.NewRegistry()
			if err := errors.Join(tc.before(before, "withdrawn"), tc.after(after, "withdrawn")); err != nil {
				t.Fatal(err)
			}
			p, err := before.Encode(t.Context(), takenOut{Amount: 10})
			if err != nil {
				t.Fatal(err)
			}
			if p.Manifest != "withdrawn" {
				t.Fatalf("manifest is %q", p.Manifest)
			}
			if got, err := after.Decode(t.Context(), p); err != nil || got != any(withdrawn{Amount: 10}) {
				t.Fatalf("decoded %+v, %v", got, err)
			}
		})
	}
}

func TestVersion1HasNoSuffix(t *testing.T) {
	for version, want := range map[int]string{1: "s", 2: "s#2", 11: "s#11"} {
		r := serialization.NewRegistry()
		if err := serialization.CBOR[shipped](r, "s", serialization.Version(version)); err != nil {
			t.Fatal(err)
		}
		p, err := r.Encode(t.Context(), shipped{})
		if err != nil {
			t.Fatal(err)
		}
		if p.Manifest != want {
			t.Errorf("version %d has the manifest %q", version, p.Manifest)
		}
	}
}

// jsonOfSize returns a string whose JSON document has n bytes.
func jsonOfSize(n int) string { return strings.Repeat("a", n-len(`""`)) }

type document string

func TestDocumentsAreCompressedAboveTheThreshold(t *testing.T) {
	const gzipMark, lz4Mark = "\x1f\x8b", "\x87\xd9\x6d\xf6"
	for name, tc := range map[string]struct {
		opts []serialization.JacksonOption
		size int
		mark string
	}{
		"default at 32 KiB":    {nil, 32 << 10, `"`},
		"default above 32 KiB": {nil, 32<<10 + 1, gzipMark},
		"off":                  {[]serialization.JacksonOption{serialization.Compress(serialization.NoCompression, 0)}, 1 << 20, `"`},
		"gzip at threshold":    {[]serialization.JacksonOption{serialization.Compress(serialization.Gzip, 100)}, 100, `"`},
		"gzip above threshold": {[]serialization.JacksonOption{serialization.Compress(serialization.Gzip, 100)}, 101, gzipMark},
		"LZ4 of everything":    {[]serialization.JacksonOption{serialization.Compress(serialization.LZ4, 0)}, 2, lz4Mark + "\x00\x00\x00\x02"},
		"LZ4 above threshold":  {[]serialization.JacksonOption{serialization.Compress(serialization.LZ4, 9)}, 70000, lz4Mark + "\x00\x01\x11\x70"},
	} {
		t.Run(name, func(t *testing.T) {
			r := serialization.NewRegistry()
			if err := serialization.JSON[document](r, "d", tc.opts...); err != nil {
				t.Fatal(err)
			}
			want := document(jsonOfSize(tc.size))
			p, err := r.Encode(t.Context(), want)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.HasPrefix(p.Bytes, []byte(tc.mark)) {
				t.Fatalf("bytes begin with %x", p.Bytes[:min(len(p.Bytes), 8)])
			}
			if got, err := r.Decode(t.Context(), p); err != nil || got != any(want) {
				t.Fatalf("decoded with error %v", err)
			}
		})
	}
}

func TestCBORIsNotCompressedByDefault(t *testing.T) {
	r := serialization.NewRegistry()
	if err := serialization.CBOR[[]byte32](r, "d"); err != nil {
		t.Fatal(err)
	}
	p, err := r.Encode(t.Context(), make([]byte32, 10000))
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Bytes) < 10000 {
		t.Fatalf("%d bytes", len(p.Bytes))
	}
}

type byte32 [32]byte

func TestDecompressionStopsAtTheLimit(t *testing.T) {
	const limit = 1000
	for _, compression := range []serialization.Compression{serialization.Gzip, serialization.LZ4} {
		for size, fits := range map[int]bool{limit - 1: true, limit: true, limit + 1: false, 10 << 20: false} {
			r := serialization.NewRegistry(serialization.WithMaxDecompressed(limit))
			if err := serialization.JSON[document](r, "d", serialization.Compress(compression, 0)); err != nil {
				t.Fatal(err)
			}
			want := document(jsonOfSize(size))
			p, err := r.Encode(t.Context(), want)
			if err != nil {
				t.Fatal(err)
			}
			got, err := r.Decode(t.Context(), p)
			if fits && (err != nil || got != any(want)) {
				t.Errorf("compression %d, %d bytes: %v", compression, size, err)
			}
			if !fits && !errors.Is(err, serialization.ErrTooLarge) {
				t.Errorf("compression %d, %d bytes: error is %v", compression, size, err)
			}
		}
	}
}

func TestJSONIsEscapedAsJacksonDoes(t *testing.T) {
	r := serialization.NewRegistry()
	if err := serialization.JSON[document](r, "d"); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"<&>'/":              `"<&>'/"`,
		`\u2028 \ "`:         `"\\u2028 \\ \""`,
		"\u2028\u2029\ufeff": "\"\u2028\u2029\ufeff\"",
		"\x00\x1f\x7f":       "\"\\u0000\\u001F\x7f\"",
		"é漢\uffff":           "\"é漢\uffff\"",
		"😀\U0010ffff":        `"\uD83D\uDE00\uDBFF\uDFFF"`,
		"\b\f\n\r\t":         `"\b\f\n\r\t"`,
	} {
		p, err := r.Encode(t.Context(), document(text))
		if err != nil {
			t.Fatal(err)
		}
		if string(p.Bytes) != want {
			t.Errorf("%q is written %s", text, p.Bytes)
		}
		if got, err := r.Decode(t.Context(), p); err != nil || got != any(document(text)) {
			t.Errorf("%q is read as %q, %v", text, got, err)
		}
	}
}

func TestCBORKeepsNestedValues(t *testing.T) {
	type tree struct {
		Name  string            `cbor:"name"`
		Table map[string][]tree `cbor:"table"`
		Bytes []byte            `cbor:"bytes"`
		Float float64           `cbor:"float"`
	}
	long := strings.Repeat("漢", 9000)
	want := tree{
		Name:  long,
		Table: map[string][]tree{long: {{Name: "x", Float: 1.5}, {Bytes: bytes.Repeat([]byte{0xff}, 70000)}}, "empty": {}},
	}
	r := serialization.NewRegistry()
	if err := serialization.CBOR[tree](r, "t"); err != nil {
		t.Fatal(err)
	}
	p, err := r.Encode(t.Context(), want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.Decode(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatal("another tree was read")
	}
}
