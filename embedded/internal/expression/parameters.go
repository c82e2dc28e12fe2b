package expression

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
)

// Parameters are the names and values for the expressions of one request. They record which names
// and values are used. They are not safe for concurrent use.
type Parameters struct {
	names  map[string]string
	values attribute.Item
	used   map[string]struct{}
}

// NewParameters returns the parameters with ExpressionAttributeNames and ExpressionAttributeValues,
// which are nil if not given and must not be modified. Empty maps and invalid placeholders are
// refused.
func NewParameters(names map[string]string, values attribute.Item) (*Parameters, error) {
	if names != nil && len(names) == 0 {
		return nil, attribute.Invalid("ExpressionAttributeNames must not be empty")
	}
	if key, bad := badPlaceholder(names, '#'); bad {
		return nil, attribute.Invalid("ExpressionAttributeNames contains invalid key: Syntax error; key: \"%s\"", key)
	}
	if err := checkNames(names); err != nil {
		return nil, err
	}
	if values != nil && len(values) == 0 {
		return nil, attribute.Invalid("ExpressionAttributeValues must not be empty")
	}
	if key, bad := badPlaceholder(values, ':'); bad {
		return nil, attribute.Invalid("ExpressionAttributeValues contains invalid key: Syntax error; key: \"%s\"", key)
	}
	return &Parameters{names: names, values: values}, nil
}

// checkNames returns the error of the first key, in sorted order, whose name can't be an attribute
// name.
func checkNames(names map[string]string) error {
	if len(names) == 0 {
		return nil // most requests have no names, and sorting would allocate
	}
	for _, key := range slices.Sorted(maps.Keys(names)) {
		if names[key] == "" {
			return attribute.Invalid("ExpressionAttributeNames contains invalid value: for key %s", key)
		}
		if err := attribute.CheckName(names[key]); err != nil {
			return err
		}
	}
	return nil
}

// badPlaceholder returns the first key, in sorted order, that is not the sign followed by letters,
// digits and underscores.
func badPlaceholder[V any](keys map[string]V, sign byte) (string, bool) {
	worst, bad := "", false
	for key := range keys {
		if len(key) < 2 || key[0] != sign || skipWord(key, 1) != len(key) {
			if !bad || key < worst {
				worst, bad = key, true
			}
		}
	}
	return worst, bad
}

// DecodeValues decodes ExpressionAttributeValues. The older wording of the error of an invalid
// value names its placeholder. The values are also returned with that error, because their
// placeholders must be checked before it is reported.
func DecodeValues(data []byte) (attribute.Item, error) {
	values, err := attribute.DecodeNamed(data)
	if invalid, ok := errors.AsType[*attribute.ValidationError](err); ok {
		return values, &attribute.ValidationError{
			Message: invalid.Message,
			Older: fmt.Sprintf("ExpressionAttributeValues contains invalid value: %s for key %s",
				invalid.OlderWording().Message, invalid.Attribute),
		}
	}
	return values, err
}

// bind returns the names and values of the placeholders.
func (p *Parameters) bind(kind Kind, placeholders []string) ([]binding, error) {
	if len(placeholders) == 0 {
		return nil, nil
	}
	bindings := make([]binding, len(placeholders))
	for i, placeholder := range placeholders {
		var found bool
		if placeholder[0] == '#' {
			if bindings[i].name, found = p.names[placeholder]; !found {
				return nil, kind.invalid("An expression attribute name used in the document path is not defined; "+
					"attribute name: %s", placeholder)
			}
		} else if bindings[i].value, found = p.values[placeholder]; !found {
			return nil, kind.invalid("An expression attribute value used in expression is not defined; "+
				"attribute value: %s", placeholder)
		}
		if p.used == nil {
			p.used = make(map[string]struct{}, len(p.names)+len(p.values))
		}
		p.used[placeholder] = struct{}{}
	}
	return bindings, nil
}

// Unused returns an error if there are names or values that no bound expression has used.
func (p *Parameters) Unused() error {
	if len(p.used) == len(p.names)+len(p.values) {
		return nil
	}
	if keys := unusedKeys(p.names, p.used); len(keys) > 0 {
		return attribute.Invalid("Value provided in ExpressionAttributeNames unused in expressions: keys: {%s}", strings.Join(keys, ", "))
	}
	return attribute.Invalid("Value provided in ExpressionAttributeValues unused in expressions: keys: {%s}",
		strings.Join(unusedKeys(p.values, p.used), ", "))
}

func unusedKeys[V any](keys map[string]V, used map[string]struct{}) []string {
	var unused []string
	for key := range keys {
		if _, is := used[key]; !is {
			unused = append(unused, key)
		}
	}
	slices.Sort(unused)
	return unused
}
