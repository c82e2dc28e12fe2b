package expression

import (
	"slices"
	"strings"

	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
)

// KeyAttribute is a key attribute and its type.
type KeyAttribute struct {
	Name string
	Kind attribute.Kind
}

// KeySchema has the key attributes of a table or index: at least one HASH attribute, and the RANGE
// attributes in the order in which they sort the items of a hash key.
type KeySchema struct {
	Hash, Range []KeyAttribute
}

// multiple reports whether the schema has a key with several attributes.
func (s KeySchema) multiple() bool { return len(s.Hash) > 1 || len(s.Range) > 1 }

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

// KeyCondition selects the items of one hash key whose first RANGE attributes are equal to Equal,
// and whose next RANGE attribute satisfies Range. Range compares with Low. RangeBetween is Low ≤
// key ≤ High.
type KeyCondition struct {
	Hash, Equal []attribute.Value
	Range       RangeOperator
	Low, High   attribute.Value
}

// KeyTest is a condition on one key attribute.
type KeyTest struct {
	Attribute string
	Operator  RangeOperator
	Low, High attribute.Value
}

// KeyTests returns the conditions on single attributes in a KeyConditionExpression.
func (c *BoundCondition) KeyTests() ([]KeyTest, error) {
	var tests []KeyTest
	err := c.keyTests(c.test, &tests)
	return tests, err
}

// KeyOf returns the selection for the conditions of a KeyConditionExpression.
func KeyOf(tests []KeyTest, schema KeySchema) (KeyCondition, error) {
	if len(tests) > max(2, schema.size()) {
		return KeyCondition{}, tooManyTests(tests, schema)
	}
	return NewKeyCondition(tests, schema)
}

func (s KeySchema) size() int { return len(s.Hash) + len(s.Range) }

func tooManyTests(tests []KeyTest, schema KeySchema) error {
	return attribute.Invalid("The number of query conditions (%d) exceeds the number of key attributes "+
		"defined in the schema (%d)", len(tests), schema.size())
}

// NewKeyCondition checks conditions on single attributes against the schema and combines them. Each
// HASH attribute must have an equality. RANGE attributes must have equalities from the first one
// on, except that the last RANGE attribute with a condition may have another condition.
func NewKeyCondition(tests []KeyTest, schema KeySchema) (KeyCondition, error) {
	switch {
	case len(tests) == 0, len(tests) > 2 && !schema.multiple():
		return KeyCondition{}, attribute.Invalid("Conditions can be of length 1 or 2 only")
	case len(tests) > schema.size() && schema.multiple():
		return KeyCondition{}, tooManyTests(tests, schema)
	}
	if slices.ContainsFunc(tests, func(t KeyTest) bool { return t.Operator == NoRange }) {
		return KeyCondition{}, attribute.Invalid("Attempted conditional constraint is not an indexable operation")
	}
	hash, ranges := testsOf(schema.Hash, tests), testsOf(schema.Range, tests)
	if err := schema.checkHash(hash); err != nil {
		return KeyCondition{}, err
	}
	if err := schema.checkRange(ranges, len(tests)-len(hash)); err != nil {
		return KeyCondition{}, err
	}
	key := KeyCondition{Hash: make([]attribute.Value, len(hash))}
	for i, t := range hash {
		if err := t.checkKind(schema.Hash[i].Kind); err != nil {
			return KeyCondition{}, err
		}
		key.Hash[i] = t.Low
	}
	for i, t := range ranges {
		if t == nil {
			break
		}
		if err := t.checkKind(schema.Range[i].Kind); err != nil {
			return KeyCondition{}, err
		}
		if key.Range == RangeEqual {
			key.Equal = append(key.Equal, key.Low)
		}
		key.Range, key.Low, key.High = t.Operator, t.Low, t.High
	}
	return key, nil
}

// testsOf returns the condition of each attribute, or nil for an attribute without a condition.
func testsOf(attributes []KeyAttribute, tests []KeyTest) []*KeyTest {
	found := make([]*KeyTest, len(attributes))
	for i, a := range attributes {
		for j := range tests {
			if tests[j].Attribute == a.Name {
				found[i] = &tests[j]
			}
		}
	}
	return found
}

// checkHash checks that there is an equality for each HASH attribute.
func (s KeySchema) checkHash(tests []*KeyTest) error {
	unequal := unequalNames(s.Hash, tests)
	switch {
	case len(unequal) == 0:
		return nil
	case s.multiple():
		return attribute.Invalid("HASH key attributes %s must have equality conditions specified in the query",
			strings.Join(unequal, ", "))
	case tests[0] == nil:
		return missedKey(s.Hash[0])
	}
	return unsupportedKey()
}

// checkRange checks that all conditions except the ones on HASH attributes are on RANGE attributes,
// and that all but the last are equalities. conditions is their number.
func (s KeySchema) checkRange(tests []*KeyTest, conditions int) error {
	for _, t := range tests {
		if t != nil {
			conditions--
		}
	}
	if conditions > 0 {
		if free := slices.Index(tests, nil); free >= 0 {
			return missedKey(s.Range[free])
		}
		return unsupportedKey()
	}
	for i, t := range tests {
		if unequal := unequalNames(s.Range[:i], tests[:i]); t != nil && len(unequal) > 0 {
			return attribute.Invalid("RANGE key attributes %s must have equality conditions specified in the query because "+
				"a condition is present on key attribute %s", strings.Join(unequal, ", "), t.Attribute)
		}
	}
	return nil
}

// unequalNames returns the attributes whose conditions are not equalities.
func unequalNames(attributes []KeyAttribute, tests []*KeyTest) []string {
	var names []string
	for i, t := range tests {
		if t == nil || t.Operator != RangeEqual {
			names = append(names, attributes[i].Name)
		}
	}
	return names
}

func missedKey(missed KeyAttribute) error {
	return attribute.Invalid("Query condition missed key schema element: %s", missed.Name)
}

func unsupportedKey() error { return attribute.Invalid("Query key condition not supported") }

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
		return unsupportedKey()
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
	operators := map[Operator][2]RangeOperator{ // as written, and with exchanged operands
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

// keyOperands returns the condition of an operation on a key attribute and values. function names
// an operation whose first operand must be the attribute; otherwise it is empty.
func (c *BoundCondition) keyOperands(function string, operator RangeOperator, key Operand, values ...Operand) (KeyTest, error) {
	const condition = "Invalid condition in KeyConditionExpression: "
	const operations = "KeyConditionExpressions cannot contain nested operations"
	path, is := key.(Path)
	_, isSize := key.(Size)
	switch {
	case isSize:
		return KeyTest{}, attribute.Invalid(operations)
	case !is && function != "":
		return KeyTest{}, attribute.Invalid(condition+"%s operator must have the key attribute as its first operand", function)
	case !is:
		return KeyTest{}, attribute.Invalid(condition + "No key attribute specified")
	case len(path) > 1:
		return KeyTest{}, KeyConditionExpression.invalid("KeyConditionExpressions cannot have conditions on nested attributes")
	}
	test := KeyTest{Attribute: path[0].memberName(c.bindings), Operator: operator}
	for i, o := range values {
		v, is := fixedValue(o, c.bindings)
		if _, isSize := o.(Size); isSize {
			return KeyTest{}, attribute.Invalid(operations)
		}
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
