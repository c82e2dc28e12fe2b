package partiql

import (
	"math"
	"strconv"
	"strings"
)

type tokenKind uint8

const (
	endToken tokenKind = iota
	// wordToken is a keyword, a function's name, or a name without quotes.
	wordToken
	// nameToken is a name in double quotes.
	nameToken
	stringToken
	numberToken
	symbolToken
	// brokenToken is text that nothing can be read of.
	brokenToken
)

// token has the text it stands for: names and strings without their quotes. It stands at so many bytes of the statement.
type token struct {
	kind tokenKind
	text string
	at   int
}

func (t token) is(symbol string) bool { return t.kind == symbolToken && t.text == symbol }

// isKeyword tells whether the token is the keyword, given in capitals.
func (t token) isKeyword(keyword string) bool {
	return t.kind == wordToken && strings.EqualFold(t.text, keyword)
}

// tokenize cuts a text into its tokens, the last of which is an endToken; false if a quote or a comment does not end, or
// a number or a character can be nothing. Other characters without a meaning become symbols that no grammar accepts.
func tokenize(text string) ([]token, bool) {
	tokens := make([]token, 0, len(text)/4+1)
	for rest := text; ; {
		var ok bool
		if rest, ok = skipBlank(rest); !ok {
			return nil, false
		}
		at := len(text) - len(rest)
		if rest == "" {
			return append(tokens, token{at: at}), true
		}
		t, length := nextToken(rest)
		if t.kind == brokenToken {
			return nil, false
		}
		t.at = at
		tokens = append(tokens, t)
		rest = rest[length:]
	}
}

// skipBlank passes over white space and comments; false if a comment does not end.
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

// nextToken reads the token at the beginning of the text, and its length there.
func nextToken(text string) (token, int) {
	switch c := text[0]; {
	case c == '\'' || c == '"':
		return quotedToken(text)
	case isLetter(c):
		length := 1
		for length < len(text) && (isLetter(text[length]) || isDigit(text[length])) {
			length++
		}
		return token{kind: wordToken, text: text[:length]}, length
	case isDigit(c) || c == '.' && len(text) > 1 && isDigit(text[1]):
		length := numberLength(text)
		if !scaled(text[:length]) {
			return token{kind: brokenToken}, length
		}
		return token{kind: numberToken, text: text[:length]}, length
	case c == '#':
		return token{kind: brokenToken}, 1
	}
	for _, symbol := range []string{"<<", ">>", "<>", "<=", ">=", "!="} {
		if strings.HasPrefix(text, symbol) {
			return token{kind: symbolToken, text: symbol}, len(symbol)
		}
	}
	return token{kind: symbolToken, text: text[:1]}, 1
}

// quotedToken reads a string or a name in quotes. A doubled quote within stands for one.
func quotedToken(text string) (token, int) {
	quote := text[:1]
	kind := stringToken
	if quote == `"` {
		kind = nameToken
	}
	for end := 1; end < len(text); end++ {
		switch {
		case text[end] != quote[0]:
		case strings.HasPrefix(text[end+1:], quote):
			end++
		default:
			return token{kind: kind, text: strings.ReplaceAll(text[1:end], quote+quote, quote)}, end + 1
		}
	}
	return token{kind: brokenToken}, len(text)
}

// scaled tells whether the exponent of a number, and its scale (the digits behind the point less the exponent), have 32
// bits.
func scaled(number string) bool {
	at := strings.IndexAny(number, "eE")
	if at < 0 {
		return true
	}
	exponent, err := strconv.ParseInt(number[at+1:], 10, 32)
	_, fraction, _ := strings.Cut(number[:at], ".")
	return err == nil && int64(len(fraction))-exponent <= math.MaxInt32 && int64(len(fraction))-exponent >= math.MinInt32
}

// numberLength is the length of a number without a sign.
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
