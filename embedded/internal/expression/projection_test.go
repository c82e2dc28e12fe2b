package expression_test

import (
	"strings"
	"testing"

	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
	"github.com/dynajournal/dynajournal/embedded/internal/expression"
)

func bindProjection(t *testing.T, text string) (*expression.BoundProjection, error) {
	t.Helper()
	projection, err := expression.ParseProjection(text)
	if err != nil {
		return nil, err
	}
	return projection.Bind(parameters(t, testNames, nil))
}

func TestProjectionsReturnTheValuesAtTheirPaths(t *testing.T) {
	on := item(t, conditionItem)
	for text, want := range map[string]string{
		"a":                     `{"a":{"S":"abc"}}`,
		"a, n":                  `{"a":{"S":"abc"},"n":{"N":"5"}}`,
		"#dotted,#a":            `{"a":{"S":"abc"},"x.y":{"S":"dot"}}`,
		"nope":                  `{}`,
		"m.k":                   `{"m":{"M":{"k":{"S":"v"}}}}`,
		"m.#dotted":             `{"m":{"M":{"x.y":{"N":"1"}}}}`,
		"m.nope":                `{}`,
		"a.nope, a[0]":          "",
		"m[0]":                  `{}`,
		"l.k":                   `{}`,
		"l[1]":                  `{"l":{"L":[{"N":"7"}]}}`,
		"l[2].deep[0], l[0]":    `{"l":{"L":[{"S":"abc"},{"M":{"deep":{"L":[{"S":"x"}]}}}]}}`,
		"l[9], l[1]":            `{"l":{"L":[{"N":"7"}]}}`,
		"l[9]":                  `{}`,
		"l[1], l[0], m.k, m.ab": `{"l":{"L":[{"S":"abc"},{"N":"7"}]},"m":{"M":{"k":{"S":"v"}}}}`,
	} {
		projection, err := bindProjection(t, text)
		if want == "" {
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := projection.Project(on); !attribute.EqualItems(got, item(t, want)) {
			t.Errorf("%s: %s", text, attribute.AppendItem(nil, got))
		}
	}
	if !attribute.EqualItems(on, item(t, conditionItem)) {
		t.Error("the item has changed")
	}
}

func TestInvalidProjectionsAreRefusedWithDynamoDBsMessages(t *testing.T) {
	const clash = "; must remove or rewrite one of these paths; path one: "
	for text, want := range map[string]string{
		"":              "The expression can not be empty;",
		",":             `Syntax error; token: ",", near: ","`,
		"a,":            `Syntax error; token: "<EOF>", near: ","`,
		"a b":           `Syntax error; token: "b", near: "a b"`,
		"(a)":           `Syntax error; token: "(", near: "(a"`,
		":v":            `Syntax error; token: ":v", near: ":v"`,
		"a, name":       "Attribute name is a reserved keyword; reserved keyword: name",
		"#x":            "An expression attribute name used in the document path is not defined; attribute name: #x",
		"a, b, #a":      "Two document paths overlap with each other" + clash + "[a], path two: [a]",
		"a, a.b[1]":     "Two document paths overlap with each other" + clash + "[a], path two: [a, b, [1]]",
		"a.b[1].c, a.b": "Two document paths overlap with each other" + clash + "[a, b, [1], c], path two: [a, b]",
		"a.b, a[1]":     "Two document paths conflict with each other" + clash + "[a, b], path two: [a, [1]]",
	} {
		_, err := bindProjection(t, text)
		wantMessage(t, text, err, "Invalid ProjectionExpression: "+want)
	}
}

func FuzzParseProjection(f *testing.F) {
	f.Add("a, #a.b[1], c[0][1].d")
	f.Fuzz(func(t *testing.T, text string) {
		projection, err := bindProjection(t, text)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "Invalid ProjectionExpression: ") {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		projection.Project(item(t, conditionItem))
	})
}
