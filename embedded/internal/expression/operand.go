package expression

import (
	"unicode/utf16"
	"unicode/utf8"

	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
)

// Operand is what conditions and updates compute with: a Path, Literal, Parameter, Size, or one of
// the operands that only updates have.
type Operand interface {
	// value is the operand's value for an item, if it has one.
	value(s scope) (attribute.Value, bool)
}

// scope is what an expression is evaluated in.
type scope struct {
	bindings []binding
	item     attribute.Item
}

// binding is what a placeholder stands for: a name or a value.
type binding struct {
	name  string
	value attribute.Value
}

// Literal is a value that the expression itself holds.
type Literal struct{ Value attribute.Value }

func (l Literal) value(scope) (attribute.Value, bool) { return l.Value, true }

// Parameter is a value bound later: the number of its slot.
type Parameter int

func (p Parameter) value(s scope) (attribute.Value, bool) { return s.bindings[p].value, true }

// Size is the size of a value: of a text its length, of a binary its bytes, of the others but
// numbers, booleans and null, which have none, their members.
type Size struct{ Of Operand }

func (o Size) value(s scope) (attribute.Value, bool) {
	v, found := o.Of.value(s)
	if !found {
		return attribute.Value{}, false
	}
	size := 0
	switch v.Kind {
	case attribute.S:
		size = utf16Length(v.Text)
	case attribute.B:
		size = len(v.Text)
	case attribute.SS, attribute.NS, attribute.BS:
		size = len(v.Set)
	case attribute.L:
		size = len(v.List)
	case attribute.M:
		size = len(v.Map)
	case attribute.N, attribute.BOOL, attribute.NULL:
		return attribute.Value{}, false
	}
	return count(size), true
}

// utf16Length returns the length of a text in UTF-16 code units.
func utf16Length(text string) int {
	length := utf8.RuneCountInString(text)
	if length == len(text) {
		return length
	}
	length = 0
	for _, r := range text {
		length += utf16.RuneLen(r)
	}
	return length
}

// staticKind returns the type an operand has whatever the item, 0 if that decides.
func staticKind(o Operand, bindings []binding) attribute.Kind {
	switch o := o.(type) {
	case Literal:
		return o.Value.Kind
	case Parameter:
		return bindings[o].value.Kind
	case Size:
		return attribute.N
	}
	return 0
}

// fixedValue returns the value an operand has whatever the item.
func fixedValue(o Operand, bindings []binding) (attribute.Value, bool) {
	switch o.(type) {
	case Literal, Parameter:
		return o.value(scope{bindings: bindings})
	}
	return attribute.Value{}, false
}
