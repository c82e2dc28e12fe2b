package expression

import (
	"math"
	"slices"
	"strconv"

	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
)

// problem is a class of errors that a text can have apart from its syntax. A text that has several is answered with the
// one whose class comes first.
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

// parser reads one text. Its first syntax error sticks: from then on the parser stands at the end of the text, where no
// grammar finds anything more to read.
type parser struct {
	kind         Kind
	text         string
	tokens       []token
	at           int
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
	return &parser{kind: kind, text: text, tokens: tokenize(text)}, nil
}

// end checks that the text ends here, and gives its error, if it has one.
func (p *parser) end() error {
	if p.peek().kind != endToken {
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

// fail reports the current token as the one that fits no grammar, together with its neighbours.
func (p *parser) fail() {
	if p.syntax != nil {
		return
	}
	t := p.peek()
	near := p.text[p.tokens[max(p.at-1, 0)].start:p.tokens[min(p.at+1, len(p.tokens)-1)].end]
	p.syntax = p.kind.invalid("Syntax error; token: \"%s\", near: \"%s\"", t.text, near)
	p.at = len(p.tokens) - 1
}

func (p *parser) peek() token { return p.tokens[p.at] }

// next is the token after the current one.
func (p *parser) next() token { return p.tokens[min(p.at+1, len(p.tokens)-1)] }

// take passes over the current token; the end of the text is never passed.
func (p *parser) take() {
	p.at = min(p.at+1, len(p.tokens)-1)
}

// takeSymbol passes over the symbol if it comes now.
func (p *parser) takeSymbol(symbol string) bool {
	if !p.peek().is(symbol) {
		return false
	}
	p.take()
	return true
}

// takeKeyword passes over the keyword if it comes now.
func (p *parser) takeKeyword(keyword string) bool {
	if !p.peek().isKeyword(keyword) {
		return false
	}
	p.take()
	return true
}

func (p *parser) expect(symbol string) {
	if !p.takeSymbol(symbol) {
		p.fail()
	}
}

// slot gives the placeholder its number.
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

// member reads a name or the placeholder of one. On a syntax error it is a member without a name.
func (p *parser) member() Step {
	t := p.peek()
	switch {
	case t.kind == nameToken:
		p.take()
		return Step{kind: placeholderStep, index: p.slot(t.text)}
	case t.kind != wordToken || p.isGrammarWord(t):
		p.fail()
		return Step{}
	}
	p.take()
	if isReserved(t.text) {
		p.report(reservedWord, "Attribute name is a reserved keyword; reserved keyword: %s", t.text)
	}
	return Member(t.text)
}

// isGrammarWord tells whether a word is part of the grammar and so never a name.
func (p *parser) isGrammarWord(t token) bool {
	words := []string{"AND", "OR", "NOT", "BETWEEN", "IN"}
	switch p.kind {
	case UpdateExpression:
		words = []string{"SET", "REMOVE", "ADD", "DELETE"}
	case ProjectionExpression:
		words = nil
	case ConditionExpression, FilterExpression, KeyConditionExpression:
	}
	return slices.ContainsFunc(words, t.isKeyword)
}

// restOfPath reads the steps that follow on a path.
func (p *parser) restOfPath(path Path) Path {
	for {
		switch {
		case p.takeSymbol("."):
			path = append(path, p.member())
		case p.takeSymbol("["):
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
	t := p.peek()
	if t.kind != numberToken {
		p.fail()
		return Step{}
	}
	p.take()
	index, err := strconv.Atoi(t.text)
	if err != nil || index > math.MaxInt32 {
		p.report(limitExceeded, "List index is not within the allowable range; index: [%s]", t.text)
	}
	p.expect("]")
	return Element(index)
}

// redundant reports a pair of parentheses directly within another.
func (p *parser) redundant() {
	p.report(redundantParentheses, "The expression has redundant parentheses;")
}

// badCount is the error for a call with the wrong number of operands.
func (p *parser) badCount(function string, arguments []Operand) malformed {
	return malformed{arguments: arguments, err: p.kind.invalid("Incorrect number of operands for operator or function; "+
		"operator or function: %s, number of operands: %d", function, len(arguments))}
}

// never stands for an operand that could not be read; its expression is refused.
var never = Literal{Value: attribute.Value{}}
