package attribute

import (
	"errors"
	"fmt"
	"strings"
)

// The encoding of a key value.
//
// A string or binary is its bytes, with 00 written as 00 FF, and then 00 00.
//
// A number begins with a byte for the sign. Unless the number is zero, it continues with the
// exponent in one byte (its 256 values just fit), the digits in pairs as bytes 1 to 100, and a 0.
// For negative numbers everything after the sign is complemented, so that larger magnitudes come
// first.
//
// No encoding is a prefix of another encoding of the same kind. Concatenated encodings are
// therefore ordered by their parts.
const (
	escaped    = 0x00
	escapeZero = 0xFF
	terminator = 0x00

	signNegative = 0x01
	signZero     = 0x02
	signPositive = 0x03
)

var errKeyEncoding = errors.New("not an encoded key")

// AppendKey appends the encoding of an S, N or B. Two encodings of one kind have the same order in
// bytes.Compare as their values in Compare. For other kinds AppendKey appends nothing.
func AppendKey(dst []byte, v Value) []byte {
	switch v.Kind {
	case S, B:
		return appendKeyText(dst, v.Text)
	case N:
		return appendKeyNumber(dst, v.Text)
	case BOOL, NULL, M, L, SS, NS, BS:
	}
	return dst
}

func appendKeyText(dst []byte, text string) []byte {
	for {
		zero := strings.IndexByte(text, escaped)
		if zero < 0 {
			dst = append(dst, text...)
			return append(dst, escaped, terminator)
		}
		dst = append(dst, text[:zero]...)
		dst = append(dst, escaped, escapeZero)
		text = text[zero+1:]
	}
}

func appendKeyNumber(dst []byte, text string) []byte {
	d, _ := parseDecimal(text)
	if d.digits == "" {
		return append(dst, signZero)
	}
	if d.negative {
		dst = append(dst, signNegative)
	} else {
		dst = append(dst, signPositive)
	}
	start := len(dst)
	dst = append(dst, byte(d.exponent-1-minExponent))
	for i := 0; i < len(d.digits); i += 2 {
		pair := (d.digits[i] - '0') * 10
		if i+1 < len(d.digits) {
			pair += d.digits[i+1] - '0'
		}
		dst = append(dst, pair+1)
	}
	dst = append(dst, terminator)
	if d.negative {
		for i := start; i < len(dst); i++ {
			dst[i] = ^dst[i]
		}
	}
	return dst
}

// DecodeKey decodes a key of the kind at the beginning of src. It returns the key and the rest of
// src. Bytes that AppendKey does not write are an error.
func DecodeKey(src []byte, kind Kind) (Value, []byte, error) {
	switch kind {
	case S, B:
		return decodeKeyText(src, kind)
	case N:
		return decodeKeyNumber(src)
	case BOOL, NULL, M, L, SS, NS, BS:
	}
	return Value{}, nil, fmt.Errorf("%w: kind %q", errKeyEncoding, kind)
}

func decodeKeyText(src []byte, kind Kind) (Value, []byte, error) {
	var text []byte
	for i := 0; i+1 < len(src); i++ {
		if src[i] != escaped {
			continue
		}
		switch {
		case src[i+1] == terminator && text == nil:
			return Value{Kind: kind, Text: string(src[:i])}, src[i+2:], nil
		case src[i+1] == terminator:
			return Value{Kind: kind, Text: string(append(text, src[:i]...))}, src[i+2:], nil
		case src[i+1] == escapeZero:
			text = append(text, src[:i+1]...)
			src = src[i+2:]
			i = -1
		default:
			return Value{}, nil, fmt.Errorf("%w: escape %02x", errKeyEncoding, src[i+1])
		}
	}
	return Value{}, nil, fmt.Errorf("%w: no end", errKeyEncoding)
}

func decodeKeyNumber(src []byte) (Value, []byte, error) {
	if len(src) == 0 {
		return Value{}, nil, fmt.Errorf("%w: no sign", errKeyEncoding)
	}
	var mask byte
	switch src[0] {
	case signZero:
		return Value{Kind: N, Text: "0"}, src[1:], nil
	case signPositive:
	case signNegative:
		mask = 0xFF
	default:
		return Value{}, nil, fmt.Errorf("%w: sign %02x", errKeyEncoding, src[0])
	}
	src = src[1:]
	var digits [maxDigits + 2]byte
	n := 0
	for i := 1; i < len(src); i++ {
		pair := src[i] ^ mask
		if pair == terminator {
			text, err := keyNumberText(mask != 0, digits[:n], int(src[0]^mask)+minExponent+1)
			return Value{Kind: N, Text: text}, src[i+1:], err
		}
		if pair > 100 || n+2 > len(digits) {
			break
		}
		digits[n], digits[n+1] = '0'+(pair-1)/10, '0'+(pair-1)%10
		n += 2
	}
	return Value{}, nil, fmt.Errorf("%w: digits", errKeyEncoding)
}

// keyNumberText returns the normal form of a decoded number. Like AppendKey's output, the digits
// must not have a leading zero or end with a pair of zeros.
func keyNumberText(negative bool, digits []byte, exponent int) (string, error) {
	if len(digits) == 0 || digits[0] == '0' || digits[len(digits)-1] == '0' && digits[len(digits)-2] == '0' {
		return "", fmt.Errorf("%w: digits", errKeyEncoding)
	}
	d := decimal{negative: negative, digits: strings.TrimRight(string(digits), "0"), exponent: exponent}
	text, err := d.normalForm()
	if err != nil {
		return "", fmt.Errorf("%w: %w", errKeyEncoding, err)
	}
	return text, nil
}
