package embedded

import (
	"bytes"
	"encoding/json"
	"testing"
)

// FuzzSkipString compares the end of a string that skipString finds with the end found byte by
// byte.
func FuzzSkipString(f *testing.F) {
	for _, seed := range []string{`"`, `""`, `"a"b`, `"\"`, `"\""`, `"\\"`, `"\\\"`, `"\\\""x"`, `"a\`, `"a\"\"\""`, `"\u0041"`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		src = append([]byte{'"'}, src...)
		want := -1
		for i := 1; i < len(src) && want < 0; i++ {
			switch src[i] {
			case '"':
				want = i + 1
			case '\\':
				i++
			}
		}
		r := decoder{src: src}
		got := r.skipString()
		if found := r.err == nil; found != (want > 0) || found && (r.pos != want || !bytes.Equal(got, src[:want])) {
			t.Errorf("%q: got %q, the position %d and %v, want the position %d", src, got, r.pos, r.err, want)
		}
	})
}

func TestTextsWithEscapesAreDecoded(t *testing.T) {
	t.Parallel()
	texts := []string{`a"b`, `a"b`, "a\nb", `a\b`, `a"b`, "\u2028", `a"b`}
	body, err := json.Marshal(texts)
	if err != nil {
		t.Fatal(err)
	}
	body = bytes.Replace(body, []byte(`"a\nb"`), []byte(`"a\u000ab"`), 1)
	r := decoder{src: body}
	for i, got := range r.texts() {
		if got != texts[i] {
			t.Errorf("text %d: got %q, want %q", i, got, texts[i])
		}
	}
	if r.err != nil {
		t.Error(r.err)
	}
}
