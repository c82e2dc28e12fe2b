package tokens_test

import (
	"testing"

	"github.com/dynajournal/dynajournal/embedded/internal/tokens"
)

func TestCursor_StaysAtEnd(t *testing.T) {
	end := tokens.Token{Kind: tokens.End, Start: 5, End: 5}
	c := tokens.NewCursor([]tokens.Token{
		{Kind: tokens.Word, Text: "select", Start: 0, End: 4}, {Kind: tokens.Symbol, Text: "*", Start: 4, End: 5}, end,
	})
	if c.Previous() != c.Peek() || !c.Next().Is("*") {
		t.Errorf("at the start: previous %v, next %v", c.Previous(), c.Next())
	}
	if c.TakeKeyword("FROM") || c.TakeSymbol("*") || !c.TakeKeyword("SELECT") {
		t.Error("the keyword of the first token is not SELECT")
	}
	if c.TakeKeyword("*") || !c.TakeSymbol("*") {
		t.Error("the second token is not the symbol *")
	}
	for range 2 {
		if c.Take() != end || c.Peek() != end || c.Next() != end {
			t.Errorf("at the end: %v, next %v", c.Peek(), c.Next())
		}
	}
}

func TestCursor_Reset(t *testing.T) {
	c := tokens.NewCursor([]tokens.Token{{Kind: tokens.Number, Text: "1"}, {Kind: tokens.End}})
	start := c.Position()
	c.TakeAll()
	if c.Peek().Kind != tokens.End {
		t.Errorf("TakeAll stops at %v", c.Peek())
	}
	c.Reset(start)
	if c.Peek().Text != "1" {
		t.Errorf("Reset goes to %v", c.Peek())
	}
}
