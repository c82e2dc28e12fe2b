// Package tokens has the token type of DynamoDB's languages, and a cursor over tokens for parsers.
// Each language has its own rules for tokens and its own parser.
package tokens

import "strings"

// Kind is the kind of a token.
type Kind uint8

// The kinds of tokens. Not every language has all of them.
const (
	// End is the end of the text.
	End Kind = iota
	// Word is a keyword, the name of a function, or a name without quotes.
	Word
	// Name is a name that can't be a keyword: the placeholder of a name, or a name in quotes.
	Name
	// Value is the placeholder of a value.
	Value
	// String is a string in quotes.
	String
	// Number is a number without a sign.
	Number
	// Symbol is an operator, a bracket, or a character without a meaning.
	Symbol
	// Invalid is text that is not a token.
	Invalid
)

// Token is a token of a text.
type Token struct {
	Kind Kind
	// Start and End are the positions of the token in the text, in bytes. Texts are short, so a
	// small type is enough, and saves memory for the many tokens of a statement.
	Start, End int32
	// Text is the token as messages show it. Quotes are removed.
	Text string
}

// Is reports whether the token is the symbol.
func (t Token) Is(symbol string) bool { return t.Kind == Symbol && t.Text == symbol }

// IsKeyword reports whether the token is the keyword, given in capitals.
func (t Token) IsKeyword(keyword string) bool {
	return t.Kind == Word && strings.EqualFold(t.Text, keyword)
}

// Cursor is a position among the tokens of a text. It never goes past the last token, which is End.
type Cursor struct {
	tokens []Token
	at     int
}

// NewCursor returns a cursor at the first token. There must be at least one token, and the last one
// must be End.
func NewCursor(tokens []Token) Cursor { return Cursor{tokens: tokens} }

// Peek returns the current token.
func (c *Cursor) Peek() Token { return c.tokens[c.at] }

// Previous returns the token before the current one, or the current one if it is the first.
func (c *Cursor) Previous() Token { return c.tokens[max(c.at-1, 0)] }

// Next returns the token after the current one.
func (c *Cursor) Next() Token { return c.tokens[min(c.at+1, len(c.tokens)-1)] }

// Take returns the current token and moves past it.
func (c *Cursor) Take() Token {
	t := c.tokens[c.at]
	c.at = min(c.at+1, len(c.tokens)-1)
	return t
}

// TakeSymbol moves past the current token if that is the symbol, and reports whether it is.
func (c *Cursor) TakeSymbol(symbol string) bool {
	if !c.Peek().Is(symbol) {
		return false
	}
	c.Take()
	return true
}

// TakeKeyword moves past the current token if that is the keyword, and reports whether it is.
func (c *Cursor) TakeKeyword(keyword string) bool {
	if !c.Peek().IsKeyword(keyword) {
		return false
	}
	c.Take()
	return true
}

// TakeAll moves to the end of the text.
func (c *Cursor) TakeAll() { c.at = len(c.tokens) - 1 }

// Position returns the position, for Reset.
func (c *Cursor) Position() int { return c.at }

// Reset moves back to a position.
func (c *Cursor) Reset(position int) { c.at = position }
