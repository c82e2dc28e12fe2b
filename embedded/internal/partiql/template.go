package partiql

import (
	"slices"
	"strings"

	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
)

// template is a value in a statement. It can contain parameters.
type template interface {
	value(parameters []attribute.Value) (attribute.Value, error)
}

// constant is a value without parameters.
type constant attribute.Value

func (t constant) value([]attribute.Value) (attribute.Value, error) { return attribute.Value(t), nil }

// parameter is the number of a parameter.
type parameter int

func (t parameter) value(parameters []attribute.Value) (attribute.Value, error) {
	return parameters[t], nil
}

type listTemplate []template

func (t listTemplate) value(parameters []attribute.Value) (attribute.Value, error) {
	members, err := values(t, parameters)
	return attribute.List(members...), err
}

func values(templates []template, parameters []attribute.Value) ([]attribute.Value, error) {
	members := make([]attribute.Value, len(templates))
	var err error
	for i, member := range templates {
		if members[i], err = member.value(parameters); err != nil {
			return nil, err
		}
	}
	return members, nil
}

type mapTemplate []memberTemplate

type memberTemplate struct {
	name   string
	member template
}

func (t mapTemplate) value(parameters []attribute.Value) (attribute.Value, error) {
	members := make(attribute.Item, len(t))
	for _, m := range t {
		v, err := m.member.value(parameters)
		if err != nil {
			return attribute.Value{}, err
		}
		members[m.name] = v
	}
	return attribute.Map(members), nil
}

type setTemplate []template

func (t setTemplate) value(parameters []attribute.Value) (attribute.Value, error) {
	members, err := values(t, parameters)
	if err != nil {
		return attribute.Value{}, err
	}
	if len(members) == 0 {
		return attribute.Value{}, attribute.Invalid("Empty bags are not supported")
	}
	kinds := map[attribute.Kind]attribute.Kind{attribute.S: attribute.SS, attribute.N: attribute.NS, attribute.B: attribute.BS}
	set := attribute.Value{Kind: kinds[members[0].Kind]}
	for _, v := range members {
		if set.Kind == 0 || v.Kind != members[0].Kind {
			return attribute.Value{}, attribute.Invalid("One or more parameter values were invalid: " +
				"A set must have members of one of the types S, N and B")
		}
		set.Set = append(set.Set, v.Text)
	}
	sorted := slices.Sorted(slices.Values(set.Set))
	switch {
	case len(slices.Compact(sorted)) == len(set.Set):
		set.SortMembers()
		return set, nil
	case set.Kind == attribute.SS:
		return attribute.Value{}, attribute.Invalid("One or more parameter values were invalid: Input collection [%s] contains duplicates.",
			strings.Join(set.Set, ", "))
	}
	return attribute.Value{}, attribute.Invalid("Input collection contains duplicates")
}

// fold returns the value of a template without parameters as a constant. It returns other templates
// unchanged.
func fold(t template, members []template) (template, error) {
	for _, m := range members {
		if _, is := m.(constant); !is {
			return t, nil
		}
	}
	v, err := t.value(nil)
	return constant(v), err
}
