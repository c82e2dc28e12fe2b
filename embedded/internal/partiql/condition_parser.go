package partiql

import (
	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
	"github.com/dynajournal/dynajournal/embedded/internal/expression"
)

// condition reads the condition of a WHERE:
//
//	condition = and {"OR" and}
//	and       = not {"AND" not}
//	not       = "NOT" not | "(" condition ")" | test
//	= operand comparator operand
//	          | operand "BETWEEN" operand "AND" operand
//	          | operand ["NOT"] "IN" ("(" operand {"," operand} ")" | "[" operand {"," operand} "]")
//	          | path "IS" ["NOT"] ("MISSING" | "NULL")
//	          | function
func (p *parser) condition() expression.Test {
	x := p.and()
	for p.takeKeyword("OR") {
		x = expression.Or{Left: x, Right: p.and()}
	}
	return x
}

func (p *parser) and() expression.Test {
	x := p.not()
	for p.takeKeyword("AND") {
		x = expression.And{Left: x, Right: p.not()}
	}
	return x
}

func (p *parser) not() expression.Test {
	if p.takeKeyword("NOT") {
		return expression.Not{Test: p.not()}
	}
	if p.takeSymbol("(") {
		x := p.condition()
		p.expect(")")
		return x
	}
	return p.test()
}

func comparator(t token) expression.Operator {
	if t.is("!=") {
		return expression.NotEqual
	}
	for o := expression.Equal; o <= expression.GreaterOrEqual; o++ {
		if t.is(o.String()) {
			return o
		}
	}
	return 0
}

func (p *parser) test() expression.Test {
	if p.isCall() && !p.peek().isKeyword("SIZE") {
		return p.function()
	}
	left := p.operand()
	if operator := comparator(p.peek()); operator != 0 {
		p.take()
		return expression.Comparison{Operator: operator, Left: left, Right: p.operand()}
	}
	switch {
	case p.takeKeyword("BETWEEN"):
		low := p.operand()
		p.expectKeyword("AND")
		return expression.Between{Operand: left, Low: low, High: p.operand()}
	case p.takeKeyword("IS"):
		return p.is(left)
	case p.takeKeyword("NOT"):
		p.expectKeyword("IN")
		return expression.Not{Test: p.in(left)}
	case p.takeKeyword("IN"):
		return p.in(left)
	}
	p.fail()
	return expression.Not{}
}

func (p *parser) is(operand expression.Operand) expression.Test {
	not := p.takeKeyword("NOT")
	var test expression.Test
	if p.takeKeyword("MISSING") {
		return expression.Exists{Operand: operand, Not: !not}
	}
	p.expectKeyword("NULL")
	test = expression.TypeIs{Operand: operand, Type: expression.Literal{Value: attribute.String(attribute.NULL.String())}}
	if not {
		test = expression.Not{Test: test}
	}
	return test
}

func (p *parser) in(operand expression.Operand) expression.Test {
	closing := ")"
	if p.takeSymbol("[") {
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
		if !p.takeSymbol(",") {
			p.expect(closing)
			return operands
		}
	}
}

func (p *parser) operand() expression.Operand {
	t := p.peek()
	switch {
	case p.isCall():
		if name := p.call(); name != "size" {
			p.refuse(malformed("Unexpected function: %s", name))
		}
		size := expression.Size{Of: p.operand()}
		p.expect(")")
		return size
	case t.kind == nameToken, t.kind == wordToken && !isKeyword(t):
		return p.path()
	}
	return p.valueOperand()
}

// function reads a call that is a condition.
func (p *parser) function() expression.Test {
	name := p.call()
	operands := p.operands(")")
	if len(operands) != 2 {
		p.refuse(malformed("Incorrect number of operands of function: %s", name))
		return expression.Not{}
	}
	switch name {
	case "attribute_type":
		return expression.TypeIs{Operand: operands[0], Type: operands[1]}
	case "begins_with":
		return expression.BeginsWith{Operand: operands[0], Prefix: operands[1]}
	case "contains":
		return expression.Contains{Operand: operands[0], Member: operands[1]}
	}
	p.refuse(malformed("Unexpected function: %s", name))
	return expression.Not{}
}

// sum reads what a SET assigns: operands of an update, added and subtracted.
func (p *parser) sum() expression.Operand {
	x := p.term()
	for {
		minus := p.peek().is("-")
		if !minus && !p.peek().is("+") {
			return x
		}
		p.take()
		x = expression.Sum{Left: x, Right: p.term(), Minus: minus}
	}
}

func (p *parser) term() expression.Operand {
	if !p.isCall() {
		if t := p.peek(); t.kind == nameToken || t.kind == wordToken && !isKeyword(t) {
			return p.path()
		}
		return p.valueOperand()
	}
	name := p.call()
	left := p.term()
	p.expect(",")
	right := p.term()
	p.expect(")")
	switch name {
	case "list_append":
		return expression.ListAppend{Left: left, Right: right}
	case "set_add":
		return expression.SetAdd{Left: left, Right: right}
	case "set_delete":
		return expression.SetDelete{Left: left, Right: right}
	}
	p.refuse(malformed("Unexpected function: %s", name))
	return left
}
