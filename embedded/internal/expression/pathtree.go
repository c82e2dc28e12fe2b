package expression

import (
	"slices"

	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
)

// pathTree holds the paths of a projection or update, none of which is within another, by their
// steps; at the end of each stands what is done there.
type pathTree[T any] struct {
	// children are in the order of their indexes, if they are elements, and else in the order of
	// their first use.
	children []pathBranch[T]
	// path is the whole path of a leaf, whose leaf is set; inner nodes have the first path that
	// passes through them.
	path   Path
	leaf   *T
	member bool
}

type pathBranch[T any] struct {
	step Step
	node *pathTree[T]
}

// add puts a resolved path into the tree. A path equal to another, or within another, or that takes
// for a list what another takes for a map, is an error.
func (t *pathTree[T]) add(kind Kind, path Path, leaf T) error {
	node := t
	for i, step := range path {
		if i > 0 && node.leaf != nil {
			return pathClash(kind, "overlap", node.path, path)
		}
		isMember := step.kind != elementStep
		if len(node.children) > 0 && node.member != isMember {
			return pathClash(kind, "conflict", node.children[0].node.path, path)
		}
		node.member = isMember
		node = node.child(step, path)
	}
	if node.leaf != nil || len(node.children) > 0 {
		return pathClash(kind, "overlap", node.path, path)
	}
	node.leaf = &leaf
	return nil
}

// child finds or makes the node behind a step of the path.
func (t *pathTree[T]) child(step Step, path Path) *pathTree[T] {
	at, found := len(t.children), false
	if step.kind == elementStep {
		at, found = slices.BinarySearchFunc(t.children, step.index, func(b pathBranch[T], index int) int { return b.step.index - index })
	} else if i := slices.IndexFunc(t.children, func(b pathBranch[T]) bool { return b.step == step }); i >= 0 {
		at, found = i, true
	}
	if found {
		return t.children[at].node
	}
	node := &pathTree[T]{path: path}
	t.children = slices.Insert(t.children, at, pathBranch[T]{step: step, node: node})
	return node
}

func pathClash(kind Kind, how string, one, two Path) error {
	return kind.invalid("Two document paths %s with each other; must remove or rewrite one of these paths; "+
		"path one: %s, path two: %s", how, one.describe(nil), two.describe(nil))
}

// project keeps of an item what stands at the paths: of maps the members named, of lists the
// elements named, closed up.
func (t *pathTree[T]) project(item attribute.Item) attribute.Item {
	kept := make(attribute.Item, min(len(t.children), len(item)))
	for _, branch := range t.children {
		if v, found := item[branch.step.name]; found {
			if v, found = branch.node.part(v); found {
				kept[branch.step.name] = v
			}
		}
	}
	return kept
}

// part returns what project keeps of a value, if anything.
func (t *pathTree[T]) part(v attribute.Value) (attribute.Value, bool) {
	if t.leaf != nil {
		return v, true
	}
	if t.member {
		members := t.project(v.Map)
		return attribute.Map(members), len(members) > 0
	}
	var elements []attribute.Value
	for _, branch := range t.children {
		if branch.step.index >= len(v.List) {
			break
		}
		if element, found := branch.node.part(v.List[branch.step.index]); found {
			elements = append(elements, element)
		}
	}
	return attribute.List(elements...), len(elements) > 0
}

// attributes lists the top-level attributes, in the order of their first use.
func (t *pathTree[T]) attributes() []string {
	names := make([]string, len(t.children))
	for i, branch := range t.children {
		names[i] = branch.step.name
	}
	return names
}
