package legacyparams

import (
	"maps"
	"slices"

	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
	"github.com/dynajournal/dynajournal/embedded/internal/expression"
)

// Expectation is an expectation of a write on one top-level attribute. Exists and Value expect a
// value, or expect that the attribute does not exist. ComparisonOperator and AttributeValueList (or
// Value) expect a comparison to be true. Parameters that are not given are nil or empty.
type Expectation struct {
	Exists             *bool
	Value              *attribute.Value
	ComparisonOperator string
	AttributeValueList []attribute.Value
}

// Expected returns the condition for the parameter Expected. It is true if all expectations are
// met. With the ConditionalOperator OR, one met expectation is enough.
func Expected(expectations map[string]Expectation, conditionalOperator string) (*expression.BoundCondition, error) {
	if err := checkConditionalOperator(conditionalOperator, len(expectations)); err != nil {
		return nil, err
	}
	var joined expression.Test
	for _, name := range slices.Sorted(maps.Keys(expectations)) {
		condition, err := expectations[name].condition(name)
		if err != nil {
			return nil, err
		}
		test, err := condition.test(name)
		if err != nil {
			return nil, err
		}
		joined = join(joined, test, conditionalOperator)
	}
	return bound(joined), nil
}

// condition returns the expectation as a Condition.
func (e Expectation) condition(name string) (Condition, error) {
	if e.ComparisonOperator == "" {
		return e.presence(name)
	}
	compares := e.ComparisonOperator != "NULL" && e.ComparisonOperator != "NOT_NULL"
	var problem string
	switch {
	case e.Exists != nil:
		problem = "Exists and ComparisonOperator cannot be used together"
	case e.Value != nil && e.AttributeValueList != nil:
		problem = "Value and AttributeValueList cannot be used together"
	case e.Value == nil && e.AttributeValueList == nil && compares:
		problem = "Value or AttributeValueList must be used with ComparisonOperator: " + e.ComparisonOperator
	case e.Value != nil:
		return Condition{ComparisonOperator: e.ComparisonOperator, AttributeValueList: []attribute.Value{*e.Value}}, nil
	default:
		return Condition{ComparisonOperator: e.ComparisonOperator, AttributeValueList: e.AttributeValueList}, nil
	}
	return Condition{}, attribute.Invalid("%s%s for Attribute: %s", invalidParameters, problem, name)
}

func (e Expectation) presence(name string) (Condition, error) {
	exists := "null"
	if e.Exists != nil && *e.Exists {
		exists = "true"
	}
	var problem string
	switch {
	case e.AttributeValueList != nil && e.Value != nil:
		problem = "Value and AttributeValueList cannot be used together"
	case e.AttributeValueList != nil:
		problem = "AttributeValueList can only be used with a ComparisonOperator"
	case e.Exists != nil && !*e.Exists && e.Value != nil:
		problem = "Value cannot be used when Exists is false"
	case e.Exists != nil && !*e.Exists:
		return Condition{ComparisonOperator: "NULL"}, nil
	case e.Value == nil:
		problem = "Value must be provided when Exists is " + exists
	default:
		return Condition{ComparisonOperator: "EQ", AttributeValueList: []attribute.Value{*e.Value}}, nil
	}
	return Condition{}, attribute.Invalid("%s%s for Attribute: %s", invalidParameters, problem, name)
}
