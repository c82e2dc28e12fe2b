package embedded

import (
	"maps"
	"slices"

	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
	"github.com/dynajournal/dynajournal/embedded/internal/expression"
	"github.com/dynajournal/dynajournal/embedded/internal/legacyparams"
)

// The legacy parameters, which expressions have replaced.

// conditionParameter is one condition of KeyConditions, QueryFilter, ScanFilter or Expected.
type conditionParameter struct {
	operator *string
	values   valuesParameter
	exists   *bool
	value    *valueParameter
}

// conditionsParameter maps attributes to conditions. It is nil if not given.
type conditionsParameter map[string]conditionParameter

func (r *decoder) conditions(structType string) conditionsParameter {
	conditions := conditionsParameter{}
	given := r.mapping("com.amazonaws.dynamodb.v20120810."+structType, func(key string) {
		var c conditionParameter
		r.structure(structType, func(name string) {
			switch name {
			case "ComparisonOperator":
				c.operator = r.text()
			case "AttributeValueList":
				c.values = r.valueList()
			case "Exists":
				c.exists = r.boolean()
			case "Value":
				c.value = r.optionalValue()
			default:
				r.skip()
			}
		})
		conditions[key] = c
	})
	if !given {
		return nil
	}
	return conditions
}

// optionalValue reads an attribute value. It returns nil if the parameter is not given.
func (r *decoder) optionalValue() *valueParameter {
	if r.null() {
		return nil
	}
	value := r.value()
	return &value
}

func (p conditionsParameter) constrain(c *constraints, member string, operatorRequired bool) {
	for _, name := range slices.Sorted(maps.Keys(p)) {
		at := member + "." + name + ".member.comparisonOperator"
		if operatorRequired {
			c.required(has(p[name].operator), at)
		}
		c.oneOf(p[name].operator, at, legacyparams.Operators()...)
	}
}

// conditions returns the conditions for package legacyparams.
func (p conditionsParameter) conditions() (map[string]legacyparams.Condition, error) {
	conditions := make(map[string]legacyparams.Condition, len(p))
	for _, name := range slices.Sorted(maps.Keys(p)) {
		values, err := p[name].values.checked()
		if err != nil {
			return nil, err
		}
		conditions[name] = legacyparams.Condition{ComparisonOperator: or(p[name].operator, ""), AttributeValueList: values}
	}
	return conditions, nil
}

func (p conditionsParameter) expectations() (map[string]legacyparams.Expectation, error) {
	expectations := make(map[string]legacyparams.Expectation, len(p))
	for _, name := range slices.Sorted(maps.Keys(p)) {
		values, err := p[name].values.checked()
		if err != nil {
			return nil, err
		}
		expectation := legacyparams.Expectation{
			Exists: p[name].exists, ComparisonOperator: or(p[name].operator, ""), AttributeValueList: values,
		}
		if expectation.Value, err = p[name].value.checked(); err != nil {
			return nil, err
		}
		expectations[name] = expectation
	}
	return expectations, nil
}

func (p valuesParameter) checked() ([]attribute.Value, error) {
	if p.invalid != nil {
		return nil, p.invalid
	}
	return p.values, nil
}

// checked returns the value, or nil if it is not given. It fails if the value violates the data
// model.
func (p *valueParameter) checked() (*attribute.Value, error) {
	switch {
	case p == nil:
		return nil, nil //nolint:nilnil // not given
	case p.invalid != nil:
		return nil, p.invalid
	}
	return &p.value, nil
}

// filter returns the condition for QueryFilter or ScanFilter, or nil without conditions.
func (p conditionsParameter) filter(operator *string) (*expression.BoundCondition, error) {
	conditions, err := p.conditions()
	if err != nil {
		return nil, err
	}
	return legacyparams.Filter(conditions, or(operator, ""))
}

// expected returns the condition for Expected, or nil without conditions.
func (p conditionsParameter) expected(operator *string) (*expression.BoundCondition, error) {
	expectations, err := p.expectations()
	if err != nil {
		return nil, err
	}
	return legacyparams.Expected(expectations, or(operator, ""))
}

func (c *constraints) conditionalOperator(operator *string) {
	c.oneOf(operator, "conditionalOperator", "OR", "AND")
}

// updateParameter is one update of AttributeUpdates.
type updateParameter struct {
	action *string
	value  *valueParameter
}

type updatesParameter map[string]updateParameter

func (r *decoder) updates() updatesParameter {
	updates := updatesParameter{}
	given := r.mapping("com.amazonaws.dynamodb.v20120810.AttributeValueUpdate", func(key string) {
		var u updateParameter
		r.structure("AttributeValueUpdate", func(name string) {
			switch name {
			case "Action":
				u.action = r.text()
			case "Value":
				u.value = r.optionalValue()
			default:
				r.skip()
			}
		})
		updates[key] = u
	})
	if !given {
		return nil
	}
	return updates
}

func (p updatesParameter) constrain(c *constraints) {
	for _, name := range slices.Sorted(maps.Keys(p)) {
		c.oneOf(p[name].action, "attributeUpdates."+name+".member.action", "ADD", "PUT", "DELETE")
	}
}

// bind returns the update for AttributeUpdates.
func (p updatesParameter) bind() (*expression.BoundUpdate, error) {
	updates := make(map[string]legacyparams.AttributeUpdate, len(p))
	for _, name := range slices.Sorted(maps.Keys(p)) {
		if err := attribute.CheckName(name); err != nil {
			return nil, err
		}
		value, err := p[name].value.checked()
		if err != nil {
			return nil, err
		}
		updates[name] = legacyparams.AttributeUpdate{Action: or(p[name].action, ""), Value: value}
	}
	return legacyparams.Update(updates)
}
