package expression

import (
	"slices"

	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
)

// pathTree is a tree of the paths of a projection or update, by their steps. No path is within
// another. Each leaf has the operation at its path.
type pathTree[T any] struct {
	// children are sorted by index if they are elements. Otherwise they are in the order of their
	// first use.
	children []pathBranch[T]
	// path is the whole path of a leaf. For an inner node it is the first path through the node.
	// leaf is set for leaves.
	path   Path
	leaf   *T
	member bool
}

type pathBranch[T any] struct {
	step Step
	node *pathTree[T]
}

// add adds a resolved path. It is an error if the path is equal to another one or within it, or if
// one has an element where the other has a member.
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

// child returns the node of a step of the path, and creates it if necessary.
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

// project returns the parts of an item at the paths. Lists have only the elements at the paths.
func (t *pathTree[T]) project(item attribute.Item) attribute.Item {
	selected := make(attribute.Item, min(len(t.children), len(item)))
	for _, branch := range t.children {
		if v, found := item[branch.step.name]; found {
			if v, found = branch.node.part(v); found {
				selected[branch.step.name] = v
			}
		}
	}
	return selected
}

// part returns the parts of a value at the paths, if there are any.
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

// attributes returns the top-level attributes, in the order of their first use.
func (t *pathTree[T]) attributes() []string {
	names := make([]string, len(t.children))
	for i, branch := range t.children {
		names[i] = branch.step.name
	}
	return names
}
