package expression_test

import (
	"testing"

	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
	"github.com/dynajournal/dynajournal/embedded/internal/expression"
)

func bindKey(t *testing.T, text string, schema expression.KeySchema) (expression.KeyCondition, error) {
	t.Helper()
	condition, err := expression.ParseCondition(expression.KeyConditionExpression, text)
	if err != nil {
		return expression.KeyCondition{}, err
	}
	bound, err := condition.Bind(parameters(t, map[string]string{"#h": "h"}, item(t, testValues)))
	if err != nil {
		return expression.KeyCondition{}, err
	}
	tests, err := bound.KeyTests()
	if err != nil {
		return expression.KeyCondition{}, err
	}
	return expression.KeyOf(tests, schema)
}

func TestKeyConditionsSelectByHashAndRange(t *testing.T) {
	schema := expression.KeySchema{Hash: "h", HashKind: attribute.S, Range: "r", RangeKind: attribute.N}
	n := func(s string) attribute.Value { return attribute.Value{Kind: attribute.N, Text: s} }
	for text, want := range map[string]expression.KeyCondition{
		"h = :s":                               {},
		":s = #h":                              {},
		"(h = :s) AND (r = :n)":                {Range: expression.RangeEqual, Low: n("5")},
		"r < :n and h = :s":                    {Range: expression.RangeLess, Low: n("5")},
		"h = :s AND r <= :n":                   {Range: expression.RangeLessOrEqual, Low: n("5")},
		"h = :s AND r > :n":                    {Range: expression.RangeGreater, Low: n("5")},
		"h = :s AND r >= :n":                   {Range: expression.RangeGreaterOrEqual, Low: n("5")},
		"h = :s AND :n < r":                    {Range: expression.RangeGreater, Low: n("5")},
		"h = :s AND :n >= r":                   {Range: expression.RangeLessOrEqual, Low: n("5")},
		"(h = :s AND (r BETWEEN :n AND :ten))": {Range: expression.RangeBetween, Low: n("5"), High: n("10")},
	} {
		got, err := bindKey(t, text, schema)
		if err != nil || got.Hash.Text != "abc" || got.Range != want.Range || !attribute.Equal(got.Low, want.Low) || !attribute.Equal(got.High, want.High) {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	schema.RangeKind = attribute.S
	got, err := bindKey(t, "h = :s AND begins_with(r, :empty)", schema)
	if err != nil || got.Range != expression.RangeBeginsWith || got.Low.Text != "" {
		t.Errorf("begins_with: %+v, %v", got, err)
	}
}

func TestInvalidKeyConditionsAreRefusedWithDynamoDBsMessages(t *testing.T) {
	const (
		unsupported = "Query key condition not supported"
		operator    = "Invalid operator used in KeyConditionExpression: "
		invalid     = "Invalid condition in KeyConditionExpression: "
		mismatch    = "One or more parameter values were invalid: Condition parameter type does not match schema type"
	)
	schema := expression.KeySchema{Hash: "h", HashKind: attribute.S, Range: "r", RangeKind: attribute.N}
	for text, want := range map[string]string{
		"r = :n":                       "Query condition missed key schema element: h",
		"x = :s":                       "Query condition missed key schema element: h",
		"h = :s AND x = :s":            "Query condition missed key schema element: r",
		"h > :s":                       unsupported,
		"begins_with(h, :s)":           unsupported,
		"h BETWEEN :a AND :z":          unsupported,
		"h = :s OR r = :n":             operator + "OR",
		"NOT h = :s":                   operator + "NOT",
		"h = :s AND r IN (:n)":         operator + "IN",
		"h <> :s":                      operator + "<>",
		"h = :s AND contains(r, :n)":   operator + "contains",
		"attribute_exists(h)":          operator + "attribute_exists",
		"attribute_not_exists(h)":      operator + "attribute_not_exists",
		"attribute_type(h, :S)":        operator + "attribute_type",
		"h = :s AND size(r) = :n":      "KeyConditionExpressions cannot contain nested operations",
		"h.x = :s":                     "KeyConditionExpressions cannot have conditions on nested attributes",
		"h = :s AND h = :a":            "Invalid KeyConditionExpression: KeyConditionExpressions must only contain one condition per key",
		"h = :s AND r < :n AND r > :n": "Invalid KeyConditionExpression: KeyConditionExpressions must only contain one condition per key",
		"h = :s AND r = :n AND x = :n": "The number of query conditions (3) exceeds the number of key attributes defined in the schema (2)",
		"h = r":                        invalid + "Multiple attribute names used in one condition",
		":s = :a":                      invalid + "No key attribute specified",
		":n BETWEEN r AND :n":          invalid + "BETWEEN operator must have the key attribute as its first operand",
		"begins_with(:s, h)":           invalid + "begins_with operator must have the key attribute as its first operand",
		"h = :n":                       mismatch,
		"h = :s AND r = :s":            mismatch,
		"h = :empty":                   "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: h",
		"h = :s AND begins_with(r,:n)": "Invalid KeyConditionExpression: Incorrect operand type for operator or function; operator or function: begins_with, operand type: N",
		"h = :s AND r BETWEEN :ten AND :one": "Invalid KeyConditionExpression: The BETWEEN operator requires upper bound to be greater than or equal to lower bound; " +
			"lower bound operand: AttributeValue: {N:10}, upper bound operand: AttributeValue: {N:1}",
	} {
		_, err := bindKey(t, text, schema)
		wantMessage(t, text, err, want)
	}
	_, err := bindKey(t, "h = :s AND x = :s", expression.KeySchema{Hash: "h", HashKind: attribute.S})
	wantMessage(t, "two conditions, no range key", err, unsupported)
}
