package embedded

import (
	"encoding/base64"
	"encoding/binary"

	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
)

// transcoder encodes items as JSON from their binary form (attribute.AppendBinaryItem). It does not
// decode them first, which would be most of the work of a Query.
type transcoder struct {
	src []byte
	dst []byte
	bad bool
}

// appendEncoded appends the JSON of an item in binary form.
func appendEncoded(dst, encoded []byte) ([]byte, error) {
	t := transcoder{src: encoded, dst: dst}
	t.item(0)
	if t.bad || len(t.src) != 0 {
		return dst, errStoredItem
	}
	return t.dst, nil
}

func (t *transcoder) fail() {
	t.bad = true
	t.src = nil
}

// count reads a length or a number of members. Each member takes at least one byte.
func (t *transcoder) count() int {
	n, width := binary.Uvarint(t.src)
	if width <= 0 || n > uint64(len(t.src)-width) {
		t.fail()
		return 0
	}
	t.src = t.src[width:]
	return int(n)
}

func (t *transcoder) bytes() []byte {
	n := t.count()
	text := t.src[:n]
	t.src = t.src[n:]
	return text
}

func (t *transcoder) byte() byte {
	if len(t.src) == 0 {
		t.fail()
		return 0
	}
	b := t.src[0]
	t.src = t.src[1:]
	return b
}

// text appends a string. Strings that need escapes are slower.
func (t *transcoder) text(text []byte) {
	if needsEscape(text) {
		t.dst = attribute.AppendText(t.dst, string(text))
		return
	}
	t.dst = append(t.dst, '"')
	t.dst = append(t.dst, text...)
	t.dst = append(t.dst, '"')
}

// needsEscape reports whether a string has a byte that JSON escapes: a control character, a
// quotation mark or a backslash. It checks eight bytes at a time. When n is subtracted from each
// byte, the first byte below n borrows, which sets its highest bit; bytes in which that bit was set
// before do not count. To find a character, bytes that are equal to it are made zero, and are then
// below one.
func needsEscape(text []byte) bool {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	for ; len(text) >= 8; text = text[8:] {
		word := binary.LittleEndian.Uint64(text)
		quote, backslash := word^ones*'"', word^ones*'\\'
		found := (word-ones*' ')&^word | (quote-ones)&^quote | (backslash-ones)&^backslash
		if found&highs != 0 {
			return true
		}
	}
	for _, c := range text {
		if c < ' ' || c == '"' || c == '\\' {
			return true
		}
	}
	return false
}

func (t *transcoder) base64(data []byte) {
	t.dst = append(t.dst, '"')
	t.dst = base64.StdEncoding.AppendEncode(t.dst, data)
	t.dst = append(t.dst, '"')
}

func (t *transcoder) item(depth int) {
	t.dst = append(t.dst, '{')
	for i := range t.count() {
		t.dst = separate(t.dst, i)
		t.text(t.bytes())
		t.dst = append(t.dst, ':')
		t.value(depth)
		if t.bad {
			return
		}
	}
	t.dst = append(t.dst, '}')
}

func (t *transcoder) value(depth int) {
	kind := attribute.Kind(t.byte())
	if kind < attribute.S || kind > attribute.BS || depth > attribute.MaxDepth {
		t.fail()
		return
	}
	t.dst = append(t.dst, '{', '"')
	t.dst = append(t.dst, kind.String()...)
	t.dst = append(t.dst, '"', ':')
	switch kind {
	case attribute.S, attribute.N:
		t.text(t.bytes())
	case attribute.B:
		t.base64(t.bytes())
	case attribute.BOOL:
		if t.byte() != 0 {
			t.dst = append(t.dst, "true"...)
		} else {
			t.dst = append(t.dst, "false"...)
		}
	case attribute.NULL:
		t.dst = append(t.dst, "true"...)
	case attribute.M:
		t.item(depth + 1)
	case attribute.L, attribute.SS, attribute.NS, attribute.BS:
		t.members(kind, depth)
	}
	t.dst = append(t.dst, '}')
}

// members appends the members of a list or set.
func (t *transcoder) members(kind attribute.Kind, depth int) {
	t.dst = append(t.dst, '[')
	for i := range t.count() {
		t.dst = separate(t.dst, i)
		switch kind {
		case attribute.L:
			t.value(depth + 1)
		case attribute.BS:
			t.base64(t.bytes())
		default:
			t.text(t.bytes())
		}
		if t.bad {
			return
		}
	}
	t.dst = append(t.dst, ']')
}
