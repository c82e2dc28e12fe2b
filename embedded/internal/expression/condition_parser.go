package expression

import (
	"strings"

	"github.com/dynajournal/dynajournal/embedded/internal/tokens"
)

// ParseCondition reads a condition, filter or key condition:
//
//	condition = and {"OR" and}
//	and       = not {"AND" not}
//	not       = test | "NOT" not
//	test      = operand comparator operand
//	          | operand "BETWEEN" operand "AND" operand
//	          | operand "IN" "(" operand {"," operand} ")"
//	          | function | "(" condition ")"
//	operand   = path | value | function | "(" operand ")"
//
// Both a condition and an operand can be in parentheses. Which of them is in the parentheses can
// only be decided after reading them; see piece.
func ParseCondition(kind Kind, text string) (*Condition, error) {
	p, err := newParser(kind, text)
	if err != nil {
		return nil, err
	}
	test := p.test(p.or())
	if err := p.end(); err != nil {
		return nil, err
	}
	return &Condition{kind: kind, test: test, placeholders: p.placeholders}, nil
}

// piece is a part of a condition that can be a condition or an operand.
type piece struct {
	test    Test
	operand Operand
	// function is the name of the function that the piece calls.
	function      string
	parenthesized bool
}

// test converts a piece to a condition.
func (p *parser) test(x piece) Test {
	switch {
	case x.test != nil:
		return x.test
	case x.function != "":
		p.report(misusedFunction, "The function is not allowed to be used this way in an expression; function: %s", x.function)
	default:
		p.fail()
	}
	return malformed{}
}

// operand converts a piece to an operand.
func (p *parser) operand(x piece) Operand {
	switch {
	case x.operand != nil:
		return x.operand
	case x.function != "":
		p.report(misusedFunction, "The function is not allowed to be used this way in an expression; function: %s", x.function)
	default:
		p.fail()
	}
	return never
}

func (p *parser) or() piece {
	x := p.and()
	for p.Peek().IsKeyword("OR") {
		left := p.test(x)
		p.Take()
		x = piece{test: Or{Left: left, Right: p.test(p.and())}}
	}
	return x
}

func (p *parser) and() piece {
	x := p.not()
	for p.Peek().IsKeyword("AND") {
		left := p.test(x)
		p.Take()
		x = piece{test: And{Left: left, Right: p.test(p.not())}}
	}
	return x
}

func (p *parser) not() piece {
	if p.TakeKeyword("NOT") {
		p.operators++
		return piece{test: Not{Test: p.test(p.not())}}
	}
	return p.comparison()
}

func comparator(t tokens.Token) Operator {
	if t.Kind == tokens.Symbol {
		for o := Equal; o <= GreaterOrEqual; o++ {
			if t.Text == o.String() {
				return o
			}
		}
	}
	return 0
}

// comparison reads a test or an operand.
func (p *parser) comparison() piece {
	x := p.atom()
	if operator := comparator(p.Peek()); operator != 0 {
		left := p.operand(x)
		p.Take()
		p.operators++
		return piece{test: Comparison{Operator: operator, Left: left, Right: p.operand(p.atom())}}
	}
	switch t := p.Peek(); {
	case t.IsKeyword("BETWEEN"):
		operand := p.operand(x)
		p.Take()
		p.operators++
		low := p.operand(p.atom())
		if !p.TakeKeyword("AND") {
			p.fail()
		}
		return piece{test: Between{Operand: operand, Low: low, High: p.operand(p.atom())}}
	case t.IsKeyword("IN"):
		operand := p.operand(x)
		p.Take()
		p.operators++
		p.expect("(")
		return piece{test: In{Operand: operand, List: p.arguments()}}
	}
	return x
}

// arguments reads operands up to the closing parenthesis.
func (p *parser) arguments() []Operand {
	var arguments []Operand
	for {
		arguments = append(arguments, p.operand(p.atom()))
		if !p.TakeSymbol(",") {
			p.expect(")")
			return arguments
		}
	}
}

func (p *parser) atom() piece {
	switch t := p.Peek(); {
	case t.Is("("):
		return p.parentheses()
	case t.Kind == tokens.Value:
		p.Take()
		return piece{operand: Parameter(p.slot(t.Text))}
	case t.Kind == tokens.Word && p.Next().Is("(") && !p.isGrammarWord(t):
		p.Take()
		p.Take()
		p.operators++
		return p.call(t.Text, p.arguments())
	}
	return piece{operand: p.path()}
}

func (p *parser) parentheses() piece {
	p.Take()
	x := p.or()
	p.expect(")")
	if x.parenthesized {
		p.redundant()
	}
	if path, is := x.operand.(Path); is && (p.Peek().Is(".") || p.Peek().Is("[")) {
		return piece{operand: p.restOfPath(path)}
	}
	x.parenthesized = true
	return x
}

// call returns the tree of a function call.
func (p *parser) call(name string, arguments []Operand) piece {
	x := piece{function: name}
	operands := 2
	switch name {
	case "attribute_exists", "attribute_not_exists", "size":
		operands = 1
	case "attribute_type", "begins_with", "contains":
	case "if_not_exists", "list_append":
		p.report(unknownFunction, "The function is not allowed in a %s; function: %s", p.kind.description(), name)
	default:
		p.report(unknownFunction, "Invalid function name; function: %s", name)
	}
	if len(arguments) != operands {
		bad := p.badCount(name, arguments)
		if name == "size" {
			x.operand = bad
		} else {
			x.test = bad
		}
		return x
	}
	switch name {
	case "attribute_exists", "attribute_not_exists":
		x.test = Exists{Operand: arguments[0], Not: name == "attribute_not_exists"}
	case "attribute_type":
		x.test = TypeIs{Operand: arguments[0], Type: arguments[1]}
	case "begins_with":
		x.test = BeginsWith{Operand: arguments[0], Prefix: arguments[1]}
	case "contains":
		x.test = Contains{Operand: arguments[0], Member: arguments[1]}
	case "size":
		x.operand = Size{Of: arguments[0]}
	default:
		x.test = malformed{}
	}
	return x
}

// description returns the kind as messages name it, such as "condition expression".
func (k Kind) description() string {
	switch k {
	case KeyConditionExpression:
		return "key condition expression"
	case ConditionExpression, FilterExpression, ProjectionExpression, UpdateExpression:
	}
	return strings.ToLower(strings.TrimSuffix(string(k), "Expression")) + " expression"
}
