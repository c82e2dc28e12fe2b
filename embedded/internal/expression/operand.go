package expression

import (
	"unicode/utf16"
	"unicode/utf8"

	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
)

// Operand is an operand of a condition or update: a Path, Literal, Parameter, Size, or an operand
// of updates only.
type Operand interface {
	// value returns the operand's value for an item, if it has one.
	value(s scope) (attribute.Value, bool)
}

// scope has the item and the bindings for an evaluation.
type scope struct {
	bindings []binding
	item     attribute.Item
}

// binding is the name or value of a placeholder.
type binding struct {
	name  string
	value attribute.Value
}

// Literal is a value within the expression.
type Literal struct{ Value attribute.Value }

func (l Literal) value(scope) (attribute.Value, bool) { return l.Value, true }

// Parameter is the number of a value that is bound later.
type Parameter int

func (p Parameter) value(s scope) (attribute.Value, bool) { return s.bindings[p].value, true }

// Size is the size of a value: the length of a string, the number of bytes of a binary, or the
// number of members. Numbers, booleans and null do not have a size.
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

// staticKind returns the type that an operand has for every item, or 0 if the type depends on the
// item.
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

// fixedValue returns the value of an operand, or false if the value depends on the item.
func fixedValue(o Operand, bindings []binding) (attribute.Value, bool) {
	switch o.(type) {
	case Literal, Parameter:
		return o.value(scope{bindings: bindings})
	}
	return attribute.Value{}, false
}
