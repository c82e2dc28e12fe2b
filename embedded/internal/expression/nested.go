package expression

import "slices"

// Nested returns the top-level attributes in which the condition reads a member or an element, in
// the order of their first use. For a nil condition it returns nil.
func (c *BoundCondition) Nested() []string {
	if c == nil {
		return nil
	}
	var names []string
	c.test.operands(func(o Operand) { names = appendNested(names, o, c.bindings) })
	return names
}

// Nested returns the top-level attributes in which the projection reads a member or an element, in
// the order of their first use. For a nil projection it returns nil.
func (e *BoundProjection) Nested() []string {
	if e == nil {
		return nil
	}
	return e.tree.nested()
}

// Nested returns the top-level attributes in which the update changes or reads a member or an
// element. For a nil update it returns nil.
func (u *BoundUpdate) Nested() []string {
	if u == nil {
		return nil
	}
	names := u.tree.nested()
	u.tree.leaves(func(action Action) { names = appendNested(names, action.Value, u.bindings) })
	return names
}

// appendNested appends the top-level attribute of each path in an operand that has further steps.
// It appends each attribute once.
func appendNested(names []string, o Operand, bindings []binding) []string {
	switch o := o.(type) {
	case Path:
		if len(o) > 1 {
			if name := o[0].memberName(bindings); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	case Size:
		names = appendNested(names, o.Of, bindings)
	case Sum:
		names = appendNested(appendNested(names, o.Left, bindings), o.Right, bindings)
	case ListAppend:
		names = appendNested(appendNested(names, o.Left, bindings), o.Right, bindings)
	case IfNotExists:
		names = appendNested(appendNested(names, o.Path, bindings), o.Default, bindings)
	}
	return names
}

// nested returns the top-level attributes of the paths with further steps.
func (t *pathTree[T]) nested() []string {
	var names []string
	for _, branch := range t.children {
		if branch.node.leaf == nil {
			names = append(names, branch.step.name)
		}
	}
	return names
}

// leaves calls visit with each leaf.
func (t *pathTree[T]) leaves(visit func(T)) {
	if t.leaf != nil {
		visit(*t.leaf)
	}
	for _, branch := range t.children {
		branch.node.leaves(visit)
	}
}
