package serialization

import (
	"bytes"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"
)

// escapeAsJackson rewrites the escapes of compact JSON as Jackson writes them:
// upper-case hex digits, the line separators U+2028 and U+2029 unescaped, and
// characters beyond U+FFFF as two escaped surrogates. Backslashes and
// characters beyond ASCII occur only in strings, so it need not know where
// strings begin.
func escapeAsJackson(document []byte) []byte {
	const escapeSize = len(`\u0000`)
	out := make([]byte, 0, len(document))
	for i := 0; i < len(document); {
		c, size := utf8.DecodeRune(document[i:])
		switch {
		case c > 0xffff:
			high, low := utf16.EncodeRune(c)
			out = fmt.Appendf(out, `\u%04X\u%04X`, high, low)
		case c != '\\':
			out = append(out, document[i:i+size]...)
		case document[i+1] != 'u':
			size = 2
			out = append(out, document[i:i+size]...)
		default:
			size = escapeSize
			switch digits := document[i+2 : i+escapeSize]; string(digits) {
			case "2028":
				out = append(out, "\u2028"...)
			case "2029":
				out = append(out, "\u2029"...)
			default:
				out = append(append(out, `\u`...), bytes.ToUpper(digits)...)
			}
		}
		i += size
	}

	return out
}
