package expression

import (
	"slices"

	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
)

// KeySchema has the key attributes of a table or index and their types. Range is empty if there is
// no range key.
type KeySchema struct {
	Hash, Range         string
	HashKind, RangeKind attribute.Kind
}

// RangeOperator selects range keys.
type RangeOperator uint8

// The operators of conditions on range keys.
const (
	AnyRange RangeOperator = iota
	RangeEqual
	RangeLess
	RangeLessOrEqual
	RangeGreater
	RangeGreaterOrEqual
	RangeBetween
	RangeBeginsWith
	// NoRange is an operator that can't select keys.
	NoRange
)

// KeyCondition selects the items of one hash key whose range key satisfies Range: compared with
// Low; or, for RangeBetween, Low ≤ key ≤ High.
type KeyCondition struct {
	Hash      attribute.Value
	Range     RangeOperator
	Low, High attribute.Value
}

// KeyTest is a condition on one key attribute.
type KeyTest struct {
	Attribute string
	Operator  RangeOperator
	Low, High attribute.Value
}

// KeyTests returns the conditions on single attributes of a KeyConditionExpression.
func (c *BoundCondition) KeyTests() ([]KeyTest, error) {
	var tests []KeyTest
	err := c.keyTests(c.test, &tests)
	return tests, err
}

// KeyOf returns the selection of a KeyConditionExpression with the conditions.
func KeyOf(tests []KeyTest, schema KeySchema) (KeyCondition, error) {
	attributes := 1
	if schema.Range != "" {
		attributes = 2
	}
	if len(tests) > 2 {
		return KeyCondition{}, attribute.Invalid("The number of query conditions (%d) exceeds the number of key attributes "+
			"defined in the schema (%d)", len(tests), attributes)
	}
	return NewKeyCondition(tests, schema)
}

// NewKeyCondition checks conditions on single attributes against the schema and combines them.
func NewKeyCondition(tests []KeyTest, schema KeySchema) (KeyCondition, error) {
	if len(tests) == 0 || len(tests) > 2 {
		return KeyCondition{}, attribute.Invalid("Conditions can be of length 1 or 2 only")
	}
	if slices.ContainsFunc(tests, func(t KeyTest) bool { return t.Operator == NoRange }) {
		return KeyCondition{}, attribute.Invalid("Attempted conditional constraint is not an indexable operation")
	}
	var hash, rng *KeyTest
	for i := range tests {
		switch tests[i].Attribute {
		case schema.Hash:
			hash = &tests[i]
		case schema.Range:
			rng = &tests[i]
		}
	}
	switch {
	case hash == nil:
		return KeyCondition{}, attribute.Invalid("Query condition missed key schema element: %s", schema.Hash)
	case len(tests) > 1 && schema.Range == "", hash.Operator != RangeEqual:
		return KeyCondition{}, attribute.Invalid("Query key condition not supported")
	case len(tests) > 1 && rng == nil:
		return KeyCondition{}, attribute.Invalid("Query condition missed key schema element: %s", schema.Range)
	}
	if err := hash.checkKind(schema.HashKind); err != nil {
		return KeyCondition{}, err
	}
	key := KeyCondition{Hash: hash.Low}
	if rng != nil {
		if err := rng.checkKind(schema.RangeKind); err != nil {
			return KeyCondition{}, err
		}
		key.Range, key.Low, key.High = rng.Operator, rng.Low, rng.High
	}
	return key, nil
}

func (t KeyTest) checkKind(kind attribute.Kind) error {
	if t.Low.Kind != kind || t.Operator == RangeBetween && t.High.Kind != kind {
		return attribute.Invalid("One or more parameter values were invalid: Condition parameter type does not match schema type")
	}
	if t.Operator == RangeBeginsWith && kind == attribute.N {
		return attribute.Invalid("Invalid KeyConditionExpression: "+wrongType, "begins_with", kind)
	}
	empty := t.Low.Text == "" || t.Operator == RangeBetween && t.High.Text == ""
	if empty && t.Operator != RangeBeginsWith {
		name := "string"
		if kind == attribute.B {
			name = "binary"
		}
		return attribute.Invalid("One or more parameter values are not valid. The AttributeValue for a key attribute cannot "+
			"contain an empty %s value. Key: %s", name, t.Attribute)
	}
	return nil
}

// keyTests collects the conditions joined by AND.
func (c *BoundCondition) keyTests(test Test, tests *[]KeyTest) error {
	var found KeyTest
	var err error
	switch t := test.(type) {
	case And:
		if err := c.keyTests(t.Left, tests); err != nil {
			return err
		}
		return c.keyTests(t.Right, tests)
	case Or:
		return badKeyOperator("OR")
	case Not:
		return badKeyOperator("NOT")
	case In:
		return badKeyOperator("IN")
	case Exists:
		return badKeyOperator(t.name())
	case TypeIs:
		return badKeyOperator("attribute_type")
	case Contains:
		return badKeyOperator("contains")
	case Comparison:
		found, err = c.keyComparison(t)
	case Between:
		found, err = c.keyOperands("BETWEEN", RangeBetween, t.Operand, t.Low, t.High)
	case BeginsWith:
		found, err = c.keyOperands("begins_with", RangeBeginsWith, t.Operand, t.Prefix)
	default:
		return attribute.Invalid("Query key condition not supported")
	}
	if err != nil {
		return err
	}
	for _, other := range *tests {
		if other.Attribute == found.Attribute {
			return KeyConditionExpression.invalid("KeyConditionExpressions must only contain one condition per key")
		}
	}
	*tests = append(*tests, found)
	return nil
}

func badKeyOperator(operator string) error {
	return attribute.Invalid("Invalid operator used in KeyConditionExpression: %s", operator)
}

func (c *BoundCondition) keyComparison(t Comparison) (KeyTest, error) {
	operators := map[Operator][2]RangeOperator{ // as written, and with its operands exchanged
		Equal:          {RangeEqual, RangeEqual},
		Less:           {RangeLess, RangeGreater},
		LessOrEqual:    {RangeLessOrEqual, RangeGreaterOrEqual},
		Greater:        {RangeGreater, RangeLess},
		GreaterOrEqual: {RangeGreaterOrEqual, RangeLessOrEqual},
	}
	operator, known := operators[t.Operator]
	if !known {
		return KeyTest{}, badKeyOperator(t.Operator.String())
	}
	if _, is := fixedValue(t.Left, c.bindings); is {
		return c.keyOperands("", operator[1], t.Right, t.Left)
	}
	return c.keyOperands("", operator[0], t.Left, t.Right)
}

// keyOperands adds the condition of an operation on a key attribute and values. function is the
// name of an operation that must have the attribute first.
func (c *BoundCondition) keyOperands(function string, operator RangeOperator, key Operand, values ...Operand) (KeyTest, error) {
	const condition = "Invalid condition in KeyConditionExpression: "
	for _, o := range append([]Operand{key}, values...) {
		switch o := o.(type) {
		case Size:
			return KeyTest{}, attribute.Invalid("KeyConditionExpressions cannot contain nested operations")
		case Path:
			if len(o) > 1 {
				return KeyTest{}, attribute.Invalid("KeyConditionExpressions cannot have conditions on nested attributes")
			}
		}
	}
	path, is := key.(Path)
	switch {
	case !is && function != "":
		return KeyTest{}, attribute.Invalid(condition+"%s operator must have the key attribute as its first operand", function)
	case !is:
		return KeyTest{}, attribute.Invalid(condition + "No key attribute specified")
	}
	test := KeyTest{Attribute: path[0].memberName(c.bindings), Operator: operator}
	for i, o := range values {
		v, is := fixedValue(o, c.bindings)
		if !is {
			return KeyTest{}, attribute.Invalid(condition + "Multiple attribute names used in one condition")
		}
		if i == 0 {
			test.Low = v
		} else {
			test.High = v
		}
	}
	return test, nil
}
