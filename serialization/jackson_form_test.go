package serialization_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"

	"github.com/dynajournal/dynajournal/serialization"
)

// ownCBOR is a type with its own CBOR encoding.
type ownCBOR []byte

// MarshalCBOR returns the bytes themselves.
func (c ownCBOR) MarshalCBOR() ([]byte, error) { return c, nil }

// UnmarshalCBOR takes the bytes themselves.
func (c *ownCBOR) UnmarshalCBOR(data []byte) error {
	*c = bytes.Clone(data)

	return nil
}

func ownCBORRegistry(tb testing.TB) *serialization.Registry {
	tb.Helper()
	r := serialization.NewRegistry()
	if err := serialization.CBOR[ownCBOR](r, "own"); err != nil {
		tb.Fatal(err)
	}

	return r
}

func TestCBORIsWrittenInJacksonsForm(t *testing.T) {
	long := strings.Repeat("a", 3996)
	longHead := "\x79\x0f\x9c" + long
	for name, tc := range map[string]struct{ from, to string }{
		"integers":                  {"\x83\x17\x38\xff\x1b\x00\x00\x00\x01\x00\x00\x00\x00", "\x83\x17\x38\xff\x1b\x00\x00\x00\x01\x00\x00\x00\x00"},
		"floats and simple values":  {"\x85\xf9\x3c\x00\xfa\x00\x00\x00\x00\xfb\x00\x00\x00\x00\x00\x00\x00\x00\xf5\xf6", "\x85\xf9\x3c\x00\xfa\x00\x00\x00\x00\xfb\x00\x00\x00\x00\x00\x00\x00\x00\xf5\xf6"},
		"map":                       {"\xa1aa\x01", "\xbfaa\x01\xff"},
		"empty map":                 {"\xa0", "\xbf\xff"},
		"map in map":                {"\xa2aa\xa0ab\xa1ac\x80", "\xbfaa\xbf\xffab\xbfac\x80\xff\xff"},
		"map with length in a byte": {"\xb8\x01aa\x01", "\xbfaa\x01\xff"},
		"indefinite map":            {"\xbfaa\xa0\xff", "\xbfaa\xbf\xff\xff"},
		"array":                     {"\x82\xa0\x80", "\x82\xbf\xff\x80"},
		"indefinite array":          {"\x9f\xa0\x9f\xff\xff", "\x9f\xbf\xff\x9f\xff\xff"},
		"tag":                       {"\xd8\x64\xa0", "\xd8\x64\xbf\xff"},
		"bytes":                     {"\x58\x18" + strings.Repeat("\xa0", 24), "\x58\x18" + strings.Repeat("\xa0", 24)},
		"chunked bytes":             {"\x5f\x41\xa0\x40\xff", "\x5f\x41\xa0\x40\xff"},
		"chunked text":              {"\x7faaab\xff", "\x7faaab\xff"},
		"long text in a chunk":      {"\x7f\x79\x0f\x9d" + long + "a\xff", "\x7f\x79\x0f\x9d" + long + "a\xff"},
		"text with a long head":     {"\x79\x00\x01a", "aa"},
		"long text":                 {longHead, longHead},
		"text beyond a chunk":       {"\x79\x0f\x9d" + long + "a", "\x7f" + longHead + "aa\xff"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := ownCBORRegistry(t).Encode(t.Context(), ownCBOR(tc.from))
			if err != nil {
				t.Fatal(err)
			}
			if string(p.Bytes) != tc.to {
				t.Fatalf("%q became %q", tc.from, p.Bytes)
			}
		})
	}
}

func TestCBORThatIsNotWellFormedIsNotWritten(t *testing.T) {
	for _, document := range []string{"", "\xa1", "\x9b\xff\xff\xff\xff\xff\xff\xff\xff", "\x00\x00", "\xff", strings.Repeat("\x81", 1001) + "\x00"} {
		if p, err := ownCBORRegistry(t).Encode(t.Context(), ownCBOR(document)); err == nil {
			t.Errorf("%q became %q", document, p.Bytes)
		}
	}
}

func FuzzJacksonFormIsTheSameValue(f *testing.F) {
	for _, p := range vectors(f) {
		if p.SerializerID == serialization.IDJacksonCBOR {
			f.Add(p.Bytes)
		}
	}
	f.Add([]byte("\x82\xa1aa\x5f\x41\xa0\x40\xff\xc1\x00"))
	r := ownCBORRegistry(f)
	decoding, err := cbor.DecOptions{
		TimeTag:         cbor.DecTagIgnored,
		MaxNestedLevels: 1000,
		DupMapKey:       cbor.DupMapKeyEnforcedAPF,
	}.DecMode()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, document []byte) {
		var before, after any
		if decoding.Unmarshal(document, &before) != nil {
			return
		}
		p, err := r.Encode(t.Context(), ownCBOR(document))
		if err != nil {
			t.Fatal(err)
		}
		if err := decoding.Unmarshal(p.Bytes, &after); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(canonical(t, before), canonical(t, after)) {
			t.Fatalf("%x became %x", document, p.Bytes)
		}
	})
}

// canonical returns a form in which equal values, including NaN, have equal bytes.
func canonical(t *testing.T, value any) []byte {
	t.Helper()
	encoding, err := cbor.CanonicalEncOptions().EncMode()
	if err != nil {
		t.Fatal(err)
	}
	b, err := encoding.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}

	return b
}
