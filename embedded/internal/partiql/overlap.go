package partiql

import (
	"slices"

	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
	"github.com/dynajournal/dynajournal/embedded/internal/expression"
)

// branch is a part of a condition that is joined to other parts by OR, and reads the items of one
// hash key. tests has the condition of each RANGE attribute, or nil for an attribute without a
// condition.
type branch struct {
	hash  []attribute.Value
	tests []*expression.KeyTest
}

// checkOverlap refuses a SELECT with two branches that read the same items. Branches that exclude
// range keys are not checked.
func (b *Bound) checkOverlap(schema expression.KeySchema) error {
	or, is := b.where.(expression.Or)
	if !is || len(schema.Range) == 0 {
		return nil
	}
	var branches []branch
	for _, test := range disjuncts(or) {
		found, excludes := b.branch(test, schema)
		if found == nil || excludes {
			continue
		}
		for _, other := range branches {
			if slices.EqualFunc(other.hash, found.hash, attribute.Equal) && other.overlaps(*found) {
				return attribute.Invalid("Overlapping conditions with range keys are not supported in where clause")
			}
		}
		branches = append(branches, *found)
	}
	return nil
}

// disjuncts returns the conditions that are joined by OR.
func disjuncts(test expression.Test) []expression.Test {
	if or, is := test.(expression.Or); is {
		return append(disjuncts(or.Left), disjuncts(or.Right)...)
	}
	return []expression.Test{test}
}

// branch converts a condition to a branch. It returns nil if the condition does not name a hash
// key. It also reports whether the condition excludes range keys.
func (b *Bound) branch(test expression.Test, schema expression.KeySchema) (*branch, bool) {
	found := branch{
		hash:  make([]attribute.Value, len(schema.Hash)),
		tests: make([]*expression.KeyTest, len(schema.Range)),
	}
	excludes := false
	for _, part := range conjuncts(test) {
		t, is := b.keyTest(part)
		hash, rng := position(schema.Hash, t.Attribute), position(schema.Range, t.Attribute)
		switch {
		case is && hash >= 0 && t.Operator == expression.RangeEqual:
			found.hash[hash] = t.Low
		case is && rng >= 0 && found.tests[rng] == nil && fits(t, schema.Range[rng].Kind):
			found.tests[rng] = &t
		default:
			excludes = excludes || b.excludes(part, schema.Range)
		}
	}
	if slices.ContainsFunc(found.hash, func(v attribute.Value) bool { return v.Kind == 0 }) {
		return nil, false
	}
	return &found, excludes
}

// position returns the position of the attribute with the name, or -1.
func position(attributes []expression.KeyAttribute, name string) int {
	return slices.IndexFunc(attributes, func(a expression.KeyAttribute) bool { return a.Name == name })
}

// excludes reports whether a condition excludes values of one of the attributes.
func (b *Bound) excludes(test expression.Test, attributes []expression.KeyAttribute) bool {
	switch t := test.(type) {
	case expression.Not:
		test = t.Test
	case expression.Comparison:
		if t.Operator != expression.NotEqual {
			return false
		}
	default:
		return false
	}
	condition := expression.NewCondition(test, b.values)
	return slices.ContainsFunc(attributes, func(a expression.KeyAttribute) bool { return condition.Reads(a.Name) })
}

// overlaps reports whether a range key can satisfy the tests of both branches.
func (x branch) overlaps(y branch) bool {
	for i, test := range x.tests {
		if test == nil || y.tests[i] == nil {
			continue
		}
		lowX, highX := bounds(*test)
		lowY, highY := bounds(*y.tests[i])
		if before(highX, lowY) || before(highY, lowX) {
			return false
		}
	}
	return true
}

// bound is an end of a range of values. If value is nil, the range has no end. If beside is set,
// the range does not include value.
type bound struct {
	value  *attribute.Value
	beside bool
}

// bounds returns the ends of the range of keys that satisfy a test. A prefix counts as a single
// key.
func bounds(t expression.KeyTest) (low, high bound) {
	at := bound{value: &t.Low}
	switch t.Operator {
	case expression.RangeLess:
		return bound{}, bound{value: &t.Low, beside: true}
	case expression.RangeLessOrEqual:
		return bound{}, at
	case expression.RangeGreater:
		return bound{value: &t.Low, beside: true}, bound{}
	case expression.RangeGreaterOrEqual:
		return at, bound{}
	case expression.RangeBetween:
		return at, bound{value: &t.High}
	case expression.AnyRange, expression.RangeEqual, expression.RangeBeginsWith:
	}
	return at, at
}

// before reports whether the upper end of one range is before the lower end of another.
func before(high, low bound) bool {
	if high.value == nil || low.value == nil {
		return false
	}
	order, _ := attribute.Compare(*high.value, *low.value)
	return order < 0 || order == 0 && (high.beside || low.beside)
}
