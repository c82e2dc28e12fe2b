package partiql

import (
	"slices"

	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
	"github.com/dynajournal/dynajournal/embedded/internal/expression"
)

// Target returns the key of the item that an UPDATE, DELETE or Check names, and the condition on
// the item. An UPDATE and a Check require that the item exists and meets all further conditions. A
// DELETE also succeeds if the item does not exist. For a DELETE without further conditions, the
// condition is nil.
//
// The schema must be the schema of a table, with one HASH attribute and at most one RANGE
// attribute.
func (b *Bound) Target(schema expression.KeySchema) (attribute.Item, *expression.BoundCondition, error) {
	key := make(attribute.Item, 2)
	var rest []expression.Test
	for _, test := range conjuncts(b.where) {
		name, v, is := b.equality(test)
		_, taken := key[name]
		if is && !taken && (position(schema.Hash, name) >= 0 || position(schema.Range, name) >= 0) {
			key[name] = v
		} else {
			rest = append(rest, test)
		}
	}
	if len(key) < len(schema.Hash)+len(schema.Range) {
		return nil, nil, attribute.Invalid("Where clause does not contain a mandatory equality on all key attributes")
	}
	if b.Verb == Check && len(rest) == 0 {
		return nil, nil, attribute.Invalid("EXISTS() must contain a single item read with additional condition")
	}
	hash := expression.Path{expression.Member(schema.Hash[0].Name)}
	if b.Verb != Delete {
		return key, expression.NewCondition(all(expression.Exists{Operand: hash}, rest), b.values), nil
	}
	if len(rest) == 0 {
		return key, nil, nil
	}
	condition := expression.Or{Left: expression.Exists{Operand: hash, Not: true}, Right: all(rest[0], rest[1:])}
	return key, expression.NewCondition(condition, b.values), nil
}

// TestsExistence reports whether the condition tests whether attributes exist.
func (b *Bound) TestsExistence() bool {
	return slices.ContainsFunc(conjuncts(b.where), func(test expression.Test) bool {
		_, is := test.(expression.Exists)
		return is
	})
}

// all joins conditions by AND.
func all(first expression.Test, rest []expression.Test) expression.Test {
	for _, test := range rest {
		first = expression.And{Left: first, Right: test}
	}
	return first
}

// conjuncts returns the conditions that are joined by AND.
func conjuncts(test expression.Test) []expression.Test {
	switch t := test.(type) {
	case nil:
		return nil
	case expression.And:
		return append(conjuncts(t.Left), conjuncts(t.Right)...)
	}
	return []expression.Test{test}
}

// equality returns the attribute and the value if the condition is an equality of a top-level
// attribute with a value.
func (b *Bound) equality(test expression.Test) (string, attribute.Value, bool) {
	t, is := b.keyTest(test)
	return t.Attribute, t.Low, is && t.Operator == expression.RangeEqual
}

// keyTest converts a condition to a test of one top-level attribute that an index can evaluate. It
// returns false for other conditions.
func (b *Bound) keyTest(test expression.Test) (expression.KeyTest, bool) {
	switch t := test.(type) {
	case expression.Comparison:
		operators := [...]expression.RangeOperator{
			expression.Equal: expression.RangeEqual, expression.Less: expression.RangeLess, expression.LessOrEqual: expression.RangeLessOrEqual,
			expression.Greater: expression.RangeGreater, expression.GreaterOrEqual: expression.RangeGreaterOrEqual,
		}
		exchanged := [...]expression.Operator{
			expression.Equal: expression.Equal, expression.Less: expression.Greater, expression.LessOrEqual: expression.GreaterOrEqual,
			expression.Greater: expression.Less, expression.GreaterOrEqual: expression.LessOrEqual,
		}
		if t.Operator == expression.NotEqual {
			return expression.KeyTest{}, false
		}
		if _, is := t.Left.(expression.Path); is {
			return b.keyOperands(operators[t.Operator], t.Left, t.Right)
		}
		return b.keyOperands(operators[exchanged[t.Operator]], t.Right, t.Left)
	case expression.Between:
		return b.keyOperands(expression.RangeBetween, t.Operand, t.Low, t.High)
	case expression.BeginsWith:
		return b.keyOperands(expression.RangeBeginsWith, t.Operand, t.Prefix)
	}
	return expression.KeyTest{}, false
}

func (b *Bound) keyOperands(operator expression.RangeOperator, key expression.Operand, operands ...expression.Operand) (expression.KeyTest, bool) {
	path, is := key.(expression.Path)
	if !is || len(path) != 1 {
		return expression.KeyTest{}, false
	}
	test := expression.KeyTest{Attribute: path.Attribute(), Operator: operator}
	for i, o := range operands {
		v, is := b.fixed(o)
		switch {
		case !is:
			return expression.KeyTest{}, false
		case i == 0:
			test.Low = v
		default:
			test.High = v
		}
	}
	return test, true
}

// fixed returns the value of an operand, or false if the value depends on the item.
func (b *Bound) fixed(o expression.Operand) (attribute.Value, bool) {
	switch o := o.(type) {
	case expression.Literal:
		return o.Value, true
	case expression.Parameter:
		return b.values[o], true
	}
	return attribute.Value{}, false
}

// Selection describes the reads of a SELECT.
type Selection struct {
	// Keys are the parts of the table or index to read, in this order. If it is empty, the whole
	// table or index is read.
	Keys []expression.KeyCondition
	// Backward reads range keys in descending order.
	Backward bool
	// Filter is the whole condition, including the conditions on the keys, or nil without a
	// condition.
	Filter *expression.BoundCondition
}

// maxHashKeys is the maximum number of hash keys with several attributes that a SELECT reads. If a
// condition allows more, the SELECT reads the whole index: four IN conditions with 100 values each
// would be 100 million reads.
const maxHashKeys = 100

// Selection returns the reads of a table or index with the schema. It reads by hash keys if the
// condition has an equality or an IN for each of their attributes. Otherwise it reads the whole
// table or index.
func (b *Bound) Selection(schema expression.KeySchema) (Selection, error) {
	var s Selection
	if b.where != nil {
		s.Filter = expression.NewCondition(b.where, b.values)
	}
	if err := b.checkOverlap(schema); err != nil {
		return Selection{}, err
	}
	rangeTests := b.rangeTests(schema)
	for _, hash := range b.hashKeys(schema) {
		key, err := expression.NewKeyCondition(slices.Concat(hash, rangeTests), schema)
		if err != nil {
			return Selection{}, err
		}
		s.Keys = append(s.Keys, key)
	}
	return s, b.sort(&s, schema)
}

// rangeTests returns the conditions on RANGE attributes that select a range of an index: equalities
// for the first attributes, and then at most one other condition.
func (b *Bound) rangeTests(schema expression.KeySchema) []expression.KeyTest {
	var tests []expression.KeyTest
	for _, a := range schema.Range {
		var found *expression.KeyTest
		for _, test := range conjuncts(b.where) {
			if t, is := b.keyTest(test); is && found == nil && t.Attribute == a.Name && fits(t, a.Kind) {
				found = &t
			}
		}
		if found == nil {
			return tests
		}
		tests = append(tests, *found)
		if found.Operator != expression.RangeEqual {
			return tests
		}
	}
	return tests
}

// hashKeys returns the hash keys that the condition allows, each as the equalities of its
// attributes. It returns nil if the condition does not name hash keys, or names more than
// maxHashKeys.
func (b *Bound) hashKeys(schema expression.KeySchema) [][]expression.KeyTest {
	keys := [][]expression.KeyTest{nil}
	for _, a := range schema.Hash {
		var values []attribute.Value
		for _, test := range conjuncts(b.where) {
			if values == nil {
				values = b.hashes(test, a.Name)
			}
		}
		if len(schema.Hash) > 1 && len(keys)*len(values) > maxHashKeys {
			return nil
		}
		longer := make([][]expression.KeyTest, 0, len(keys)*len(values))
		for _, key := range keys {
			for _, v := range values {
				equal := expression.KeyTest{Attribute: a.Name, Operator: expression.RangeEqual, Low: v}
				longer = append(longer, append(slices.Clip(key), equal))
			}
		}
		keys = longer
	}
	return keys
}

// fits reports whether a condition on a range key of the type selects a range in the order of keys.
// It returns false for empty values, which no key has: the filter evaluates those conditions.
func fits(t expression.KeyTest, kind attribute.Kind) bool {
	if t.Low.Kind != kind || t.Low.Text == "" {
		return false
	}
	if t.Operator == expression.RangeBetween {
		order, same := attribute.Compare(t.Low, t.High)
		return same && order <= 0
	}
	return t.Operator != expression.RangeBeginsWith || kind != attribute.N
}

// hashes returns the values of a HASH attribute that a condition allows, without duplicates. The
// condition must be an equality, an IN, or such conditions joined by OR. Otherwise hashes returns
// nil.
func (b *Bound) hashes(test expression.Test, name string) []attribute.Value {
	switch t := test.(type) {
	case expression.Or:
		left, right := b.hashes(t.Left, name), b.hashes(t.Right, name)
		if left == nil || right == nil {
			return nil
		}
		return distinct(slices.Concat(left, right))
	case expression.In:
		path, is := t.Operand.(expression.Path)
		if !is || len(path) != 1 || path.Attribute() != name {
			return nil
		}
		return distinct(b.allFixed(t.List))
	}
	if attributeName, v, is := b.equality(test); is && attributeName == name {
		return []attribute.Value{v}
	}
	return nil
}

// allFixed returns the values of operands, or nil if one of them depends on the item.
func (b *Bound) allFixed(operands []expression.Operand) []attribute.Value {
	values := make([]attribute.Value, len(operands))
	for i, o := range operands {
		v, is := b.fixed(o)
		if !is {
			return nil
		}
		values[i] = v
	}
	return values
}

// distinct returns the values without duplicates, or nil if there are no values.
func distinct(values []attribute.Value) []attribute.Value {
	var found []attribute.Value
	for _, v := range values {
		if !slices.ContainsFunc(found, func(other attribute.Value) bool { return attribute.Equal(v, other) }) {
			found = append(found, v)
		}
	}
	return found
}

// sort applies the ORDER BY. RANGE attributes must be in the order of the schema and have one
// direction. Attributes for which the condition has an equality may be left out.
func (b *Bound) sort(s *Selection, schema expression.KeySchema) error {
	switch {
	case len(b.order) == 0:
		return nil
	case b.where == nil:
		return attribute.Invalid("Must have WHERE clause in the statement when using ORDER BY clause.")
	case len(s.Keys) == 0:
		return attribute.Invalid("Must have at least one non-optional hash key condition in WHERE clause when using ORDER BY clause.")
	}
	// The first sorted RANGE attributes are already in order. first is set until one attribute has
	// set the direction.
	sorted, first := equalRange(s.Keys[0]), true
	for _, order := range slices.Backward(b.order) {
		if at := position(schema.Hash, order.Attribute); at >= 0 {
			sortKeys(s.Keys, at, order.Descending)
		}
	}
	for _, order := range b.order {
		at := position(schema.Range, order.Attribute)
		switch {
		case position(schema.Hash, order.Attribute) >= 0:
		case at < 0 || at > sorted || at == sorted && !first && order.Descending != s.Backward:
			return attribute.Invalid("Variable reference %s in ORDER BY clause must be part of the primary key", order.Attribute)
		case at == sorted:
			s.Backward, first = order.Descending, false
			sorted++
		}
	}
	return nil
}

// equalRange returns the number of RANGE attributes, from the first one on, that have the same
// value in all items of the key.
func equalRange(key expression.KeyCondition) int {
	if key.Range == expression.RangeEqual {
		return len(key.Equal) + 1
	}
	return len(key.Equal)
}

// sortKeys sorts hash keys by one of their attributes. Keys with the same value keep their order.
func sortKeys(keys []expression.KeyCondition, at int, descending bool) {
	slices.SortStableFunc(keys, func(x, y expression.KeyCondition) int {
		order, _ := attribute.Compare(x.Hash[at], y.Hash[at])
		if descending {
			return -order
		}
		return order
	})
}
