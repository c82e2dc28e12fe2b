package partiql

import (
	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
	"github.com/dynajournal/dynajournal/embedded/internal/expression"
)

// branch is a part of a condition, joined to the others by OR, that reads the items of one hash
// key: those whose range key satisfies the test, or all of them.
type branch struct {
	hash attribute.Value
	test *expression.KeyTest
}

// checkOverlap refuses a SELECT with two branches that read the same items. Branches that exclude
// range keys are not checked.
func (b *Bound) checkOverlap(schema expression.KeySchema) error {
	or, is := b.where.(expression.Or)
	if !is || schema.Range == "" {
		return nil
	}
	var branches []branch
	for _, test := range disjuncts(or) {
		found, excludes := b.branch(test, schema)
		if found == nil || excludes {
			continue
		}
		for _, other := range branches {
			if attribute.Equal(other.hash, found.hash) && other.overlaps(*found) {
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

// branch converts a condition to a branch, nil if it names no hash key, and reports whether it
// excludes range keys.
func (b *Bound) branch(test expression.Test, schema expression.KeySchema) (*branch, bool) {
	var found branch
	named, excludes := false, false
	for _, part := range conjuncts(test) {
		switch t, is := b.keyTest(part); {
		case is && t.Attribute == schema.Hash && t.Operator == expression.RangeEqual:
			found.hash, named = t.Low, true
		case is && t.Attribute == schema.Range && found.test == nil && fits(t, schema.RangeKind):
			found.test = &t
		default:
			excludes = excludes || b.excludes(part, schema.Range)
		}
	}
	if !named {
		return nil, false
	}
	return &found, excludes
}

// excludes reports whether a condition excludes values of the attribute.
func (b *Bound) excludes(test expression.Test, name string) bool {
	switch t := test.(type) {
	case expression.Not:
		return expression.NewCondition(t.Test, b.values).Reads(name)
	case expression.Comparison:
		return t.Operator == expression.NotEqual && expression.NewCondition(t, b.values).Reads(name)
	}
	return false
}

// overlaps reports whether a range key can satisfy both tests.
func (x branch) overlaps(y branch) bool {
	if x.test == nil || y.test == nil {
		return true
	}
	lowX, highX := bounds(*x.test)
	lowY, highY := bounds(*y.test)
	return !before(highX, lowY) && !before(highY, lowX)
}

// bound is an end of a range of values. Nil is no end.
type bound struct {
	value  *attribute.Value
	beside bool
}

// bounds returns the ends of the range keys that satisfy a test. A prefix is its own range.
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

// before reports whether an upper end is before a lower one.
func before(high, low bound) bool {
	if high.value == nil || low.value == nil {
		return false
	}
	order, _ := attribute.Compare(*high.value, *low.value)
	return order < 0 || order == 0 && (high.beside || low.beside)
}
