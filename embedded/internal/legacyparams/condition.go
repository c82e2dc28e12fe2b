// Package legacyparams converts the legacy request parameters, which expressions have replaced, to
// bound expressions, so that both use the same evaluator. The parameters are KeyConditions,
// QueryFilter, ScanFilter, Expected, AttributeUpdates and ConditionalOperator.
//
// Errors are *attribute.ValidationError with DynamoDB's messages. If several attributes are
// invalid, the first one by name is reported.
package legacyparams

import (
	"maps"
	"slices"

	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
	"github.com/dynajournal/dynajournal/embedded/internal/expression"
)

const invalidParameters = "One or more parameter values were invalid: "

// Condition is a condition on one top-level attribute: one of Operators, and the values to compare
// with.
type Condition struct {
	ComparisonOperator string
	AttributeValueList []attribute.Value
}

// Operators returns the comparison operators, in the order in which messages list them.
func Operators() []string {
	return []string{"IN", "NULL", "BETWEEN", "LT", "NOT_CONTAINS", "EQ", "GT", "NOT_NULL", "NE", "LE", "BEGINS_WITH", "GE", "CONTAINS"}
}

// Filter returns the condition for a QueryFilter or ScanFilter. It is true if all conditions are
// true. With the ConditionalOperator OR, one true condition is enough.
func Filter(conditions map[string]Condition, conditionalOperator string) (*expression.BoundCondition, error) {
	if err := checkConditionalOperator(conditionalOperator, len(conditions)); err != nil {
		return nil, err
	}
	var joined expression.Test
	for _, name := range slices.Sorted(maps.Keys(conditions)) {
		test, err := conditions[name].test(name)
		if err != nil {
			return nil, err
		}
		joined = join(joined, test, conditionalOperator)
	}
	return bound(joined), nil
}

// bound returns the condition for a tree, or nil for a nil tree.
func bound(test expression.Test) *expression.BoundCondition {
	if test == nil {
		return nil
	}
	return expression.NewCondition(test, nil)
}

func join(joined, test expression.Test, conditionalOperator string) expression.Test {
	switch {
	case joined == nil:
		return test
	case conditionalOperator == "OR":
		return expression.Or{Left: joined, Right: test}
	}
	return expression.And{Left: joined, Right: test}
}

func checkConditionalOperator(conditionalOperator string, conditions int) error {
	switch {
	case conditionalOperator == "":
		return nil
	case conditions == 0:
		return attribute.Invalid("ConditionalOperator cannot be used without Filter or Expected")
	case conditions == 1:
		return attribute.Invalid("ConditionalOperator can only be used when Filter or Expected has two or more elements")
	}
	return nil
}

// check checks the number and the types of the values for the operator.
func (c Condition) check() error {
	least, most := 1, 1
	switch c.ComparisonOperator {
	case "NULL", "NOT_NULL":
		least, most = 0, 0
	case "BETWEEN":
		least, most = 2, 2
	case "IN":
		most = len(c.AttributeValueList)
	}
	if n := len(c.AttributeValueList); n < least || n > most {
		return attribute.Invalid(invalidParameters+"Invalid number of argument(s) for the %s ComparisonOperator", c.ComparisonOperator)
	}
	for _, v := range c.AttributeValueList {
		if !c.takes(v.Kind) {
			return attribute.Invalid(invalidParameters+"ComparisonOperator %s is not valid for %s AttributeValue type", c.ComparisonOperator, v.Kind)
		}
		if v.Kind != c.AttributeValueList[0].Kind {
			return attribute.Invalid(invalidParameters + "AttributeValues inside AttributeValueList must be of same type")
		}
	}
	if c.ComparisonOperator == "BETWEEN" {
		if order, _ := attribute.Compare(c.AttributeValueList[0], c.AttributeValueList[1]); order > 0 {
			return attribute.Invalid("The BETWEEN condition was provided a range where the lower bound is greater than the upper bound")
		}
	}
	return nil
}

// takes reports whether the operator accepts values of the type.
func (c Condition) takes(kind attribute.Kind) bool {
	switch c.ComparisonOperator {
	case "EQ", "NE":
		return true
	case "BEGINS_WITH":
		return kind == attribute.S || kind == attribute.B
	case "CONTAINS", "NOT_CONTAINS":
		return kind <= attribute.NULL
	}
	return kind <= attribute.B
}

// test returns the tree of the condition on the attribute.
func (c Condition) test(name string) (expression.Test, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	path := expression.Path{expression.Member(name)}
	values := make([]expression.Operand, len(c.AttributeValueList))
	for i, v := range c.AttributeValueList {
		values[i] = expression.Literal{Value: v}
	}
	operators := map[string]expression.Operator{
		"EQ": expression.Equal, "NE": expression.NotEqual, "LT": expression.Less, "LE": expression.LessOrEqual,
		"GT": expression.Greater, "GE": expression.GreaterOrEqual,
	}
	if operator, found := operators[c.ComparisonOperator]; found {
		return expression.Comparison{Operator: operator, Left: path, Right: values[0]}, nil
	}
	switch c.ComparisonOperator {
	case "NULL", "NOT_NULL":
		return expression.Exists{Operand: path, Not: c.ComparisonOperator == "NULL"}, nil
	case "CONTAINS":
		return expression.Contains{Operand: path, Member: values[0]}, nil
	case "NOT_CONTAINS":
		// For a missing attribute neither CONTAINS nor NOT_CONTAINS is true.
		without := expression.Not{Test: expression.Contains{Operand: path, Member: values[0]}}
		return expression.And{Left: expression.Exists{Operand: path}, Right: without}, nil
	case "BEGINS_WITH":
		return expression.BeginsWith{Operand: path, Prefix: values[0]}, nil
	case "IN":
		return expression.In{Operand: path, List: values}, nil
	case "BETWEEN":
		return expression.Between{Operand: path, Low: values[0], High: values[1]}, nil
	}
	return nil, attribute.Invalid(invalidParameters+"ComparisonOperator %s is not valid", c.ComparisonOperator)
}
