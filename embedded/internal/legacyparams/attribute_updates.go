package legacyparams

import (
	"maps"
	"slices"

	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
	"github.com/dynajournal/dynajournal/embedded/internal/expression"
)

// AttributeUpdate changes one top-level attribute. Action is PUT, ADD or DELETE, and defaults to
// PUT.
type AttributeUpdate struct {
	Action string
	Value  *attribute.Value
}

// Update returns the update for AttributeUpdates. PUT sets a value, ADD adds to a number, set or
// list, and DELETE removes an attribute or, with a value, members of a set.
func Update(updates map[string]AttributeUpdate) (*expression.BoundUpdate, error) {
	actions := make([]expression.Action, 0, len(updates))
	for _, name := range slices.Sorted(maps.Keys(updates)) {
		action, err := updates[name].action()
		if err != nil {
			return nil, err
		}
		action.Path = expression.Path{expression.Member(name)}
		actions = append(actions, action)
	}
	return expression.NewUpdate(actions, nil, attribute.Invalid("Type mismatch for attribute to update"))
}

func (u AttributeUpdate) action() (expression.Action, error) {
	if u.Value == nil {
		if u.Action != "DELETE" {
			return expression.Action{}, attribute.Invalid(invalidParameters + "Only DELETE action is allowed when no attribute value is specified")
		}
		return expression.Action{Verb: expression.Remove}, nil
	}
	value := expression.Literal{Value: *u.Value}
	kind := u.Value.Kind
	isSet := kind == attribute.SS || kind == attribute.NS || kind == attribute.BS
	switch u.Action {
	case "DELETE":
		if !isSet {
			return expression.Action{}, attribute.Invalid(invalidParameters+"DELETE action with value is not supported for the type %s", kind)
		}
		return expression.Action{Verb: expression.Delete, Value: value}, nil
	case "ADD":
		if !isSet && kind != attribute.N && kind != attribute.L {
			return expression.Action{}, attribute.Invalid(invalidParameters+"ADD action is not supported for the type %s", kind)
		}
		return expression.Action{Verb: expression.Add, Value: value}, nil
	}
	return expression.Action{Verb: expression.Set, Value: value}, nil
}
