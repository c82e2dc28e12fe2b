package entitytest

import (
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/wrapperspb"
)

type node struct {
	name string
	next *node
	any  any
	by   map[string]*node
}

func TestDump_SameValuesHaveSameText(t *testing.T) {
	t.Parallel()
	cycle := &node{name: "a"}
	cycle.next = cycle
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	for name, c := range map[string]struct {
		a, b any
		same bool
	}{
		"fields that are not exported": {node{name: "a"}, node{name: "b"}, false},
		"pointers to the same":         {&node{name: "a"}, &node{name: "a"}, true},
		"pointers to others":           {&node{name: "a"}, &node{name: "b"}, false},
		"what is deep below":           {node{by: map[string]*node{"x": {name: "a"}}}, node{by: map[string]*node{"x": {name: "b"}}}, false},
		"cycles":                       {cycle, cycle, true},
		"a pointer used twice":         {[]*node{cycle, cycle}, []*node{cycle, cycle}, true},
		"types":                        {int32(1), int64(1), false},
		"types in structs":             {node{any: node{}}, node{any: &node{}}, false},
		"nil slices":                   {[]int(nil), []int{}, true},
		"nil maps":                     {map[int]int(nil), map[int]int{}, false},
		"maps":                         {map[int]int{1: 2, 3: 4}, map[int]int{3: 4, 1: 2}, true},
		"other maps":                   {map[int]int{1: 2}, map[int]int{1: 3}, false},
		"text that looks like more":    {[]string{"a b"}, []string{"a", "b"}, false},
		"instants":                     {at, at.In(time.FixedZone("x", 3600)), true},
		"other instants":               {at, at.Add(1), false},
		"messages":                     {wrapperspb.String("a"), wrapperspb.String("a"), true},
		"other messages":               {wrapperspb.String("a"), wrapperspb.String("b"), false},
		"arrays":                       {[2]int{1, 2}, [2]int{1, 3}, false},
	} {
		if got := same(c.a, c.b); got != c.same {
			t.Errorf("%s: %s and %s: %v", name, dump(c.a), dump(c.b), got)
		}
	}
}
