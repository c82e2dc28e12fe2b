package expression

import (
	"strings"

	"github.com/dynajournal/dynajournal/embedded/internal/tokens"
)

// tokenize returns the tokens of a text, the last of which is End. Characters without a meaning
// become symbols that no grammar accepts.
func tokenize(text string) []tokens.Token {
	list := make([]tokens.Token, 0, 16)
	for end := 0; ; {
		at := end
		for at < len(text) && isSpace(text[at]) {
			at++
		}
		if at == len(text) {
			return append(list, tokens.Token{Kind: tokens.End, Text: "<EOF>", Start: int32(end), End: int32(end)})
		}
		t := nextToken(text, at)
		list = append(list, t)
		end = int(t.End)
	}
}

func nextToken(text string, start int) tokens.Token {
	t := tokens.Token{Kind: tokens.Symbol, Start: int32(start)}
	end := start + 1
	switch c := text[start]; {
	case isLetter(c) && c != '_':
		t.Kind = tokens.Word
		end = skipWord(text, end)
	case c == '#':
		t.Kind = tokens.Name
		end = skipWord(text, end)
	case c == ':':
		t.Kind = tokens.Value
		end = skipWord(text, end)
	case isDigit(c):
		t.Kind = tokens.Number
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
	t.Text, t.End = text[start:end], int32(end)
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
