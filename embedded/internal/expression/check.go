package expression

import (
	"encoding/base64"

	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
)

// checker checks operands of a bound expression.
type checker struct {
	kind     Kind
	bindings []binding
}

const wrongType = "Incorrect operand type for operator or function; operator or function: %s, operand type: %s"

// CheckOrder checks a condition that was not parsed by this package: it refuses comparisons by
// order of values whose type has no order. values[n] is the value of Parameter(n).
func CheckOrder(test Test, values []attribute.Value) error {
	c := checker{bindings: positional(values)}
	switch t := test.(type) {
	case And:
		if err := CheckOrder(t.Left, values); err != nil {
			return err
		}
		return CheckOrder(t.Right, values)
	case Or:
		if err := CheckOrder(t.Left, values); err != nil {
			return err
		}
		return CheckOrder(t.Right, values)
	case Not:
		return CheckOrder(t.Test, values)
	case Comparison:
		if t.Operator != Equal && t.Operator != NotEqual {
			return c.ordered(t.Operator.String(), t.Left, t.Right)
		}
	case Between:
		return c.ordered("BETWEEN", t.Operand, t.Low, t.High)
	}
	return nil
}

// distinct refuses an operation on two equal paths.
func (c checker) distinct(operator string, left, right Operand) error {
	a, aIs := left.(Path)
	b, bIs := right.(Path)
	if aIs && bIs && a.equal(b, c.bindings) {
		return c.kind.invalid("The first operand must be distinct from the remaining operands for this operator or "+
			"function; operator: %s, first operand: %s", operator, a.describe(c.bindings))
	}
	return nil
}

// ordered refuses operands whose type has no order.
func (c checker) ordered(operator string, operands ...Operand) error {
	for _, o := range operands {
		switch kind := staticKind(o, c.bindings); kind {
		case 0, attribute.S, attribute.N, attribute.B:
		case attribute.BOOL, attribute.NULL, attribute.M, attribute.L, attribute.SS, attribute.NS, attribute.BS:
			return c.kind.invalid(wrongType, operator, kind)
		}
	}
	return nil
}

// nested returns the error of an operand that is an invalid call.
func (c checker) nested(operands ...Operand) error {
	for _, o := range operands {
		if size, is := o.(Size); is {
			if err := c.size(size); err != nil {
				return err
			}
		}
		if call, is := o.(malformed); is {
			return call.err
		}
	}
	return nil
}

func (c checker) size(o Size) error {
	if err := c.nested(o.Of); err != nil {
		return err
	}
	switch kind := staticKind(o.Of, c.bindings); kind {
	case attribute.N, attribute.BOOL, attribute.NULL:
		return c.kind.invalid(wrongType, "size", kind)
	case 0, attribute.S, attribute.B, attribute.M, attribute.L, attribute.SS, attribute.NS, attribute.BS:
	}
	return nil
}

func (t And) check(c checker) error {
	if err := t.Left.check(c); err != nil {
		return err
	}
	return t.Right.check(c)
}

func (t Or) check(c checker) error {
	if err := t.Left.check(c); err != nil {
		return err
	}
	return t.Right.check(c)
}

func (t Not) check(c checker) error { return t.Test.check(c) }

func (t Comparison) check(c checker) error {
	if err := c.nested(t.Left, t.Right); err != nil {
		return err
	}
	if err := c.distinct(t.Operator.String(), t.Left, t.Right); err != nil {
		return err
	}
	if t.Operator == Equal || t.Operator == NotEqual {
		return nil
	}
	return c.ordered(t.Operator.String(), t.Left, t.Right)
}

func (t Between) check(c checker) error {
	if err := c.nested(t.Operand, t.Low, t.High); err != nil {
		return err
	}
	if err := c.ordered("BETWEEN", t.Operand, t.Low, t.High); err != nil {
		return err
	}
	low, lowFixed := fixedValue(t.Low, c.bindings)
	high, highFixed := fixedValue(t.High, c.bindings)
	if !lowFixed || !highFixed {
		return nil
	}
	order, sameKind := attribute.Compare(low, high)
	var problem string
	switch {
	case !sameKind:
		problem = "same data type for lower and upper bounds"
	case order > 0:
		problem = "upper bound to be greater than or equal to lower bound"
	default:
		return nil
	}
	return c.kind.invalid("The BETWEEN operator requires %s; lower bound operand: AttributeValue: {%s:%s}, "+
		"upper bound operand: AttributeValue: {%s:%s}", problem, low.Kind, scalarText(low), high.Kind, scalarText(high))
}

func scalarText(v attribute.Value) string {
	if v.Kind == attribute.B {
		return base64.StdEncoding.EncodeToString([]byte(v.Text))
	}
	return v.Text
}

func (t In) check(c checker) error {
	if err := c.nested(t.Operand); err != nil {
		return err
	}
	if err := c.nested(t.List...); err != nil {
		return err
	}
	if len(t.List) > maxInList {
		return c.kind.invalid("The IN operator is provided with too many operands; number of operands: %d", len(t.List))
	}
	return nil
}

func (t Exists) check(c checker) error {
	if err := c.nested(t.Operand); err != nil {
		return err
	}
	if _, is := t.Operand.(Path); !is {
		return c.kind.invalid("Operator or function requires a document path; operator or function: %s", t.name())
	}
	return nil
}

func (t Exists) name() string {
	if t.Not {
		return "attribute_not_exists"
	}
	return "attribute_exists"
}

func (t TypeIs) check(c checker) error {
	if err := c.nested(t.Operand, t.Type); err != nil {
		return err
	}
	if err := c.distinct("attribute_type", t.Operand, t.Type); err != nil {
		return err
	}
	kind := staticKind(t.Type, c.bindings)
	if kind == 0 {
		return c.kind.invalid(wrongType, "attribute_type", "{NS,SS,L,BS,N,M,B,BOOL,NULL,S}")
	}
	if kind != attribute.S {
		return c.kind.invalid(wrongType, "attribute_type", kind)
	}
	name, _ := fixedValue(t.Type, c.bindings)
	for kind := attribute.S; kind <= attribute.BS; kind++ {
		if name.Text == kind.String() {
			return nil
		}
	}
	return c.kind.invalid("Invalid attribute type name found; type: %s, valid types: {B,NULL,SS,BOOL,L,BS,N,NS,S,M}", name.Text)
}

func (t BeginsWith) check(c checker) error {
	if err := c.nested(t.Operand, t.Prefix); err != nil {
		return err
	}
	if err := c.distinct("begins_with", t.Operand, t.Prefix); err != nil {
		return err
	}
	for _, o := range []Operand{t.Operand, t.Prefix} {
		if kind := staticKind(o, c.bindings); kind != 0 && kind != attribute.S && kind != attribute.B {
			return c.kind.invalid(wrongType, "begins_with", kind)
		}
	}
	return nil
}

func (t Contains) check(c checker) error {
	if err := c.nested(t.Operand, t.Member); err != nil {
		return err
	}
	return c.distinct("contains", t.Operand, t.Member)
}

func (t malformed) check(checker) error { return t.err }
