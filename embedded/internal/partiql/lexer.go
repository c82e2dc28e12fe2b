package partiql

import "strings"

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
)

// token has the text it stands for: names and strings without their quotes.
type token struct {
	kind tokenKind
	text string
}

func (t token) is(symbol string) bool { return t.kind == symbolToken && t.text == symbol }

// isKeyword tells whether the token is the keyword, given in capitals.
func (t token) isKeyword(keyword string) bool {
	return t.kind == wordToken && strings.EqualFold(t.text, keyword)
}

// tokenize cuts a text into its tokens, the last of which is an endToken. A quote that does not end, and characters
// without a meaning, become symbols that no grammar accepts.
func tokenize(text string) []token {
	tokens := make([]token, 0, len(text)/4+1)
	for {
		text = strings.TrimLeft(text, " \t\r\n")
		if text == "" {
			return append(tokens, token{})
		}
		t, length := nextToken(text)
		tokens = append(tokens, t)
		text = text[length:]
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
		return token{kind: numberToken, text: text[:length]}, length
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
	return token{kind: symbolToken, text: text}, len(text)
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
