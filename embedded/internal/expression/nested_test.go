package expression_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/dynajournal/dynajournal/embedded/internal/expression"
)

func TestNestedReturnsTheAttributesThatAConditionReadsWithin(t *testing.T) {
	for text, want := range map[string]string{
		"a = :s AND attribute_exists(n)":                   "",
		"#a.x = :s":                                        "a",
		"a[0] = :s OR a.x = :s":                            "a",
		"NOT (n.x = :s OR a[1] < n)":                       "n a",
		"a BETWEEN l[0] AND m.k":                           "l m",
		":s IN (a, l[0])":                                  "l",
		"size(a.x) > :one":                                 "a",
		"contains(a.x, m.k)":                               "a m",
		"begins_with(l[0], :s) AND attribute_type(m.k,:S)": "l m",
		"attribute_not_exists(m.k)":                        "m",
		"#dotted = :s":                                     "",
	} {
		condition, err := expression.ParseCondition(expression.ConditionExpression, text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		bound, err := condition.Bind(parameters(t, testNames, item(t, testValues)))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		wantNested(t, text, bound.Nested(), want)
	}
}

func TestNestedReturnsTheAttributesThatAProjectionReadsWithin(t *testing.T) {
	for text, want := range map[string]string{
		"a, n, #dotted":          "",
		"#a.x, #a.y, n, l[0][1]": "a l",
	} {
		projection, err := expression.ParseProjection(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		bound, err := projection.Bind(parameters(t, testNames, nil))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		wantNested(t, text, bound.Nested(), want)
	}
}

func TestNestedReturnsTheAttributesThatAnUpdateChangesOrReadsWithin(t *testing.T) {
	for text, want := range map[string]string{
		"SET a = :s REMOVE n":                        "",
		"SET a.x = :s":                               "a",
		"REMOVE l[0]":                                "l",
		"ADD m.k :n DELETE a.x :ss":                  "m a",
		"SET a = n - m.k":                            "m",
		"SET a = list_append(:l, l[0])":              "l",
		"SET a = if_not_exists(m.k, :s)":             "m",
		"SET a = if_not_exists(a, l[1])":             "l",
		"SET a.x = if_not_exists(n, l[1]) REMOVE ns": "a l",
	} {
		update, err := expression.ParseUpdate(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		bound, err := update.Bind(parameters(t, testNames, item(t, testValues)))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		wantNested(t, text, bound.Nested(), want)
	}
}

func TestNested_NilExpressions(t *testing.T) {
	var condition *expression.BoundCondition
	var projection *expression.BoundProjection
	var update *expression.BoundUpdate
	wantNested(t, "no expression", slices.Concat(condition.Nested(), projection.Nested(), update.Nested()), "")
}

func wantNested(t *testing.T, text string, got []string, want string) {
	t.Helper()
	if strings.Join(got, " ") != want {
		t.Errorf("%s: got %q, want %q", text, got, want)
	}
}
