package partiql

import (
	"math"
	"strconv"
	"strings"

	"github.com/dynajournal/dynajournal/embedded/internal/tokens"
)

// tokenize returns the tokens of a text, the last of which is End. It returns false if a quote or a
// comment does not end, or a number or a character is invalid. Other characters without a meaning
// become symbols that no grammar accepts.
func tokenize(text string) ([]tokens.Token, bool) {
	list := make([]tokens.Token, 0, len(text)/4+1)
	for rest := text; ; {
		var ok bool
		if rest, ok = skipBlank(rest); !ok {
			return nil, false
		}
		at := len(text) - len(rest)
		if rest == "" {
			return append(list, tokens.Token{Start: int32(at), End: int32(at)}), true
		}
		t, length := nextToken(rest)
		if t.Kind == tokens.Invalid {
			return nil, false
		}
		t.Start, t.End = int32(at), int32(at+length)
		list = append(list, t)
		rest = rest[length:]
	}
}

// skipBlank skips white space and comments. It returns false if a comment does not end.
func skipBlank(text string) (string, bool) {
	for {
		text = strings.TrimLeft(text, " \t\r\n")
		switch {
		case strings.HasPrefix(text, "--"):
			_, text, _ = strings.Cut(text, "\n")
		case strings.HasPrefix(text, "/*"):
			var ended bool
			if _, text, ended = strings.Cut(text[2:], "*/"); !ended {
				return "", false
			}
		default:
			return text, true
		}
	}
}

// nextToken returns the token at the beginning of the text, and its length in the text.
func nextToken(text string) (tokens.Token, int) {
	switch c := text[0]; {
	case c == '\'' || c == '"':
		return quotedToken(text)
	case isLetter(c):
		length := 1
		for length < len(text) && (isLetter(text[length]) || isDigit(text[length])) {
			length++
		}
		return tokens.Token{Kind: tokens.Word, Text: text[:length]}, length
	case isDigit(c) || c == '.' && len(text) > 1 && isDigit(text[1]):
		length := numberLength(text)
		if !scaled(text[:length]) {
			return tokens.Token{Kind: tokens.Invalid}, length
		}
		return tokens.Token{Kind: tokens.Number, Text: text[:length]}, length
	case c == '#':
		return tokens.Token{Kind: tokens.Invalid}, 1
	}
	for _, symbol := range []string{"<<", ">>", "<>", "<=", ">=", "!="} {
		if strings.HasPrefix(text, symbol) {
			return tokens.Token{Kind: tokens.Symbol, Text: symbol}, len(symbol)
		}
	}
	return tokens.Token{Kind: tokens.Symbol, Text: text[:1]}, 1
}

// quotedToken returns a string or a quoted name. A doubled quote within is one quote.
func quotedToken(text string) (tokens.Token, int) {
	quote := text[:1]
	kind := tokens.String
	if quote == `"` {
		kind = tokens.Name
	}
	for end := 1; end < len(text); end++ {
		switch {
		case text[end] != quote[0]:
		case strings.HasPrefix(text[end+1:], quote):
			end++
		default:
			return tokens.Token{Kind: kind, Text: strings.ReplaceAll(text[1:end], quote+quote, quote)}, end + 1
		}
	}
	return tokens.Token{Kind: tokens.Invalid}, len(text)
}

// scaled reports whether the exponent and the scale of a number fit into 32 bits. The scale is the
// number of digits after the point minus the exponent.
func scaled(number string) bool {
	at := strings.IndexAny(number, "eE")
	if at < 0 {
		return true
	}
	exponent, err := strconv.ParseInt(number[at+1:], 10, 32)
	_, fraction, _ := strings.Cut(number[:at], ".")
	return err == nil && int64(len(fraction))-exponent <= math.MaxInt32 && int64(len(fraction))-exponent >= math.MinInt32
}

// numberLength returns the length of a number without a sign.
func numberLength(text string) int {
	length := skipDigits(text, 0)
	if length < len(text) && text[length] == '.' {
		length = skipDigits(text, length+1)
	}
	if length < len(text) && (text[length] == 'e' || text[length] == 'E') {
		exponent := length + 1
		if exponent < len(text) && (text[exponent] == '+' || text[exponent] == '-') {
			exponent++
		}
		if end := skipDigits(text, exponent); end > exponent {
			length = end
		}
	}
	return length
}

func skipDigits(text string, at int) int {
	for at < len(text) && isDigit(text[at]) {
		at++
	}
	return at
}

func isLetter(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '$'
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
