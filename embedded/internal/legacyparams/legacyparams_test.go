package legacyparams_test

import (
	"errors"
	"testing"

	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
	"github.com/dynajournal/dynajournal/embedded/internal/expression"
	"github.com/dynajournal/dynajournal/embedded/internal/legacyparams"
)

func value(t *testing.T, json string) attribute.Value {
	t.Helper()
	v, err := attribute.DecodeValue([]byte(json))
	if err != nil {
		t.Fatalf("%s: %v", json, err)
	}
	return v
}

func item(t *testing.T, json string) attribute.Item {
	t.Helper()
	i, err := attribute.DecodeItem([]byte(json))
	if err != nil {
		t.Fatalf("%s: %v", json, err)
	}
	return i
}

func condition(t *testing.T, operator string, values ...string) legacyparams.Condition {
	t.Helper()
	c := legacyparams.Condition{ComparisonOperator: operator}
	for _, json := range values {
		c.AttributeValueList = append(c.AttributeValueList, value(t, json))
	}
	return c
}

func wantMessage(t *testing.T, what string, err error, want string) {
	t.Helper()
	var invalid *attribute.ValidationError
	if !errors.As(err, &invalid) || invalid.Message != want {
		t.Errorf("%s:\n got %v\nwant %s", what, err, want)
	}
}

const (
	wrong = "One or more parameter values were invalid: "
	s     = `{"S":"abc"}`
	one   = `{"N":"1"}`
	nine  = `{"N":"9"}`
	set   = `{"SS":["abc"]}`
	yes   = `{"BOOL":true}`
)

func TestFiltersAreEvaluatedAsDocumented(t *testing.T) {
	on := item(t, `{"s":{"S":"abcd"},"n":{"N":"5"},"ss":{"SS":["abc"]},"l":{"L":[{"BOOL":true}]}}`)
	for _, c := range []struct {
		name      string
		condition legacyparams.Condition
		want      bool
	}{
		{"n", condition(t, "EQ", nine), false}, {"n", condition(t, "EQ", `{"N":"5.0"}`), true}, {"ss", condition(t, "EQ", set), true},
		{"n", condition(t, "NE", nine), true}, {"none", condition(t, "NE", nine), true}, {"none", condition(t, "EQ", nine), false},
		{"n", condition(t, "LT", nine), true}, {"n", condition(t, "LE", one), false}, {"n", condition(t, "GT", one), true},
		{"n", condition(t, "GE", nine), false}, {"n", condition(t, "BETWEEN", one, nine), true}, {"n", condition(t, "IN", one, nine), false},
		{"s", condition(t, "BEGINS_WITH", s), true}, {"n", condition(t, "BEGINS_WITH", s), false},
		{"s", condition(t, "CONTAINS", s), true}, {"ss", condition(t, "CONTAINS", s), true}, {"l", condition(t, "CONTAINS", yes), true},
		{"s", condition(t, "NOT_CONTAINS", s), false}, {"none", condition(t, "NOT_CONTAINS", s), false},
		{"none", condition(t, "NULL"), true}, {"s", condition(t, "NULL"), false}, {"s", condition(t, "NOT_NULL"), true},
	} {
		filter, err := legacyparams.Filter(map[string]legacyparams.Condition{c.name: c.condition}, "")
		if err != nil || filter.Eval(on) != c.want {
			t.Errorf("%s %s: want %v, %v", c.name, c.condition.ComparisonOperator, c.want, err)
		}
	}
	both := map[string]legacyparams.Condition{"s": condition(t, "NOT_NULL"), "none": condition(t, "NOT_NULL")}
	for operator, want := range map[string]bool{"": false, "AND": false, "OR": true} {
		if filter, err := legacyparams.Filter(both, operator); err != nil || filter.Eval(on) != want {
			t.Errorf("%q of two: want %v, %v", operator, want, err)
		}
	}
	if filter, err := legacyparams.Filter(nil, ""); filter != nil || err != nil {
		t.Errorf("no conditions: %v, %v", filter, err)
	}
}

func TestInvalidConditionsAreRefusedWithDynamoDBsMessages(t *testing.T) {
	for _, c := range []struct {
		condition legacyparams.Condition
		want      string
	}{
		{condition(t, "EQ"), wrong + "Invalid number of argument(s) for the EQ ComparisonOperator"},
		{condition(t, "EQ", s, s), wrong + "Invalid number of argument(s) for the EQ ComparisonOperator"},
		{condition(t, "NULL", s), wrong + "Invalid number of argument(s) for the NULL ComparisonOperator"},
		{condition(t, "BETWEEN", s), wrong + "Invalid number of argument(s) for the BETWEEN ComparisonOperator"},
		{condition(t, "IN"), wrong + "Invalid number of argument(s) for the IN ComparisonOperator"},
		{condition(t, "LT", set), wrong + "ComparisonOperator LT is not valid for SS AttributeValue type"},
		{condition(t, "BEGINS_WITH", one), wrong + "ComparisonOperator BEGINS_WITH is not valid for N AttributeValue type"},
		{condition(t, "CONTAINS", set), wrong + "ComparisonOperator CONTAINS is not valid for SS AttributeValue type"},
		{condition(t, "IN", yes), wrong + "ComparisonOperator IN is not valid for BOOL AttributeValue type"},
		{condition(t, "BETWEEN", s, one), wrong + "AttributeValues inside AttributeValueList must be of same type"},
		{condition(t, "BETWEEN", nine, one), "The BETWEEN condition was provided a range where the lower bound is greater than the upper bound"},
		{condition(t, "LIKE", s), wrong + "ComparisonOperator LIKE is not valid"},
	} {
		_, err := legacyparams.Filter(map[string]legacyparams.Condition{"a": c.condition}, "")
		wantMessage(t, c.want, err, c.want)
	}
	_, err := legacyparams.Filter(nil, "AND")
	wantMessage(t, "no conditions", err, "ConditionalOperator cannot be used without Filter or Expected")
	_, err = legacyparams.Filter(map[string]legacyparams.Condition{"a": condition(t, "NULL")}, "OR")
	wantMessage(t, "one condition", err, "ConditionalOperator can only be used when Filter or Expected has two or more elements")
}

func TestKeyConditionsSelectByHashAndRange(t *testing.T) {
	schema := expression.KeySchema{
		Hash: []expression.KeyAttribute{{Name: "h", Kind: attribute.S}}, Range: []expression.KeyAttribute{{Name: "r", Kind: attribute.N}},
	}
	tests, err := legacyparams.KeyConditions(map[string]legacyparams.Condition{"r": condition(t, "BETWEEN", one, nine), "h": condition(t, "EQ", s)})
	if err != nil {
		t.Fatal(err)
	}
	key, err := expression.NewKeyCondition(tests, schema)
	if err != nil || key.Hash[0].Text != "abc" || key.Range != expression.RangeBetween || key.Low.Text != "1" || key.High.Text != "9" {
		t.Errorf("%+v, %v", key, err)
	}
	for _, operator := range []string{"NE", "CONTAINS", "NOT_CONTAINS", "IN"} {
		tests, err := legacyparams.KeyConditions(map[string]legacyparams.Condition{"h": condition(t, operator, s)})
		if err != nil {
			t.Fatal(err)
		}
		_, err = expression.NewKeyCondition(tests, schema)
		wantMessage(t, operator, err, "Attempted conditional constraint is not an indexable operation")
	}
	three := map[string]legacyparams.Condition{"h": condition(t, "EQ", s), "r": condition(t, "EQ", one), "q": condition(t, "GT", one)}
	if tests, err = legacyparams.KeyConditions(three); err != nil {
		t.Fatal(err)
	}
	_, err = expression.NewKeyCondition(tests, schema)
	wantMessage(t, "three conditions", err, "Conditions can be of length 1 or 2 only")
	schema.Range = append(schema.Range, expression.KeyAttribute{Name: "q", Kind: attribute.N})
	key, err = expression.NewKeyCondition(tests, schema)
	if err != nil || len(key.Equal) != 1 || key.Equal[0].Text != "1" || key.Range != expression.RangeGreater {
		t.Errorf("two RANGE attributes: %+v, %v", key, err)
	}
	_, err = legacyparams.KeyConditions(map[string]legacyparams.Condition{"h": condition(t, "EQ")})
	wantMessage(t, "no value", err, wrong+"Invalid number of argument(s) for the EQ ComparisonOperator")
}

func TestExpectationsAreEvaluatedAsDocumented(t *testing.T) {
	on := item(t, `{"s":{"S":"abc"},"n":{"N":"5"}}`)
	text, number, truth, lie := value(t, s), value(t, nine), true, false
	for name, c := range map[string]struct {
		attribute   string
		expectation legacyparams.Expectation
		want        bool
	}{
		"value":             {"s", legacyparams.Expectation{Value: &text}, true},
		"other value":       {"n", legacyparams.Expectation{Value: &text}, false},
		"exists with value": {"s", legacyparams.Expectation{Exists: &truth, Value: &text}, true},
		"exists not":        {"none", legacyparams.Expectation{Exists: &lie}, true},
		"exists though not": {"s", legacyparams.Expectation{Exists: &lie}, false},
		"compared list":     {"n", legacyparams.Expectation{ComparisonOperator: "LT", AttributeValueList: []attribute.Value{number}}, true},
		"compared value":    {"n", legacyparams.Expectation{ComparisonOperator: "GT", Value: &number}, false},
		"null":              {"none", legacyparams.Expectation{ComparisonOperator: "NULL"}, true},
	} {
		expected, err := legacyparams.Expected(map[string]legacyparams.Expectation{c.attribute: c.expectation}, "")
		if err != nil || expected.Eval(on) != c.want {
			t.Errorf("%s: want %v, %v", name, c.want, err)
		}
	}
	either, err := legacyparams.Expected(map[string]legacyparams.Expectation{"s": {Value: &number}, "none": {Exists: &lie}}, "OR")
	if err != nil || !either.Eval(on) {
		t.Errorf("either: %v", err)
	}
	for want, e := range map[string]legacyparams.Expectation{
		"Exists and ComparisonOperator cannot be used together":                {Exists: &lie, ComparisonOperator: "NULL"},
		"Value and AttributeValueList cannot be used together":                 {ComparisonOperator: "EQ", Value: &text, AttributeValueList: []attribute.Value{text}},
		"Value or AttributeValueList must be used with ComparisonOperator: EQ": {ComparisonOperator: "EQ"},
		"AttributeValueList can only be used with a ComparisonOperator":        {AttributeValueList: []attribute.Value{text}},
		"Value must be provided when Exists is null":                           {},
		"Value must be provided when Exists is true":                           {Exists: &truth},
		"Value cannot be used when Exists is false":                            {Exists: &lie, Value: &text},
	} {
		_, err := legacyparams.Expected(map[string]legacyparams.Expectation{"a": e}, "")
		wantMessage(t, want, err, wrong+want+" for Attribute: a")
	}
	_, err = legacyparams.Expected(nil, "AND")
	wantMessage(t, "no expectations", err, "ConditionalOperator cannot be used without Filter or Expected")
}

func TestAttributeUpdatesAreAppliedAsDocumented(t *testing.T) {
	update := func(action, json string) legacyparams.AttributeUpdate {
		if json == "" {
			return legacyparams.AttributeUpdate{Action: action}
		}
		v := value(t, json)
		return legacyparams.AttributeUpdate{Action: action, Value: &v}
	}
	old := item(t, `{"n":{"N":"5"},"ss":{"SS":["abc","d"]},"l":{"L":[{"N":"1"}]},"gone":{"S":"x"},"s":{"S":"x"}}`)
	bound, err := legacyparams.Update(map[string]legacyparams.AttributeUpdate{
		"n": update("ADD", one), "ss": update("DELETE", set), "l": update("ADD", `{"L":[{"N":"2"}]}`), "gone": update("DELETE", ""),
		"s": update("", s), "new": update("PUT", one), "count": update("ADD", one),
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := bound.Apply(old)
	want := item(t, `{"n":{"N":"6"},"ss":{"SS":["d"]},"l":{"L":[{"N":"1"},{"N":"2"}]},"s":{"S":"abc"},"new":{"N":"1"},"count":{"N":"1"}}`)
	if err != nil || !attribute.EqualItems(got, want) {
		t.Errorf("%s, %v", attribute.AppendItem(nil, got), err)
	}

	for _, mismatched := range []map[string]legacyparams.AttributeUpdate{
		{"s": update("ADD", one)}, {"n": update("ADD", set)}, {"n": update("DELETE", set)},
	} {
		bound, err := legacyparams.Update(mismatched)
		if err != nil {
			t.Fatal(err)
		}
		_, err = bound.Apply(old)
		wantMessage(t, "mismatch", err, "Type mismatch for attribute to update")
	}
	for want, u := range map[string]legacyparams.AttributeUpdate{
		"Only DELETE action is allowed when no attribute value is specified": update("PUT", ""),
		"DELETE action with value is not supported for the type S":           update("DELETE", s),
		"ADD action is not supported for the type S":                         update("ADD", s),
	} {
		_, err := legacyparams.Update(map[string]legacyparams.AttributeUpdate{"a": u})
		wantMessage(t, want, err, wrong+want)
	}
}
