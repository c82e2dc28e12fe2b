package expression

import (
	"maps"

	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
)

// Verb is the operation of an action.
type Verb uint8

// The verbs of updates.
const (
	// Set assigns the value.
	Set Verb = iota + 1
	// Remove removes the value at the path, if it exists.
	Remove
	// Add adds a number to a number, or the members of a set to a set. It sets a value that does
	// not exist.
	Add
	// Delete removes members from a set. It removes the set if no members remain.
	Delete
)

// String returns the verb as written in expressions.
func (v Verb) String() string {
	names := [...]string{"", "SET", "REMOVE", "ADD", "DELETE"}
	if int(v) >= len(names) {
		return ""
	}
	return names[v]
}

// Action is one change of an update. Value is nil for Remove.
type Action struct {
	Verb  Verb
	Path  Path
	Value Operand
}

// Update is a parsed update. It is immutable.
type Update struct {
	actions      []Action
	placeholders []string
}

// BoundUpdate is an update with its names and values resolved.
type BoundUpdate struct {
	tree     pathTree[Action]
	bindings []binding
	// mismatch is the error for a value of Add or Delete that has the wrong type for the old value.
	mismatch error
	// removes is set if there are actions and all of them are Remove or Delete.
	removes bool
	// actions are the parsed actions, for Charge. It is nil for an update that was not parsed.
	actions []Action
}

// Bind resolves names and values and checks the paths and operands.
func (u *Update) Bind(p *Parameters) (*BoundUpdate, error) {
	bindings, err := p.bind(UpdateExpression, u.placeholders)
	if err != nil {
		return nil, err
	}
	bound := &BoundUpdate{bindings: bindings, mismatch: errOperandType, removes: onlyRemove(u.actions), actions: u.actions}
	for _, action := range u.actions {
		action.Path = action.Path.resolve(bindings)
		if err := bound.tree.add(UpdateExpression, action.Path, action); err != nil {
			return nil, err
		}
	}
	c := checker{kind: UpdateExpression, bindings: bindings}
	for _, action := range u.actions {
		if err := c.checkAction(action); err != nil {
			return nil, err
		}
	}
	return bound, nil
}

func onlyRemove(actions []Action) bool {
	for _, action := range actions {
		if action.Verb != Remove && action.Verb != Delete {
			return false
		}
	}
	return len(actions) > 0
}

func (c checker) checkAction(action Action) error {
	switch action.Verb {
	case Set:
		return c.checkUpdate(action.Value)
	case Add, Delete:
		kind := staticKind(action.Value, c.bindings)
		if memberKind(kind) == 0 && (action.Verb == Delete || kind != attribute.N) {
			return c.kind.invalid("Incorrect operand type for operator or function; operator: %[1]s, operand type: %[2]s, "+
				"typeSet: ALLOWED_FOR_%[1]s_OPERAND", action.Verb, longName(kind))
		}
	case Remove:
	}
	return nil
}

// longName returns the name of a type in messages about ADD and DELETE.
func longName(kind attribute.Kind) string {
	switch kind {
	case attribute.S:
		return "STRING"
	case attribute.N:
		return "NUMBER"
	case attribute.B:
		return "BINARY"
	case attribute.BOOL:
		return "BOOLEAN"
	case attribute.L:
		return "LIST"
	case attribute.M:
		return "MAP"
	case attribute.NULL, attribute.SS, attribute.NS, attribute.BS:
	}
	return kind.String()
}

// NewUpdate returns an update with actions that were not parsed by this package. They must not have
// placeholders of names. values[n] is the value of Parameter(n). mismatch, if not nil, is the error
// for a value of Add or Delete with the wrong type. Paths that overlap are an error. Operands are
// not checked.
func NewUpdate(actions []Action, values []attribute.Value, mismatch error) (*BoundUpdate, error) {
	if mismatch == nil {
		mismatch = errOperandType
	}
	bound := &BoundUpdate{bindings: positional(values), mismatch: mismatch, removes: onlyRemove(actions)}
	for _, action := range actions {
		if err := bound.tree.add(UpdateExpression, action.Path, action); err != nil {
			return nil, err
		}
	}
	return bound, nil
}

// OnlyRemoves reports whether the update only removes and deletes. Such an update does not create
// an item.
func (u *BoundUpdate) OnlyRemoves() bool { return u.removes }

// Attributes returns the top-level attributes that the update changes.
func (u *BoundUpdate) Attributes() []string { return u.tree.attributes() }

// Updated returns the parts of an item that the update changes. Pass the old item for UPDATED_OLD,
// and the new item for UPDATED_NEW.
func (u *BoundUpdate) Updated(item attribute.Item) attribute.Item { return u.tree.project(item) }

// Apply returns the updated item. old, which may be nil, is not modified and shares values with the
// result. All values are computed from old. List elements are set before elements are removed.
// Elements that are set beyond the end are appended in the order of their indexes.
func (u *BoundUpdate) Apply(old attribute.Item) (attribute.Item, error) {
	return u.members(&u.tree, old, scope{bindings: u.bindings, item: old})
}

func (u *BoundUpdate) members(t *pathTree[Action], old attribute.Item, s scope) (attribute.Item, error) {
	updated := maps.Clone(old)
	if updated == nil {
		updated = make(attribute.Item, len(t.children))
	}
	for _, branch := range t.children {
		v, found := old[branch.step.name]
		v, exists, err := u.change(branch.node, v, found, s)
		if err != nil {
			return nil, err
		}
		if exists {
			updated[branch.step.name] = v
		} else {
			delete(updated, branch.step.name)
		}
	}
	return updated, nil
}

func (u *BoundUpdate) elements(t *pathTree[Action], old []attribute.Value, s scope) ([]attribute.Value, error) {
	updated := make([]attribute.Value, 0, len(old)+len(t.children))
	copied := 0
	for _, branch := range t.children {
		index := branch.step.index
		var v attribute.Value
		found := index < len(old)
		if found {
			updated = append(updated, old[copied:index]...)
			copied = index + 1
			v = old[index]
		} else {
			updated = append(updated, old[copied:]...)
			copied = len(old)
		}
		v, exists, err := u.change(branch.node, v, found, s)
		if err != nil {
			return nil, err
		}
		if exists {
			updated = append(updated, v)
		}
	}
	return append(updated, old[copied:]...), nil
}

// change returns the new value at the node. v is the old value, if found. change returns false if
// the value is removed.
func (u *BoundUpdate) change(t *pathTree[Action], v attribute.Value, found bool, s scope) (attribute.Value, bool, error) {
	var err error
	switch {
	case t.leaf != nil:
		return u.perform(*t.leaf, v, found, s)
	case t.member && v.Kind == attribute.M:
		v.Map, err = u.members(t, v.Map, s)
	case !t.member && v.Kind == attribute.L:
		v.List, err = u.elements(t, v.List, s)
	default:
		err = attribute.Invalid("The document path provided in the update expression is invalid for update")
	}
	return v, true, err
}

func (u *BoundUpdate) perform(action Action, old attribute.Value, found bool, s scope) (attribute.Value, bool, error) {
	if action.Verb == Remove {
		return attribute.Value{}, false, nil
	}
	v, err := compute(action.Value, s)
	if err != nil {
		return attribute.Value{}, false, err
	}
	if action.Verb != Set {
		if v, err = u.combine(action.Verb, old, v, found); err != nil {
			return attribute.Value{}, false, err
		}
	}
	if memberKind(v.Kind) != 0 && len(v.Set) == 0 {
		return attribute.Value{}, false, nil
	}
	if err := v.CheckDepth(len(action.Path) - 1); err != nil {
		return attribute.Value{}, false, err
	}
	return v, v.Kind != 0, nil
}

// combine adds a value to the old one, or deletes it from the old one. Deleting from a missing
// value returns the zero Value.
func (u *BoundUpdate) combine(verb Verb, old, v attribute.Value, found bool) (attribute.Value, error) {
	switch {
	case !found && verb == Delete:
		return attribute.Value{}, nil
	case !found:
		return v, nil
	case old.Kind != v.Kind:
		return attribute.Value{}, u.mismatch
	case memberKind(v.Kind) != 0 && verb == Delete:
		return difference(old, v), nil
	case memberKind(v.Kind) != 0:
		return union(old, v), nil
	case v.Kind == attribute.N && verb == Add:
		return sum(old, v, false)
	case v.Kind == attribute.L && verb == Add:
		return appendLists(old, v)
	}
	return attribute.Value{}, u.mismatch
}
