package expression

import (
	"slices"
	"strconv"
	"strings"

	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
)

func count(n int) attribute.Value {
	return attribute.Value{Kind: attribute.N, Text: strconv.Itoa(n)}
}

// Test is the syntax tree of a condition: And, Or, Not, Comparison, Between, In, Exists, TypeIs,
// BeginsWith, Contains.
type Test interface {
	matches(s scope) bool
	// check returns the error of the first invalid operand. Names and values must be bound.
	check(c checker) error
	// operands calls visit with each operand, from left to right.
	operands(visit func(Operand))
}

// Operator compares two values.
type Operator uint8

// The comparison operators.
const (
	Equal Operator = iota + 1
	NotEqual
	Less
	LessOrEqual
	Greater
	GreaterOrEqual
)

// String returns the operator as written in expressions.
func (o Operator) String() string {
	names := [...]string{"", "=", "<>", "<", "<=", ">", ">="}
	if int(o) >= len(names) {
		return ""
	}
	return names[o]
}

// And is true if both tests are true.
type And struct{ Left, Right Test }

func (t And) matches(s scope) bool { return t.Left.matches(s) && t.Right.matches(s) }

// Or is true if at least one test is true.
type Or struct{ Left, Right Test }

func (t Or) matches(s scope) bool { return t.Left.matches(s) || t.Right.matches(s) }

// Not is true if the test is false.
type Not struct{ Test Test }

func (t Not) matches(s scope) bool { return !t.Test.matches(s) }

// Comparison compares two operands. Values of different types, and values of types without an
// order, are neither less nor greater. A missing value is unequal to everything.
type Comparison struct {
	Operator    Operator
	Left, Right Operand
}

func (t Comparison) matches(s scope) bool {
	left, leftFound := t.Left.value(s)
	right, rightFound := t.Right.value(s)
	if !leftFound || !rightFound {
		return t.Operator == NotEqual
	}
	return t.Operator.matches(left, right)
}

func (o Operator) matches(left, right attribute.Value) bool {
	switch o {
	case Equal:
		return attribute.Equal(left, right)
	case NotEqual:
		return !attribute.Equal(left, right)
	case Less, LessOrEqual, Greater, GreaterOrEqual:
	}
	order, ordered := attribute.Compare(left, right)
	if !ordered {
		return false
	}
	switch o {
	case Less:
		return order < 0
	case LessOrEqual:
		return order <= 0
	case Greater:
		return order > 0
	case GreaterOrEqual:
		return order >= 0
	case Equal, NotEqual:
	}
	return false
}

// Between is true if Low ≤ Operand ≤ High.
type Between struct{ Operand, Low, High Operand }

func (t Between) matches(s scope) bool {
	v, found := t.Operand.value(s)
	low, lowFound := t.Low.value(s)
	high, highFound := t.High.value(s)
	return found && lowFound && highFound && GreaterOrEqual.matches(v, low) && LessOrEqual.matches(v, high)
}

// In is true if the operand equals a member of the list.
type In struct {
	Operand Operand
	List    []Operand
}

func (t In) matches(s scope) bool {
	v, found := t.Operand.value(s)
	if !found {
		return false
	}
	for _, candidate := range t.List {
		if other, found := candidate.value(s); found && attribute.Equal(v, other) {
			return true
		}
	}
	return false
}

// Exists is true if there is a value at the path Operand. With Not, it is true if there is no value
// there.
type Exists struct {
	Operand Operand
	Not     bool
}

func (t Exists) matches(s scope) bool {
	_, found := t.Operand.value(s)
	return found != t.Not
}

// TypeIs is true if the first operand has the type that the second one names.
type TypeIs struct{ Operand, Type Operand }

func (t TypeIs) matches(s scope) bool {
	v, found := t.Operand.value(s)
	name, _ := t.Type.value(s)
	return found && v.Kind.String() == name.Text
}

// BeginsWith is true if both operands are strings, or binaries, and the first begins with the
// second.
type BeginsWith struct{ Operand, Prefix Operand }

func (t BeginsWith) matches(s scope) bool {
	v, found := t.Operand.value(s)
	prefix, prefixFound := t.Prefix.value(s)
	return found && prefixFound && v.Kind == prefix.Kind && (v.Kind == attribute.S || v.Kind == attribute.B) &&
		strings.HasPrefix(v.Text, prefix.Text)
}

// Contains is true if the first operand is a string or binary that contains the second operand, or
// a set or list that has the second operand as a member.
type Contains struct{ Operand, Member Operand }

func (t Contains) matches(s scope) bool {
	v, found := t.Operand.value(s)
	member, memberFound := t.Member.value(s)
	return found && memberFound && contains(v, member)
}

func contains(v, member attribute.Value) bool {
	switch v.Kind {
	case attribute.S, attribute.B:
		return member.Kind == v.Kind && strings.Contains(v.Text, member.Text)
	case attribute.SS, attribute.NS, attribute.BS:
		return member.Kind == memberKind(v.Kind) && setContains(v.Set, member.Text)
	case attribute.L:
		for _, element := range v.List {
			if attribute.Equal(element, member) {
				return true
			}
		}
	case attribute.N, attribute.BOOL, attribute.NULL, attribute.M:
	}
	return false
}

// memberKind returns the type of a set's members.
func memberKind(set attribute.Kind) attribute.Kind {
	switch set {
	case attribute.SS:
		return attribute.S
	case attribute.NS:
		return attribute.N
	case attribute.BS:
		return attribute.B
	case attribute.S, attribute.N, attribute.B, attribute.BOOL, attribute.NULL, attribute.M, attribute.L:
	}
	return 0
}

func setContains(set []string, member string) bool {
	return slices.Contains(set, member)
}

// malformed is a call with invalid operands. Its error is reported after undefined names and
// values.
type malformed struct {
	arguments []Operand
	err       error
}

func (t malformed) matches(scope) bool                     { return false }
func (t malformed) value(scope) (attribute.Value, bool)    { return attribute.Value{}, false }
func (t malformed) compute(scope) (attribute.Value, error) { return attribute.Value{}, t.err } //nolint:unparam // an interface

// Condition is a parsed condition, filter or key condition. It is immutable.
type Condition struct {
	kind         Kind
	test         Test
	placeholders []string
}

// BoundCondition is a condition with its names and values.
type BoundCondition struct {
	test     Test
	bindings []binding
}

// Bind resolves names and values and checks the operands.
func (c *Condition) Bind(p *Parameters) (*BoundCondition, error) {
	bindings, err := p.bind(c.kind, c.placeholders)
	if err != nil {
		return nil, c.earlierProblem(p, err)
	}
	if err := c.test.check(checker{kind: c.kind, bindings: bindings}); err != nil {
		return nil, err
	}
	return &BoundCondition{test: c.test, bindings: bindings}, nil
}

// earlierProblem returns the first error in a key condition before the undefined placeholder.
// Otherwise it returns undefined, the error of the placeholder. DynamoDB checks the conditions
// joined by AND one by one.
func (c *Condition) earlierProblem(p *Parameters, undefined error) error {
	if c.kind != KeyConditionExpression {
		return undefined
	}
	bindings := make([]binding, len(c.placeholders))
	defined := make([]bool, len(c.placeholders))
	for i, placeholder := range c.placeholders {
		if placeholder[0] == '#' {
			bindings[i].name, defined[i] = p.names[placeholder]
		} else {
			bindings[i].value, defined[i] = p.values[placeholder]
		}
	}
	check := checker{kind: c.kind, bindings: bindings}
	for _, test := range conjuncts(c.test) {
		complete := true
		test.operands(func(o Operand) { complete = complete && isDefined(o, defined) })
		if !complete {
			return undefined
		}
		if err := test.check(check); err != nil {
			return err
		}
	}
	return undefined
}

func conjuncts(test Test) []Test {
	if and, is := test.(And); is {
		return append(conjuncts(and.Left), conjuncts(and.Right)...)
	}
	return []Test{test}
}

// isDefined reports whether all placeholders of an operand are defined.
func isDefined(o Operand, defined []bool) bool {
	switch o := o.(type) {
	case Parameter:
		return defined[o]
	case Size:
		return isDefined(o.Of, defined)
	case Path:
		for _, step := range o {
			if step.kind == placeholderStep && !defined[step.index] {
				return false
			}
		}
	}
	return true
}

// NewCondition returns a condition for a tree that was not parsed by this package. The tree must
// not have placeholders of names. values[n] is the value of Parameter(n). Operands are not checked.
func NewCondition(test Test, values []attribute.Value) *BoundCondition {
	return &BoundCondition{test: test, bindings: positional(values)}
}

func positional(values []attribute.Value) []binding {
	bindings := make([]binding, len(values))
	for i, v := range values {
		bindings[i].value = v
	}
	return bindings
}

// Eval reports whether the condition is true for the item. A nil item has no attributes.
func (c *BoundCondition) Eval(item attribute.Item) bool {
	return c.test.matches(scope{bindings: c.bindings, item: item})
}

// Reads reports whether the condition reads the top-level attribute.
func (c *BoundCondition) Reads(name string) bool { return setContains(c.Attributes(), name) }

// Attributes returns the top-level attributes that the condition reads, in the order of their first
// use.
func (c *BoundCondition) Attributes() []string {
	var names []string
	c.test.operands(func(o Operand) {
		if size, is := o.(Size); is {
			o = size.Of
		}
		if path, is := o.(Path); is {
			if name := path[0].memberName(c.bindings); !setContains(names, name) {
				names = append(names, name)
			}
		}
	})
	return names
}
