package attribute

import (
	"slices"
	"strings"
)

// Equal reports whether two values have the same kind and content. The order of a set does not
// matter.
func Equal(a, b Value) bool {
	if a.Kind != b.Kind {
		return false
	}
	switch a.Kind {
	case S, N, B:
		return a.Text == b.Text
	case BOOL:
		return a.Bool == b.Bool
	case SS, NS, BS:
		return equalSets(a.Set, b.Set)
	case L:
		return slices.EqualFunc(a.List, b.List, Equal)
	case M:
		return EqualItems(a.Map, b.Map)
	case NULL:
		return true
	}
	return true
}

// EqualItems reports whether two items have the same attributes with equal values.
func EqualItems(a, b Item) bool {
	if len(a) != len(b) {
		return false
	}
	for name, value := range a {
		other, found := b[name]
		if !found || !Equal(value, other) {
			return false
		}
	}
	return true
}

// smallSet is the size up to which a set is searched linearly.
const smallSet = 16

func equalSets(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	if len(a) <= smallSet {
		for _, member := range a {
			if !slices.Contains(b, member) {
				return false
			}
		}
		return true
	}
	members := make(map[string]struct{}, len(a))
	for _, member := range a {
		members[member] = struct{}{}
	}
	for _, member := range b {
		if _, found := members[member]; !found {
			return false
		}
	}
	return true
}

func hasDuplicates(members []string) bool {
	if len(members) <= smallSet {
		for i, member := range members {
			if slices.Contains(members[:i], member) {
				return true
			}
		}
		return false
	}
	seen := make(map[string]struct{}, len(members))
	for _, member := range members {
		seen[member] = struct{}{}
	}
	return len(seen) < len(members)
}

// Compare returns the order of two values of one of the kinds S, N and B: -1, 0 or 1. It returns
// false for other or different kinds, which have no order.
func Compare(a, b Value) (int, bool) {
	if a.Kind != b.Kind {
		return 0, false
	}
	switch a.Kind {
	case S, B:
		return strings.Compare(a.Text, b.Text), true
	case N:
		return CompareNumbers(a.Text, b.Text), true
	case BOOL, NULL, M, L, SS, NS, BS:
	}
	return 0, false
}
