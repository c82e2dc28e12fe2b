package expression

import (
	"slices"

	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
)

// maxListLength is the maximum number of elements of a list in an item of 400 KB. Each element
// takes at least two bytes.
const maxListLength = 200 << 10

var (
	errOperandType = attribute.Invalid("An operand in the update expression has an incorrect data type")
	errNoAttribute = attribute.Invalid("The provided expression refers to an attribute that does not exist in the item")
	errUpdateSize  = attribute.Invalid("Item size to update has exceeded the maximum allowed size")
)

// computed is an operand whose value can be missing for several reasons, which compute returns as
// errors.
type computed interface {
	compute(s scope) (attribute.Value, error)
}

// compute returns the value of an operand of an update, or the reason why the value is missing.
func compute(o Operand, s scope) (attribute.Value, error) {
	if c, is := o.(computed); is {
		return c.compute(s)
	}
	v, found := o.value(s)
	if !found {
		return attribute.Value{}, errNoAttribute
	}
	return v, nil
}

// both returns the values of two operands.
func both(left, right Operand, s scope) (attribute.Value, attribute.Value, error) {
	a, err := compute(left, s)
	if err != nil {
		return attribute.Value{}, attribute.Value{}, err
	}
	b, err := compute(right, s)
	return a, b, err
}

// Sum is the sum of two numbers, or their difference when Minus is set.
type Sum struct {
	Left, Right Operand
	Minus       bool
}

func (o Sum) compute(s scope) (attribute.Value, error) {
	left, right, err := both(o.Left, o.Right, s)
	if err != nil {
		return attribute.Value{}, err
	}
	return sum(left, right, o.Minus)
}

func sum(left, right attribute.Value, minus bool) (attribute.Value, error) {
	if left.Kind != attribute.N || right.Kind != attribute.N {
		return attribute.Value{}, errOperandType
	}
	add := attribute.AddNumbers
	if minus {
		add = attribute.SubtractNumbers
	}
	text, err := add(left.Text, right.Text)
	return attribute.Value{Kind: attribute.N, Text: text}, err
}

// IfNotExists is the value at Path, or the value of Default if there is no value at Path.
type IfNotExists struct{ Path, Default Operand }

func (o IfNotExists) compute(s scope) (attribute.Value, error) {
	if v, found := o.Path.value(s); found {
		return v, nil
	}
	return compute(o.Default, s)
}

// ListAppend is the concatenation of two lists.
type ListAppend struct{ Left, Right Operand }

func (o ListAppend) compute(s scope) (attribute.Value, error) {
	left, right, err := both(o.Left, o.Right, s)
	if err != nil {
		return attribute.Value{}, err
	}
	return appendLists(left, right)
}

func appendLists(left, right attribute.Value) (attribute.Value, error) {
	if left.Kind != attribute.L || right.Kind != attribute.L {
		return attribute.Value{}, errOperandType
	}
	if len(left.List)+len(right.List) > maxListLength {
		return attribute.Value{}, errUpdateSize
	}
	return attribute.List(slices.Concat(left.List, right.List)...), nil
}

func union(left, right attribute.Value) attribute.Value {
	both := attribute.Value{Kind: left.Kind, Set: slices.Concat(left.Set, difference(right, left).Set)}
	both.SortMembers()
	return both
}

func difference(left, right attribute.Value) attribute.Value {
	without := make(map[string]struct{}, len(right.Set))
	for _, member := range right.Set {
		without[member] = struct{}{}
	}
	rest := attribute.Value{Kind: left.Kind}
	for _, member := range left.Set {
		if _, gone := without[member]; !gone {
			rest.Set = append(rest.Set, member)
		}
	}
	return rest
}

func (o Sum) value(s scope) (attribute.Value, bool)         { return computedValue(o, s) }
func (o IfNotExists) value(s scope) (attribute.Value, bool) { return computedValue(o, s) }
func (o ListAppend) value(s scope) (attribute.Value, bool)  { return computedValue(o, s) }

func computedValue(o computed, s scope) (attribute.Value, bool) {
	v, err := o.compute(s)
	return v, err == nil
}

// checkUpdate returns the error of the first invalid operand of an update.
func (c checker) checkUpdate(o Operand) error {
	switch o := o.(type) {
	case malformed:
		return o.err
	case Sum:
		operator := "+"
		if o.Minus {
			operator = "-"
		}
		return c.checkOperands(operator, attribute.N, o.Left, o.Right)
	case ListAppend:
		for _, operand := range []Operand{o.Left, o.Right} {
			if _, nested := operand.(ListAppend); nested {
				return c.kind.invalid("The function is not allowed to be used this way in an expression; function: list_append")
			}
		}
		return c.checkOperands("list_append", attribute.L, o.Left, o.Right)
	case IfNotExists:
		if _, is := o.Path.(Path); !is {
			return c.kind.invalid("Operator or function requires a document path; operator or function: if_not_exists")
		}
		return c.checkUpdate(o.Default)
	}
	return nil
}

func (c checker) checkOperands(operator string, kind attribute.Kind, operands ...Operand) error {
	for _, o := range operands {
		if err := c.checkUpdate(o); err != nil {
			return err
		}
		static := staticKind(o, c.bindings)
		switch o.(type) {
		case Sum:
			static = attribute.N
		case ListAppend:
			static = attribute.L
		}
		if static != 0 && static != kind {
			return c.kind.invalid(wrongType, operator, static)
		}
	}
	return nil
}
