package attribute_test

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
)

func keys(kind attribute.Kind) *rapid.Generator[attribute.Value] {
	return rapid.Custom(func(t *rapid.T) attribute.Value {
		if kind == attribute.N {
			return attribute.Value{Kind: kind, Text: numbers().Draw(t, "number")}
		}
		return attribute.Value{Kind: kind, Text: string(rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 'a', 0xFE, 0xFF}), 0, 6).Draw(t, "bytes"))}
	})
}

func TestEncodedKeysHaveTheOrderOfTheirValues(t *testing.T) {
	for _, kind := range []attribute.Kind{attribute.S, attribute.N, attribute.B} {
		rapid.Check(t, func(t *rapid.T) {
			a, b := keys(kind).Draw(t, "a"), keys(kind).Draw(t, "b")
			x, y := attribute.AppendKey(nil, a), attribute.AppendKey(nil, b)
			want, ordered := attribute.Compare(a, b)
			if got := bytes.Compare(x, y); !ordered || got != want {
				t.Fatalf("%q %x, %q %x: %d, want %d", a.Text, x, b.Text, y, got, want)
			}
			if want != 0 && bytes.HasPrefix(y, x) {
				t.Fatalf("%x is a prefix of %x", x, y)
			}
			c, rest, err := attribute.DecodeKey(append(x, y...), kind)
			if err != nil || !attribute.Equal(c, a) || !bytes.Equal(rest, y) {
				t.Fatalf("%q decoded as %q, rest %x, %v", a.Text, c.Text, rest, err)
			}
		})
	}
}

// TestSeveralEncodedKeysHaveTheOrderOfTheirValues checks that concatenated encodings are ordered by
// the first values, then by the second values, and so on. An encoding is never a prefix of another.
func TestSeveralEncodedKeysHaveTheOrderOfTheirValues(t *testing.T) {
	kinds := rapid.SliceOfN(rapid.SampledFrom([]attribute.Kind{attribute.S, attribute.N, attribute.B}), 1, 4)
	rapid.Check(t, func(t *rapid.T) {
		var x, y []byte
		want := 0
		for _, kind := range kinds.Draw(t, "kinds") {
			a := keys(kind).Draw(t, "a")
			b := a
			if rapid.Bool().Draw(t, "differ") {
				b = keys(kind).Draw(t, "b")
			}
			x, y = attribute.AppendKey(x, a), attribute.AppendKey(y, b)
			if order, _ := attribute.Compare(a, b); want == 0 {
				want = order
			}
		}
		if got := bytes.Compare(x, y); got != want || want != 0 && (bytes.HasPrefix(x, y) || bytes.HasPrefix(y, x)) {
			t.Fatalf("%x, %x: %d, want %d", x, y, got, want)
		}
	})
}

func TestExtremeNumbersAreOrderedAsKeys(t *testing.T) {
	nines := strings.Repeat("9", 38)
	ascending := []string{
		"-9." + nines[1:] + "e125", "-9." + nines[2:] + "e125", "-1e125", "-10.5", "-10", "-9." + nines[1:], "-9", "-1", "-0.1", "-1e-130",
		"0", "1e-130", "1.1e-130", "0.1", "1", "1." + strings.Repeat("0", 36) + "1", "9", "9." + nines[1:], "10", "10.5", "99", "100", "1e125",
		"9." + nines[1:] + "e125",
	}
	var last []byte
	for _, s := range ascending {
		key := attribute.AppendKey(nil, number(t, s))
		if bytes.Compare(last, key) >= 0 {
			t.Errorf("%s is not above its predecessor", s)
		}
		last = key
	}
}

func TestInvalidKeyEncodingsAreRefused(t *testing.T) {
	for _, c := range []struct {
		kind attribute.Kind
		src  string
	}{
		{attribute.S, ""}, {attribute.S, "abc"}, {attribute.S, "a\x00"}, {attribute.S, "a\x00\x05"},
		{attribute.N, ""}, {attribute.N, "\x00"}, {attribute.N, "\x03"}, {attribute.N, "\x03\x82\x00"}, {attribute.N, "\x03\x82\x0b"},
		{attribute.N, "\x03\x82\x02\x00"}, {attribute.N, "\x03\x82\x0c\x01\x00"}, {attribute.N, "\x03\x82\xff\x00"},
		{attribute.N, "\x03\x82" + strings.Repeat("\x0c", 50) + "\x00"}, {attribute.BOOL, "a\x00\x00"},
	} {
		if v, _, err := attribute.DecodeKey([]byte(c.src), c.kind); err == nil {
			t.Errorf("%s %q: %q", c.kind, c.src, v.Text)
		}
	}
}

func FuzzDecodeKey(f *testing.F) {
	f.Add([]byte("\x03\x82\x0c\x00"), uint8(attribute.N))
	f.Add([]byte("a\x00\xffb\x00\x00"), uint8(attribute.S))
	f.Fuzz(func(t *testing.T, src []byte, kind uint8) {
		v, rest, err := attribute.DecodeKey(src, attribute.Kind(kind))
		if err != nil {
			return
		}
		if again := attribute.AppendKey(nil, v); !bytes.Equal(append(again, rest...), src) {
			t.Fatalf("%x → %q → %x", src, v.Text, again)
		}
	})
}
