package serialization

import (
	"encoding/binary"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// The streams that Java writes for a Long, an Integer and a Boolean, up to the
// value itself. Each begins with a description of the class: its name, its
// serialVersionUID, the flag of a serializable class, and its one field. Long
// and Integer add a description of java.lang.Number.
const (
	javaNumber = "xr\x00\x10java.lang.Number\x86\xac\x95\x1d\x0b\x94\xe0\x8b\x02\x00\x00xp"

	javaLongHead = javaStreamMagic +
		"sr\x00\x0ejava.lang.Long\x3b\x8b\xe4\x90\xcc\x8f\x23\xdf\x02\x00\x01J\x00\x05value" + javaNumber
	javaIntegerHead = javaStreamMagic +
		"sr\x00\x11java.lang.Integer\x12\xe2\xa0\xa4\xf7\x81\x87\x38\x02\x00\x01I\x00\x05value" + javaNumber
	javaBooleanHead = javaStreamMagic +
		"sr\x00\x11java.lang.Boolean\xcd\x20\x72\x80\xd5\x9c\xfa\xee\x02\x00\x01Z\x00\x05valuexp"

	javaStringHead     = javaStreamMagic + "t"
	javaLongStringHead = javaStreamMagic + "|"
)

// javaValue decodes a stream of exactly one String, Long, Integer or Boolean as
// a string, int64, int32 or bool, and reports whether stream is one. It
// compares the stream with the fixed bytes that Java writes before these
// values, and does not interpret class descriptions.
func javaValue(stream []byte) (any, bool) {
	s := string(stream[:min(len(stream), len(javaIntegerHead))])
	switch {
	case strings.HasPrefix(s, javaStringHead):
		const size = 2
		return javaText(stream[len(javaStringHead):], size)
	case strings.HasPrefix(s, javaLongStringHead):
		const size = 8
		return javaText(stream[len(javaLongStringHead):], size)
	case strings.HasPrefix(s, javaLongHead):
		const size = 8
		if b := stream[len(javaLongHead):]; len(b) == size {
			return int64(binary.BigEndian.Uint64(b)), true
		}
	case strings.HasPrefix(s, javaIntegerHead):
		const size = 4
		if b := stream[len(javaIntegerHead):]; len(b) == size {
			return int32(binary.BigEndian.Uint32(b)), true
		}
	case strings.HasPrefix(s, javaBooleanHead):
		if b := stream[len(javaBooleanHead):]; len(b) == 1 && b[0] <= 1 {
			return b[0] == 1, true
		}
	}

	return nil, false
}

// javaText decodes a string after its length, a number of size bytes. The
// string must end with the stream.
func javaText(content []byte, size int) (any, bool) {
	if len(content) < size {
		return nil, false
	}
	var length uint64
	for _, b := range content[:size] {
		length = length<<8 | uint64(b)
	}
	text := content[size:]
	if length != uint64(len(text)) {
		return nil, false
	}

	return decodeModifiedUTF8(text)
}

// decodeModifiedUTF8 decodes Java's own form of UTF-8: NUL is C0 80, and a
// character beyond 16 bits is a pair of surrogates of three bytes each. It
// rejects bytes that Java does not write, and a surrogate without its partner,
// which a Java string can contain but a Go string can't.
func decodeModifiedUTF8(text []byte) (any, bool) {
	var s strings.Builder
	s.Grow(len(text))
	for len(text) > 0 {
		unit, size := modifiedUnit(text)
		if size == 0 {
			return nil, false
		}
		text = text[size:]
		if utf16.IsSurrogate(unit) {
			var low rune
			if low, size = modifiedUnit(text); size == 0 {
				return nil, false
			}
			text = text[size:]
			if unit = utf16.DecodeRune(unit, low); unit == utf8.RuneError {
				return nil, false
			}
		}
		s.WriteRune(unit)
	}

	return s.String(), true
}

// modifiedUnit decodes the first unit of 16 bits. It also returns the size of
// the unit in bytes, or 0 if text is empty or does not start with a unit in the
// form that Java writes.
func modifiedUnit(text []byte) (unit rune, size int) {
	const continued, payload, bits = 0x80, 0x3f, 6
	if len(text) == 0 {
		return 0, 0
	}
	first := text[0]
	var shortest rune
	switch {
	case first != 0 && first < 0x80:
		return rune(first), 1
	case first&0xe0 == 0xc0:
		unit, size, shortest = rune(first&0x1f), 2, 0x80
	case first&0xf0 == 0xe0:
		unit, size, shortest = rune(first&0x0f), 3, 0x800
	default:
		return 0, 0
	}
	if len(text) < size {
		return 0, 0
	}
	for _, b := range text[1:size] {
		if b&^payload != continued {
			return 0, 0
		}
		unit = unit<<bits | rune(b&payload)
	}
	if unit < shortest && unit != 0 || unit == 0 && size != 2 {
		return 0, 0
	}

	return unit, size
}
