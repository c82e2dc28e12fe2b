package expression_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
	"github.com/dynajournal/dynajournal/embedded/internal/expression"
)

const updateItem = `{"a":{"S":"abc"},"n":{"N":"5"},"m":{"M":{"k":{"N":"1"},"o":{"M":{}}}},
	"l":{"L":[{"N":"0"},{"N":"1"},{"N":"2"},{"M":{"x":{"N":"9"}}}]},"ss":{"SS":["abc","x"]},"ns":{"NS":["5"]}}`

func bindUpdate(t *testing.T, text string) (*expression.BoundUpdate, error) {
	t.Helper()
	update, err := expression.ParseUpdate(text)
	if err != nil {
		return nil, err
	}
	return update.Bind(parameters(t, testNames, item(t, testValues)))
}

func TestUpdatesAreAppliedAsDocumented(t *testing.T) {
	// changed and removed are the difference from updateItem: changed has new attribute values,
	// removed has the names of removed attributes.
	for _, c := range []struct {
		text    string
		changed string
		removed []string
	}{
		{"SET b = :s", `{"b":{"S":"abc"}}`, nil},
		{"set #a=:n", `{"a":{"N":"5"}}`, nil},
		{"SET b = a, a = n, n = a", `{"b":{"S":"abc"},"a":{"N":"5"},"n":{"S":"abc"}}`, nil},
		{"SET n = n + :one", `{"n":{"N":"6"}}`, nil},
		{"SET n = n - :ten", `{"n":{"N":"-5"}}`, nil},
		{"SET n = (n - (:ten - n))", `{"n":{"N":"0"}}`, nil},
		{"SET n = :ten + :one", `{"n":{"N":"11"}}`, nil},
		{"SET c = if_not_exists(c, :one) + :one", `{"c":{"N":"2"}}`, nil},
		{"SET n = if_not_exists(n, :one)", `{"n":{"N":"5"}}`, nil},
		{"SET c = if_not_exists(m.none, a)", `{"c":{"S":"abc"}}`, nil},
		{"SET c = list_append(:l, :l)", `{"c":{"L":[{"S":"abc"},{"S":"abc"}]}}`, nil},
		{"SET c = list_append(if_not_exists(c, :l), :l)", `{"c":{"L":[{"S":"abc"},{"S":"abc"}]}}`, nil},
		{"SET m.k = :s, m.z = :n", `{"m":{"M":{"k":{"S":"abc"},"z":{"N":"5"},"o":{"M":{}}}}}`, nil},
		{"SET m.o.x = :n REMOVE m.k", `{"m":{"M":{"o":{"M":{"x":{"N":"5"}}}}}}`, nil},
		{"SET l[1] = :s", `{"l":{"L":[{"N":"0"},{"S":"abc"},{"N":"2"},{"M":{"x":{"N":"9"}}}]}}`, nil},
		{"SET l[3].x = :s", `{"l":{"L":[{"N":"0"},{"N":"1"},{"N":"2"},{"M":{"x":{"S":"abc"}}}]}}`, nil},
		{"SET l[99] = :ten, l[50] = :s", `{"l":{"L":[{"N":"0"},{"N":"1"},{"N":"2"},{"M":{"x":{"N":"9"}}},{"S":"abc"},{"N":"10"}]}}`, nil},
		{"REMOVE l[0], l[2]", `{"l":{"L":[{"N":"1"},{"M":{"x":{"N":"9"}}}]}}`, nil},
		{"REMOVE l[9]", `{}`, nil},
		{"SET l[1] = :ten, l[9] = :n REMOVE l[0]", `{"l":{"L":[{"N":"10"},{"N":"2"},{"M":{"x":{"N":"9"}}},{"N":"5"}]}}`, nil},
		{"REMOVE a, m.k, none", `{"m":{"M":{"o":{"M":{}}}}}`, []string{"a"}},
		{"ADD n :ten, c :one", `{"n":{"N":"15"},"c":{"N":"1"}}`, nil},
		{"ADD ss :ss", `{"ss":{"SS":["abc","x","d"]}}`, nil},
		{"ADD c :ss", `{"c":{"SS":["abc","d"]}}`, nil},
		{"ADD m.k :one", `{"m":{"M":{"k":{"N":"2"},"o":{"M":{}}}}}`, nil},
		{"DELETE ss :ss", `{"ss":{"SS":["x"]}}`, nil},
		{"DELETE ns :ns", `{}`, []string{"ns"}},
		{"DELETE c :ss", `{}`, nil},
		{"SET b = :s REMOVE a ADD n :one DELETE ss :ss", `{"b":{"S":"abc"},"n":{"N":"6"},"ss":{"SS":["x"]}}`, []string{"a"}},
	} {
		text := strings.ReplaceAll(c.text, "none", "nope")
		update, err := bindUpdate(t, text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		old := item(t, updateItem)
		got, err := update.Apply(old)
		want := item(t, updateItem)
		maps.Copy(want, item(t, c.changed))
		for _, name := range c.removed {
			delete(want, name)
		}
		if err != nil || !attribute.EqualItems(got, want) {
			t.Errorf("%s: %v\n got %s\nwant %s", text, err, attribute.AppendItem(nil, got), attribute.AppendItem(nil, want))
		}
		if !attribute.EqualItems(old, item(t, updateItem)) {
			t.Errorf("%s: the old item has changed", text)
		}
	}
}

func TestUpdatesCreateItems(t *testing.T) {
	update, err := bindUpdate(t, "SET b = :s ADD n :one, t :ss REMOVE c DELETE d :ss")
	if err != nil {
		t.Fatal(err)
	}
	got, err := update.Apply(nil)
	if want := item(t, `{"b":{"S":"abc"},"n":{"N":"1"},"t":{"SS":["abc","d"]}}`); err != nil || !attribute.EqualItems(got, want) {
		t.Errorf("%s, %v", attribute.AppendItem(nil, got), err)
	}
	if want := []string{"b", "n", "t", "c", "d"}; !slices.Equal(update.Attributes(), want) {
		t.Errorf("attributes %v, want %v", update.Attributes(), want)
	}
}

func TestUpdatesThatDoNotFitTheItemAreRefusedWithDynamoDBsMessages(t *testing.T) {
	const (
		operand = "An operand in the update expression has an incorrect data type"
		missing = "The provided expression refers to an attribute that does not exist in the item"
		path    = "The document path provided in the update expression is invalid for update"
	)
	for text, want := range map[string]string{
		"SET b = nope":                   missing,
		"SET b = nope + :one":            missing,
		"SET b = m.nope":                 missing,
		"SET b = l[9]":                   missing,
		"SET b = if_not_exists(nope, z)": missing,
		"SET b = list_append(nope, :l)":  missing,
		"SET b = a + :one":               operand,
		"SET b = :one - a":               operand,
		"SET b = list_append(a, :l)":     operand,
		"ADD a :one":                     operand,
		"ADD n :ss":                      operand,
		"ADD ns :ss":                     operand,
		"DELETE ns :ss":                  operand,
		"DELETE n :ss":                   operand,
		"SET nope.x = :s":                path,
		"SET a.x = :s":                   path,
		"SET a[0] = :s":                  path,
		"SET m[0] = :s":                  path,
		"SET l.x = :s":                   path,
		"SET l[9].x = :s":                path,
		"REMOVE nope.x":                  path,
		"ADD nope.x :one":                path,
	} {
		update, err := bindUpdate(t, text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		_, err = update.Apply(item(t, updateItem))
		wantMessage(t, text, err, want)
	}
}

func TestInvalidUpdatesAreRefusedWithDynamoDBsMessages(t *testing.T) {
	const (
		clash   = "; must remove or rewrite one of these paths; path one: "
		operand = "Incorrect operand type for operator or function; operator or function: "
	)
	for text, want := range map[string]string{
		"":                                 "The expression can not be empty;",
		"SET":                              `Syntax error; token: "<EOF>", near: "SET"`,
		"SET a":                            `Syntax error; token: "<EOF>", near: "a"`,
		"SET a = ":                         `Syntax error; token: "<EOF>", near: "="`,
		"SET a = :s,":                      `Syntax error; token: "<EOF>", near: ","`,
		"SET a = :s b = :s":                `Syntax error; token: "b", near: ":s b ="`,
		"a = :s":                           `Syntax error; token: "a", near: "a ="`,
		"REMOVE :s":                        `Syntax error; token: ":s", near: "REMOVE :s"`,
		"ADD a b":                          `Syntax error; token: "b", near: "a b"`,
		"DELETE a":                         `Syntax error; token: "<EOF>", near: "a"`,
		"SET a = :s + ":                    `Syntax error; token: "<EOF>", near: "+"`,
		"SET a = :s * :s":                  `Syntax error; token: "*", near: ":s * :s"`,
		"SET :a = :s":                      `Syntax error; token: ":a", near: "SET :a ="`,
		"SET set = :s":                     `Syntax error; token: "set", near: "SET set ="`,
		"SET a = ((:s))":                   "The expression has redundant parentheses;",
		"SET a = foo(:s)":                  "Invalid function name; function: foo",
		"SET a = size(b)":                  "The function is not allowed in an update expression; function: size",
		"SET status = :s":                  "Attribute name is a reserved keyword; reserved keyword: status",
		"SET a = :s SET b = :s":            `The "SET" section can only be used once in an update expression;`,
		"REMOVE a remove b":                `The "REMOVE" section can only be used once in an update expression;`,
		"SET a = :undefined":               "An expression attribute value used in expression is not defined; attribute value: :undefined",
		"REMOVE #undefined":                "An expression attribute name used in the document path is not defined; attribute name: #undefined",
		"SET a = :s, #a = :s":              "Two document paths overlap with each other" + clash + "[a], path two: [a]",
		"SET a.b = :s REMOVE a":            "Two document paths overlap with each other" + clash + "[a, b], path two: [a]",
		"SET a = :s REMOVE a.b[0]":         "Two document paths overlap with each other" + clash + "[a], path two: [a, b, [0]]",
		"SET a.b = :s REMOVE a[0]":         "Two document paths conflict with each other" + clash + "[a, b], path two: [a, [0]]",
		"SET a = if_not_exists(a)":         "Incorrect number of operands for operator or function; operator or function: if_not_exists, number of operands: 1",
		"SET a = if_not_exists(:s, :s)":    "Operator or function requires a document path; operator or function: if_not_exists",
		"SET a = list_append(a, :s)":       operand + "list_append, operand type: S",
		"SET a = list_append(a, b + c)":    `Syntax error; token: "+", near: "b + c"`,
		"SET a = :s + :n":                  operand + "+, operand type: S",
		"SET a = b - :l":                   operand + "-, operand type: L",
		"SET a = :one + list_append(b, c)": operand + "+, operand type: L",
		"ADD a :s":                         "Incorrect operand type for operator or function; operator: ADD, operand type: STRING, typeSet: ALLOWED_FOR_ADD_OPERAND",
		"ADD a :l":                         "Incorrect operand type for operator or function; operator: ADD, operand type: LIST, typeSet: ALLOWED_FOR_ADD_OPERAND",
		"ADD a :t":                         "Incorrect operand type for operator or function; operator: ADD, operand type: BOOLEAN, typeSet: ALLOWED_FOR_ADD_OPERAND",
		"DELETE a :n":                      "Incorrect operand type for operator or function; operator: DELETE, operand type: NUMBER, typeSet: ALLOWED_FOR_DELETE_OPERAND",
		"SET a = :n + :n + :n":             `Syntax error; token: "+", near: ":n + :n"`,
		"SET _a = :n":                      `Syntax error; token: "_", near: "SET _a"`,
		"SET a = _f(b)":                    `Syntax error; token: "_", near: "= _f"`,
		"SET a = list_append(list_append(b, c), d)":                                "The function is not allowed to be used this way in an expression; function: list_append",
		"SET a = " + strings.Repeat("(:n+", 301) + ":n" + strings.Repeat(")", 301): "The expression contains too many operators; operator count: 301",
		"SET a = " + strings.Repeat("(", 4000):                                     `Syntax error; token: "<EOF>", near: "("`,
	} {
		_, err := bindUpdate(t, text)
		wantMessage(t, fmt.Sprintf("%.80s", text), err, "Invalid UpdateExpression: "+want)
	}
}

func TestUpdatedReturnsWhatAnUpdateChanges(t *testing.T) {
	update, err := bindUpdate(t, "SET m.k = :s, l[1] = :ten REMOVE a ADD n :one")
	if err != nil {
		t.Fatal(err)
	}
	old := item(t, updateItem)
	updated, err := update.Apply(old)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := update.Updated(old), item(t, `{"m":{"M":{"k":{"N":"1"}}},"l":{"L":[{"N":"1"}]},"a":{"S":"abc"},"n":{"N":"5"}}`); !attribute.EqualItems(got, want) {
		t.Errorf("old: %s", attribute.AppendItem(nil, got))
	}
	if got, want := update.Updated(updated), item(t, `{"m":{"M":{"k":{"S":"abc"}}},"l":{"L":[{"N":"10"}]},"n":{"N":"6"}}`); !attribute.EqualItems(got, want) {
		t.Errorf("new: %s", attribute.AppendItem(nil, got))
	}
}

func TestUpdatesCanNotCreateInvalidValues(t *testing.T) {
	apply := func(text string, values, old attribute.Item) error {
		update, err := expression.ParseUpdate(text)
		if err != nil {
			t.Fatal(err)
		}
		bound, err := update.Bind(parameters(t, nil, values))
		if err != nil {
			t.Fatal(err)
		}
		_, err = bound.Apply(old)
		return err
	}
	deep := attribute.Null()
	for range attribute.MaxDepth - 1 {
		deep = attribute.List(deep)
	}
	old := attribute.Item{"m": attribute.Map(attribute.Item{}), "big": attribute.List(make([]attribute.Value, 150<<10)...)}
	if err := apply("SET a = :deep", attribute.Item{":deep": deep}, old); err != nil {
		t.Error(err)
	}
	wantMessage(t, "depth", apply("SET m.a = :deep", attribute.Item{":deep": deep}, old),
		"Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit")
	wantMessage(t, "length", apply("SET big = list_append(big, big)", nil, old), "Item size to update has exceeded the maximum allowed size")
}

func FuzzParseUpdate(f *testing.F) {
	f.Add("SET a.b[1] = if_not_exists(c, :one) + :n, d = list_append(:l, e) REMOVE #a ADD n :one DELETE ss :ss")
	f.Add("SET l[3].x = (n - :one), m.k = a")
	f.Fuzz(func(t *testing.T, text string) {
		update, err := bindUpdate(t, text)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "Invalid UpdateExpression: ") {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		old := item(t, updateItem)
		if updated, err := update.Apply(old); err == nil {
			update.Updated(updated)
			if _, err := attribute.DecodeBinaryItem(attribute.AppendBinaryItem(nil, updated)); err != nil {
				t.Fatalf("%q made what cannot be stored: %v", text, err)
			}
		}
		if !attribute.EqualItems(old, item(t, updateItem)) {
			t.Fatalf("%q changed the old item", text)
		}
	})
}
