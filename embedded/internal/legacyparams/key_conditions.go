package legacyparams

import (
	"maps"
	"slices"

	"github.com/dynajournal/dynajournal/embedded/internal/expression"
)

// KeyConditions converts the parameter KeyConditions to tests for expression.NewKeyCondition, which
// combines them when the key schema is known.
func KeyConditions(conditions map[string]Condition) ([]expression.KeyTest, error) {
	operators := map[string]expression.RangeOperator{
		"EQ": expression.RangeEqual, "LT": expression.RangeLess, "LE": expression.RangeLessOrEqual, "GT": expression.RangeGreater,
		"GE": expression.RangeGreaterOrEqual, "BETWEEN": expression.RangeBetween, "BEGINS_WITH": expression.RangeBeginsWith,
	}
	tests := make([]expression.KeyTest, 0, len(conditions))
	for _, name := range slices.Sorted(maps.Keys(conditions)) {
		condition := conditions[name]
		if err := condition.check(); err != nil {
			return nil, err
		}
		operator, found := operators[condition.ComparisonOperator]
		if !found {
			operator = expression.NoRange
		}
		test := expression.KeyTest{Attribute: name, Operator: operator}
		if len(condition.AttributeValueList) > 0 {
			test.Low = condition.AttributeValueList[0]
		}
		if operator == expression.RangeBetween {
			test.High = condition.AttributeValueList[1]
		}
		tests = append(tests, test)
	}
	return tests, nil
}
