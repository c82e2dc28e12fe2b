package attribute_test

import (
	"testing"

	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
)

func TestSizesAreAsDocumented(t *testing.T) {
	set := func(kind attribute.Kind, members ...string) attribute.Value {
		return attribute.Value{Kind: kind, Set: members}
	}
	for _, c := range []struct {
		name  string
		value attribute.Value
		want  int
	}{
		{"a string is its UTF-8 bytes", attribute.String("aé"), 3},
		{"a binary is its bytes", attribute.Binary([]byte{1, 2}), 2},
		{"a boolean is one byte", attribute.Boolean(false), 1},
		{"a null is one byte", attribute.Null(), 1},
		{"zero", number(t, "0"), 1},
		{"one digit", number(t, "5"), 2},
		{"trailing zeros do not count", number(t, "5000"), 2},
		{"leading zeros do not count", number(t, "0.005"), 2},
		{"two digits share a byte", number(t, "12"), 2},
		{"three digits", number(t, "1.23"), 3},
		{"a minus sign is a byte", number(t, "-1.23"), 4},
		{"zeros inside count", number(t, "10.01"), 3},
		{"an empty list", attribute.List(), 3},
		{"a list", attribute.List(attribute.String("ab"), attribute.Null()), 3 + 1 + 2 + 1 + 1},
		{"a map", attribute.Map(attribute.Item{"ab": attribute.String("c")}), 3 + 1 + 2 + 1},
		{"a string set", set(attribute.SS, "a", "bc"), 3},
		{"a number set", set(attribute.NS, "1", "200"), 4},
	} {
		if got := c.value.Size(); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
	if got := (attribute.Item{"name": attribute.String("v"), "é": attribute.Null()}).Size(); got != 8 {
		t.Errorf("an item is names and values: %d, want 8", got)
	}
}

func TestSetsAreEqualInAnyOrder(t *testing.T) {
	var up, down []string
	for i := range 40 {
		up = append(up, string(rune('A'+i)))
		down = append([]string{string(rune('A' + i))}, down...)
	}
	for _, n := range []int{1, 5, 40} {
		a, b := attribute.Value{Kind: attribute.SS, Set: up[:n]}, attribute.Value{Kind: attribute.SS, Set: down[40-n:]}
		if !attribute.Equal(a, b) {
			t.Errorf("%d members differ by order", n)
		}
		b.Set = append(append([]string{}, b.Set[1:]...), "other")
		if attribute.Equal(a, b) {
			t.Errorf("%d members: one differs, yet equal", n)
		}
		b.Kind = attribute.NS
		b.Set = a.Set
		if attribute.Equal(a, b) {
			t.Error("sets of different kinds are equal")
		}
	}
}
