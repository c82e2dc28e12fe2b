package expression

import "strings"

type tokenKind uint8

const (
	endToken tokenKind = iota
	// wordToken is an attribute name, a function name or a keyword.
	wordToken
	// nameToken is a placeholder of a name, with its #.
	nameToken
	// valueToken is a placeholder of a value, with its colon.
	valueToken
	numberToken
	// symbolToken is an operator or a bracket, or a character that has no meaning.
	symbolToken
)

type token struct {
	kind       tokenKind
	text       string
	start, end int
}

// is tells whether the token is the symbol.
func (t token) is(symbol string) bool { return t.kind == symbolToken && t.text == symbol }

// isKeyword tells whether the token is the keyword, given in capitals.
func (t token) isKeyword(keyword string) bool {
	return t.kind == wordToken && strings.EqualFold(t.text, keyword)
}

// tokenize cuts a text into its tokens, the last of which is an endToken. Characters without a meaning become symbols
// that no grammar accepts.
func tokenize(text string) []token {
	tokens := make([]token, 0, 16)
	for end := 0; ; {
		at := end
		for at < len(text) && isSpace(text[at]) {
			at++
		}
		if at == len(text) {
			return append(tokens, token{kind: endToken, text: "<EOF>", start: end, end: end})
		}
		t := nextToken(text, at)
		tokens = append(tokens, t)
		end = t.end
	}
}

func nextToken(text string, start int) token {
	t := token{kind: symbolToken, start: start}
	end := start + 1
	switch c := text[start]; {
	case isLetter(c) && c != '_':
		t.kind = wordToken
		end = skipWord(text, end)
	case c == '#':
		t.kind = nameToken
		end = skipWord(text, end)
	case c == ':':
		t.kind = valueToken
		end = skipWord(text, end)
	case isDigit(c):
		t.kind = numberToken
		for end < len(text) && isDigit(text[end]) {
			end++
		}
	case strings.HasPrefix(text[start:], "<>"), strings.HasPrefix(text[start:], "<="), strings.HasPrefix(text[start:], ">="):
		end = start + 2
	case c >= 0x80:
		for end < len(text) && text[end] >= 0x80 {
			end++
		}
	}
	t.text, t.end = text[start:end], end
	return t
}

func skipWord(text string, at int) int {
	for at < len(text) && (isLetter(text[at]) || isDigit(text[at])) {
		at++
	}
	return at
}

func isSpace(c byte) bool  { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }
func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
