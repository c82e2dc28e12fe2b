package expression_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
	"github.com/dynajournal/dynajournal/embedded/internal/expression"
)

// schemaOf returns a schema with the attributes. Each is a name and the letter of its type.
func schemaOf(hash, ranges string) expression.KeySchema {
	attributes := func(text string) []expression.KeyAttribute {
		var list []expression.KeyAttribute
		for field := range strings.FieldsSeq(text) {
			kinds := map[byte]attribute.Kind{'S': attribute.S, 'N': attribute.N, 'B': attribute.B}
			last := len(field) - 1
			list = append(list, expression.KeyAttribute{Name: field[:last], Kind: kinds[field[last]]})
		}
		return list
	}
	return expression.KeySchema{Hash: attributes(hash), Range: attributes(ranges)}
}

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
	schema := schemaOf("hS", "rN")
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
		if err != nil || got.Hash[0].Text != "abc" || got.Range != want.Range || !attribute.Equal(got.Low, want.Low) || !attribute.Equal(got.High, want.High) {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	schema = schemaOf("hS", "rS")
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
	schema := schemaOf("hS", "rN")
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
		"h.x = :s":                     "Invalid KeyConditionExpression: KeyConditionExpressions cannot have conditions on nested attributes",
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
	_, err := bindKey(t, "h = :s AND x = :s", schemaOf("hS", ""))
	wantMessage(t, "two conditions, no range key", err, unsupported)
}

// selected returns the form of a condition that the tests below compare.
func selected(key expression.KeyCondition) string {
	texts := func(values []attribute.Value) string {
		var list []string
		for _, v := range values {
			list = append(list, v.Text)
		}
		return strings.Join(list, ",")
	}
	text := texts(key.Hash) + " " + texts(key.Equal)
	if key.Range == expression.AnyRange {
		return text
	}
	return fmt.Sprintf("%s %d %s %s", text, key.Range, key.Low.Text, key.High.Text)
}

func TestKeyConditionsSelectByKeysWithSeveralAttributes(t *testing.T) {
	schema := schemaOf("aS bN", "cS dN eB")
	for text, want := range map[string]string{
		"a = :s AND b = :n":                                      "abc,5 ",
		"b = :n AND a = :s AND c = :z":                           fmt.Sprintf("abc,5  %d z ", expression.RangeEqual),
		"a = :s AND b = :n AND c > :z":                           fmt.Sprintf("abc,5  %d z ", expression.RangeGreater),
		"a = :s AND b = :n AND begins_with(c, :empty)":           fmt.Sprintf("abc,5  %d  ", expression.RangeBeginsWith),
		"d = :n AND a = :s AND c = :z AND b = :n":                fmt.Sprintf("abc,5 z %d 5 ", expression.RangeEqual),
		"a = :s AND b = :n AND c = :z AND d BETWEEN :n AND :ten": fmt.Sprintf("abc,5 z %d 5 10", expression.RangeBetween),
		"a = :s AND b = :n AND c = :z AND d = :n AND e <= :b":    fmt.Sprintf("abc,5 z,5 %d abc ", expression.RangeLessOrEqual),
	} {
		got, err := bindKey(t, text, schema)
		if err != nil || selected(got) != want {
			t.Errorf("%s: %q, %v, want %q", text, selected(got), err, want)
		}
	}
}

func TestInvalidConditionsOnKeysWithSeveralAttributesAreRefused(t *testing.T) {
	const (
		hash     = "HASH key attributes %s must have equality conditions specified in the query"
		ranges   = "RANGE key attributes %s must have equality conditions specified in the query because a condition is present on key attribute %s"
		mismatch = "One or more parameter values were invalid: Condition parameter type does not match schema type"
	)
	schema := schemaOf("aS bN", "cS dN eB")
	for text, want := range map[string]string{
		"a = :s":                                      fmt.Sprintf(hash, "b"),
		"c = :s AND d = :n":                           fmt.Sprintf(hash, "a, b"),
		"a = :s AND b >= :n":                          fmt.Sprintf(hash, "b"),
		"begins_with(a, :s) AND b = :n":               fmt.Sprintf(hash, "a"),
		"a = :s AND b = :n AND d = :n":                fmt.Sprintf(ranges, "c", "d"),
		"a = :s AND b = :n AND e = :b":                fmt.Sprintf(ranges, "c, d", "e"),
		"a = :s AND b = :n AND c = :s AND e = :b":     fmt.Sprintf(ranges, "d", "e"),
		"a = :s AND b = :n AND c < :s AND d = :n":     fmt.Sprintf(ranges, "c", "d"),
		"a = :s AND b = :n AND x = :n":                "Query condition missed key schema element: c",
		"a = :s AND b = :n AND c = :s AND x = :n":     "Query condition missed key schema element: d",
		"a = :s AND b = :s":                           mismatch,
		"a = :s AND b = :n AND c = :n AND d = :n":     mismatch,
		"a = :s AND b = :n AND c = :s AND d = :s":     mismatch,
		"a = :s AND b = :n AND c = :empty AND d = :n": "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: c",
		"a = :s AND b = :n AND c = :s AND d = :n AND e = :b AND x = :n": "The number of query conditions (6) exceeds the number of key attributes defined " +
			"in the schema (5)",
	} {
		_, err := bindKey(t, text, schema)
		wantMessage(t, text, err, want)
	}
	_, err := bindKey(t, "a = :s AND b = :n AND x = :n", schemaOf("aS bN", ""))
	wantMessage(t, "more conditions than HASH attributes", err, "The number of query conditions (3) exceeds the number of key attributes defined in the schema (2)")
	_, err = bindKey(t, "a = :s AND x = :n", schemaOf("aS bN", ""))
	wantMessage(t, "a condition in place of a HASH attribute", err, fmt.Sprintf(hash, "b"))
}
