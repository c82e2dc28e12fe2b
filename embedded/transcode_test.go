package embedded

import (
	"bytes"
	"testing"

	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
)

// FuzzTranscoding checks that the JSON made from the binary form of an item is the JSON of the
// item, and that invalid bytes do no harm.
func FuzzTranscoding(f *testing.F) {
	for _, seed := range []string{
		`{}`,
		`{"a":{"S":"x"},"b":{"N":"-1.5E+10"},"c":{"B":"AAEC/w=="},"d":{"BOOL":true},"e":{"BOOL":false},"f":{"NULL":true}}`,
		`{"m":{"M":{"l":{"L":[{"S":""},{"L":[]},{"M":{}}]}}},"ss":{"SS":["a","b"]},"ns":{"NS":["1","2"]},"bs":{"BS":["YQ==","Yg=="]}}`,
		`{"quotes \" and \\ and \u0000 and \n":{"S":"\" \\ \u0001 \t ä 日 😀 </script>"}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		_, transcoding := appendEncoded(nil, data)
		if _, decoding := attribute.DecodeBinaryItem(data); decoding == nil && transcoding != nil {
			t.Errorf("%x is an item, but: %v", data, transcoding)
		}
		item, err := attribute.DecodeItem(data)
		if err != nil || item == nil {
			return
		}
		encoded := attribute.AppendBinaryItem(nil, item)
		got, err := appendEncoded(nil, encoded)
		if err != nil {
			t.Fatal(err)
		}
		back, err := attribute.DecodeItem(got)
		if err != nil || !attribute.EqualItems(item, back) {
			t.Errorf("%s became %s: %v", data, got, err)
		}
		if _, err := appendEncoded(nil, encoded[:len(encoded)-1]); err == nil {
			t.Errorf("%s without its last byte is accepted as an item", data)
		}
	})
}

func TestNeedsEscape_AnyPosition(t *testing.T) {
	t.Parallel()
	for _, around := range []byte{' ', 'a', '!', '#', '[', ']', 0x7f, 0x80, 0xff} {
		for at := range 24 {
			text := bytes.Repeat([]byte{around}, 24)
			for c := range 256 {
				text[at] = byte(c)
				if got, want := needsEscape(text), c < ' ' || c == '"' || c == '\\'; got != want {
					t.Errorf("%q: got %v", text, got)
				}
			}
		}
	}
}
