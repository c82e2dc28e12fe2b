package expression

import (
	"math"
	"slices"
	"strconv"

	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
	"github.com/dynajournal/dynajournal/embedded/internal/tokens"
)

// problem is a class of errors other than syntax errors. If there are errors of several classes,
// the class that comes first is reported.
type problem uint8

const (
	redundantParentheses problem = iota
	unknownFunction
	misusedFunction
	reservedWord
	repeatedSection
	limitExceeded
	problems
)

// parser parses one text. After its first syntax error it is at the end of the text, where no
// grammar finds more to parse.
type parser struct {
	tokens.Cursor

	kind         Kind
	text         string
	syntax       error
	found        [problems]error
	placeholders []string
	operators    int
}

func newParser(kind Kind, text string) (*parser, error) {
	if text == "" {
		return nil, kind.invalid("The expression can not be empty;")
	}
	if len(text) > MaxLength {
		return nil, kind.invalid("Expression size has exceeded the maximum allowed size; expression size: %d", len(text))
	}
	return &parser{kind: kind, text: text, Cursor: tokens.NewCursor(tokenize(text))}, nil
}

// end checks that the text ends here, and returns the error of the text, if any.
func (p *parser) end() error {
	if p.Peek().Kind != tokens.End {
		p.fail()
	}
	if p.syntax != nil {
		return p.syntax
	}
	if p.operators > maxOperators {
		p.report(limitExceeded, "The expression contains too many operators; operator count: %d", p.operators)
	}
	for _, err := range p.found {
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *parser) report(class problem, format string, args ...any) {
	if p.found[class] == nil {
		p.found[class] = p.kind.invalid(format, args...)
	}
}

// fail reports the current token as a syntax error, together with its neighbours.
func (p *parser) fail() {
	if p.syntax != nil {
		return
	}
	t := p.Peek()
	near := p.text[p.Previous().Start:p.Next().End]
	p.syntax = p.kind.invalid("Syntax error; token: \"%s\", near: \"%s\"", t.Text, near)
	p.TakeAll()
}

func (p *parser) expect(symbol string) {
	if !p.TakeSymbol(symbol) {
		p.fail()
	}
}

// slot returns the number of the placeholder, and adds the placeholder if it is new.
func (p *parser) slot(placeholder string) int {
	if i := slices.Index(p.placeholders, placeholder); i >= 0 {
		return i
	}
	p.placeholders = append(p.placeholders, placeholder)
	return len(p.placeholders) - 1
}

// path reads a document path that begins with a name.
func (p *parser) path() Path {
	return p.restOfPath(Path{p.member()})
}

// member reads a name or its placeholder. After a syntax error it returns a member without a name.
func (p *parser) member() Step {
	t := p.Peek()
	switch {
	case t.Kind == tokens.Name:
		p.Take()
		return Step{kind: placeholderStep, index: p.slot(t.Text)}
	case t.Kind != tokens.Word || p.isGrammarWord(t):
		p.fail()
		return Step{}
	}
	p.Take()
	if isReserved(t.Text) {
		p.report(reservedWord, "Attribute name is a reserved keyword; reserved keyword: %s", t.Text)
	}
	return Member(t.Text)
}

// isGrammarWord reports whether a word is a keyword of the grammar, which can't be a name.
func (p *parser) isGrammarWord(t tokens.Token) bool {
	words := []string{"AND", "OR", "NOT", "BETWEEN", "IN"}
	switch p.kind {
	case UpdateExpression:
		words = []string{"SET", "REMOVE", "ADD", "DELETE"}
	case ProjectionExpression:
		words = nil
	case ConditionExpression, FilterExpression, KeyConditionExpression:
	}
	return slices.ContainsFunc(words, t.IsKeyword)
}

// restOfPath reads the further steps of a path.
func (p *parser) restOfPath(path Path) Path {
	for {
		switch {
		case p.TakeSymbol("."):
			path = append(path, p.member())
		case p.TakeSymbol("["):
			path = append(path, p.element())
		default:
			if len(path) > maxPathDepth {
				p.report(limitExceeded, "The document path has too many nesting levels; nesting levels: %d", len(path))
			}
			return path
		}
	}
}

func (p *parser) element() Step {
	t := p.Peek()
	if t.Kind != tokens.Number {
		p.fail()
		return Step{}
	}
	p.Take()
	index, err := strconv.Atoi(t.Text)
	if err != nil || index > math.MaxInt32 {
		p.report(limitExceeded, "List index is not within the allowable range; index: [%s]", t.Text)
	}
	p.expect("]")
	return Element(index)
}

// redundant reports a pair of parentheses directly within another.
func (p *parser) redundant() {
	p.report(redundantParentheses, "The expression has redundant parentheses;")
}

// badCount returns the error for a call with the wrong number of operands.
func (p *parser) badCount(function string, arguments []Operand) malformed {
	return malformed{arguments: arguments, err: p.kind.invalid("Incorrect number of operands for operator or function; "+
		"operator or function: %s, number of operands: %d", function, len(arguments))}
}

// never is an operand that could not be parsed. Its expression is refused.
var never = Literal{Value: attribute.Value{}}
