package partiql

import (
	"strings"

	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
	"github.com/dynajournal/dynajournal/embedded/internal/expression"
	"github.com/dynajournal/dynajournal/embedded/internal/tokens"
)

// condition reads the condition of a WHERE:
//
//	condition = and {"OR" and}
//	and       = not {"AND" not}
//	not       = test | "NOT" not | "(" condition ")"
//	test      = operand comparator operand
//	          | operand "BETWEEN" operand "AND" operand
//	          | operand ["NOT"] "IN" list
//	          | path "IS" ["NOT"] ("MISSING" | type)
//	          | function ["=" ("TRUE" | "FALSE")]
//	list      = "(" operand {"," operand} ")" | "[" operand {"," operand} "]"
func (p *parser) condition() expression.Test {
	x := p.and()
	for p.TakeKeyword("OR") {
		p.expectRight()
		x = expression.Or{Left: x, Right: p.and()}
	}
	return x
}

func (p *parser) and() expression.Test {
	x := p.not()
	for p.TakeKeyword("AND") {
		p.expectRight()
		x = expression.And{Left: x, Right: p.not()}
	}
	return x
}

func (p *parser) not() expression.Test {
	if p.TakeKeyword("NOT") {
		return expression.Not{Test: p.not()}
	}
	if p.TakeSymbol("(") {
		x := p.condition()
		p.expect(")")
		return x
	}
	return p.test()
}

func comparator(t tokens.Token) expression.Operator {
	if t.Is("!=") {
		return expression.NotEqual
	}
	for o := expression.Equal; o <= expression.GreaterOrEqual; o++ {
		if t.Is(o.String()) {
			return o
		}
	}
	return 0
}

func (p *parser) test() expression.Test {
	if t := p.Peek(); t.IsKeyword("EXISTS") && p.Next().Is("(") {
		p.unrecognized(t)
	}
	if p.isCall() && !p.Peek().IsKeyword("SIZE") {
		return p.compared(p.function())
	}
	left := p.operand()
	if operator := comparator(p.Peek()); operator != 0 {
		p.Take()
		p.expectRight()
		return expression.Comparison{Operator: operator, Left: left, Right: p.operand()}
	}
	switch {
	case p.TakeKeyword("BETWEEN"):
		low := p.operand()
		p.expectKeyword("AND")
		return expression.Between{Operand: left, Low: low, High: p.operand()}
	case p.TakeKeyword("IS"):
		return p.is(left)
	case p.TakeKeyword("NOT"):
		p.expectKeyword("IN")
		return expression.Not{Test: p.in(left)}
	case p.TakeKeyword("IN"):
		return p.in(left)
	}
	p.fail()
	return expression.Not{}
}

// compared reads the comparison of a condition with TRUE or FALSE, if one follows.
func (p *parser) compared(test expression.Test) expression.Test {
	if !p.TakeSymbol("=") {
		return test
	}
	if p.TakeKeyword("FALSE") {
		return expression.Not{Test: test}
	}
	p.expectKeyword("TRUE")
	return test
}

func (p *parser) unrecognized(t tokens.Token) {
	p.refuse(attribute.Invalid("Unrecognized function: %s at %s", strings.ToLower(t.Text), p.position(t)))
}

// typeNames maps the types of IS to DynamoDB's types.
var typeNames = map[string][]attribute.Kind{
	"NULL": {attribute.NULL}, "BOOL": {attribute.BOOL}, "BOOLEAN": {attribute.BOOL},
	"SMALLINT": {attribute.N}, "INT": {attribute.N}, "INT2": {attribute.N}, "INT4": {attribute.N}, "INT8": {attribute.N},
	"INTEGER": {attribute.N}, "INTEGER2": {attribute.N}, "INTEGER4": {attribute.N}, "INTEGER8": {attribute.N},
	"BIGINT": {attribute.N}, "FLOAT": {attribute.N}, "REAL": {attribute.N}, "DOUBLE PRECISION": {attribute.N},
	"DECIMAL": {attribute.N}, "NUMERIC": {attribute.N}, "NUMBER": {attribute.N},
	"STRING": {attribute.S}, "SYMBOL": {attribute.S}, "CHAR": {attribute.S}, "CHARACTER": {attribute.S},
	"CHARACTER VARYING": {attribute.S}, "VARCHAR": {attribute.S}, "BINARY": {attribute.B}, "BLOB": {attribute.B}, "CLOB": {attribute.B},
	"LIST": {attribute.L}, "MAP": {attribute.M}, "STRUCT": {attribute.M}, "TUPLE": {attribute.M},
	"BAG": {attribute.SS, attribute.NS, attribute.BS}, "STRINGSET": {attribute.SS}, "NUMBERSET": {attribute.NS},
	"BINARYSET": {attribute.BS},
}

func (p *parser) is(operand expression.Operand) expression.Test {
	not := p.TakeKeyword("NOT")
	if p.TakeKeyword("MISSING") {
		return expression.Exists{Operand: operand, Not: !not}
	}
	name := strings.ToUpper(p.Peek().Text)
	if second := strings.ToUpper(p.Next().Text); name == "DOUBLE" && second == "PRECISION" || name == "CHARACTER" && second == "VARYING" {
		name += " " + second
		p.Take()
	}
	kinds, known := typeNames[name]
	if !known {
		p.refuse(malformed("Expected type name"))
		return expression.Not{}
	}
	p.Take()
	var test expression.Test
	for _, kind := range kinds {
		of := expression.TypeIs{Operand: operand, Type: expression.Literal{Value: attribute.String(kind.String())}}
		if test == nil {
			test = of
		} else {
			test = expression.Or{Left: test, Right: of}
		}
	}
	if not {
		test = expression.Not{Test: test}
	}
	return test
}

func (p *parser) in(operand expression.Operand) expression.Test {
	closing := ")"
	if p.TakeSymbol("[") {
		closing = "]"
	} else {
		p.expect("(")
	}
	return expression.In{Operand: operand, List: p.operands(closing)}
}

func (p *parser) operands(closing string) []expression.Operand {
	var operands []expression.Operand
	for {
		operands = append(operands, p.operand())
		if !p.TakeSymbol(",") {
			p.expect(closing)
			return operands
		}
	}
}

func (p *parser) operand() expression.Operand {
	t := p.Peek()
	switch {
	case p.isCall():
		if name := p.call(); name != "size" {
			p.unrecognized(t)
		}
		size := expression.Size{Of: p.operand()}
		p.expect(")")
		return size
	case t.Kind == tokens.Name, t.Kind == tokens.Word && !isKeyword(t):
		return p.path()
	}
	return p.valueOperand()
}

// function reads a call that is a condition.
func (p *parser) function() expression.Test {
	at := p.Peek()
	name := p.call()
	wanted := 2
	switch name {
	case "attribute_exists", "attribute_not_exists":
		wanted = 1
	case "attribute_type", "begins_with", "contains":
	default:
		p.unrecognized(at)
		return expression.Not{}
	}
	var operands []expression.Operand
	if !p.TakeSymbol(")") {
		operands = p.operands(")")
	}
	if len(operands) != wanted {
		p.refuse(attribute.Invalid("Incorrect number of operands for operator or function; operator or function: %s, "+
			"number of operands: %d", name, len(operands)))
		return expression.Not{}
	}
	switch name {
	case "attribute_exists", "attribute_not_exists":
		if _, is := operands[0].(expression.Path); !is {
			p.refuse(attribute.Invalid("Operator or function requires a document path; operator or function: %s", name))
		}
		return expression.Exists{Operand: operands[0], Not: name == "attribute_not_exists"}
	case "attribute_type":
		return expression.TypeIs{Operand: operands[0], Type: operands[1]}
	case "begins_with":
		return expression.BeginsWith{Operand: operands[0], Prefix: operands[1]}
	}
	return expression.Contains{Operand: operands[0], Member: operands[1]}
}

// sum reads the operand of a SET: operands that are added and subtracted.
func (p *parser) sum() expression.Operand {
	x := p.term()
	for {
		minus := p.Peek().Is("-")
		if !minus && !p.Peek().Is("+") {
			return x
		}
		p.Take()
		x = expression.Sum{Left: x, Right: p.term(), Minus: minus}
	}
}

func (p *parser) term() expression.Operand {
	if !p.isCall() {
		if t := p.Peek(); t.Kind == tokens.Name || t.Kind == tokens.Word && !isKeyword(t) {
			return p.path()
		}
		return p.valueOperand()
	}
	t := p.Peek()
	if p.call() != "list_append" {
		p.unrecognized(t)
	}
	left := p.term()
	p.expect(",")
	right := p.term()
	p.expect(")")
	return expression.ListAppend{Left: left, Right: right}
}
