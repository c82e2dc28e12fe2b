package expression_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
	"github.com/dynajournal/dynajournal/embedded/internal/expression"
)

const conditionItem = `{
	"a":{"S":"abc"}, "same":{"S":"abc"}, "n":{"N":"5"}, "big":{"N":"10"}, "b":{"B":"YWJj"}, "t":{"BOOL":true}, "nul":{"NULL":true},
	"l":{"L":[{"S":"abc"},{"N":"7"},{"M":{"deep":{"L":[{"S":"x"}]}}}]}, "m":{"M":{"k":{"S":"v"},"x.y":{"N":"1"}}},
	"ss":{"SS":["d","abc"]}, "ns":{"NS":["5"]}, "bs":{"BS":["YWJj"]}, "status":{"S":"ok"}, "x.y":{"S":"dot"}, "u":{"S":"é😀"}}`

func bindCondition(t *testing.T, text string) (*expression.BoundCondition, error) {
	t.Helper()
	condition, err := expression.ParseCondition(expression.ConditionExpression, text)
	if err != nil {
		return nil, err
	}
	return condition.Bind(parameters(t, testNames, item(t, testValues)))
}

func TestConditionsAreEvaluatedAsDocumented(t *testing.T) {
	on := item(t, conditionItem)
	for text, want := range map[string]bool{
		"a = :s": true, "#a=:s": true, "a = :a": false, "a <> :a": true, "a <> :s": false, "a = same": true, "a = b": false,
		"a < :z": true, "a <= :s": true, "a > :z": false, "a >= :s": true, "n < :ten": true, "big > n": true, "b = :b": true,
		"n < :s": false, "n >= :s": false, "t = :t": true, "nul = :null": true, "l = :l": false, "ss = :ss": true,
		// A missing value equals nothing and is unequal to everything.
		"nope = :s": false, "nope <> :s": true, "nope < :s": false, "nope = nope2": false, "nope <> nope2": true, "NOT nope = :s": true,
		"a BETWEEN :a AND :z": true, "n between :one and :ten": true, "n BETWEEN :ten AND :ten": false, ":n BETWEEN n AND big": true,
		"nope BETWEEN :a AND :z": false, "a BETWEEN :n AND big": false,
		"a IN (:a, :s)": true, "a in (:a)": false, "nope IN (:a)": false, "a IN (nope, same)": true, ":s IN (a)": true,
		"attribute_exists(a)": true, "attribute_exists(nope)": false, "attribute_not_exists(nope)": true, "attribute_not_exists(#a)": false,
		"attribute_exists(l[0])": true, "attribute_exists(l[3])": false, "attribute_exists(m.k)": true, "attribute_exists(m.nope)": false,
		"attribute_exists(a.b)": false, "attribute_exists(a[0])": false, "attribute_exists(m[0])": false, "attribute_exists(l.x)": false,
		"attribute_exists(l[2].deep[0])": true, "attribute_exists(#dotted)": true, "attribute_exists(m.#dotted)": true,
		"attribute_type(a, :S)": true, "attribute_type(n, :S)": false, "attribute_type(n, :N)": true, "attribute_type(nope, :S)": false,
		"begins_with(a, :a)": true, "begins_with(a, :z)": false, "begins_with(b, :b)": true, "begins_with(b, :a)": false,
		"begins_with(n, :a)": false, "begins_with(nope, :a)": false, "begins_with(a, :empty)": true,
		"contains(a, :bc)": true, "contains(a, :z)": false, "contains(b, :b)": true, "contains(ss, :s)": true, "contains(ss, :z)": false,
		"contains(ns, :n)": true, "contains(ns, :ten)": false, "contains(ss, :n)": false, "contains(bs, :b)": true, "contains(l, :s)": true,
		"contains(l, :n)": false, "contains(n, :n)": false, "contains(m, :s)": false, "contains(nope, :s)": false, "contains(:s, :bc)": true,
		"size(a) = :n": false, "size(a) < :n": true, "size(l) < size(m)": false, "size(ss) > :one": true, "size(m) = size(ss)": true,
		"size(b) < :n": true, "size(n) < :n": false, "size(nope) < :n": false, "size(u) <> size(a)": false, "size(ns) = size(bs)": true,
		"size(t) <> :n": true, "size(nul) = :n": false,
		"a = :s AND n = :n": true, "a = :s AND n = :ten": false, "a = :a OR n = :n": true, "a = :a OR n = :ten": false,
		"NOT a = :a": true, "NOT (a = :s AND n = :n)": false, "not " + "not a = :s": true,
		// AND binds tighter than OR, NOT tighter than AND.
		"a = :s OR a = :a AND a = :a": true, "(a = :s OR a = :a) AND a = :a": false, "NOT a = :s AND a = :a": false,
		"NOT a = :s OR n = :n": true, "a BETWEEN :a AND :z AND n = :n": true,
		"(a = :s)": true, "(a) = (:s)": true, "(m).k <> :s": true, "(m.k) <> (:s)": true, "((a) = :s AND (n = :n)) OR a = :a": true,
		"l[0]=:s": true, "l[ 0 ] = :s": true, "m . k <> :s": true, "a\t=\n:s\r": true, "(size(a)) < :n": true, "size((a)) < :n": true,
		"attribute_exists (a)": true, "#s <> :s": true,
	} {
		condition, err := bindCondition(t, text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := condition.Eval(on); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

func TestConditionsAreEvaluatedWithoutAnItem(t *testing.T) {
	for text, want := range map[string]bool{
		"attribute_not_exists(a)": true, "attribute_exists(a)": false, "a = :s": false, "a <> :s": true, "size(a.b[1]) < :n": false,
	} {
		condition, err := bindCondition(t, text)
		if err != nil || condition.Eval(nil) != want {
			t.Errorf("%s: want %v, %v", text, want, err)
		}
	}
}

func TestInvalidConditionsAreRefusedWithDynamoDBsMessages(t *testing.T) {
	list := strings.Repeat(":s, ", 100) + ":s"
	for text, want := range map[string]string{
		"":                                       "The expression can not be empty;",
		"a":                                      `Syntax error; token: "<EOF>", near: "a"`,
		"  ":                                     `Syntax error; token: "<EOF>", near: ""`,
		":s":                                     `Syntax error; token: "<EOF>", near: ":s"`,
		"a =":                                    `Syntax error; token: "<EOF>", near: "="`,
		"a = = :s":                               `Syntax error; token: "=", near: "= = :s"`,
		"a = :s b":                               `Syntax error; token: "b", near: ":s b"`,
		"a = :s AND":                             `Syntax error; token: "<EOF>", near: "AND"`,
		"a AND b":                                `Syntax error; token: "AND", near: "a AND b"`,
		"a == :s":                                `Syntax error; token: "=", near: "== :s"`,
		"a != :s":                                `Syntax error; token: "!", near: "a !="`,
		"user-id = :s":                           `Syntax error; token: "-", near: "user-id"`,
		"a = 5":                                  `Syntax error; token: "5", near: "= 5"`,
		"a = 'x'":                                `Syntax error; token: "'", near: "= 'x"`,
		"é = :s":                                 `Syntax error; token: "é", near: "é ="`,
		"(a = :s":                                `Syntax error; token: "<EOF>", near: ":s"`,
		"a = :s)":                                `Syntax error; token: ")", near: ":s)"`,
		"()":                                     `Syntax error; token: ")", near: "()"`,
		"a[b] = :s":                              `Syntax error; token: "b", near: "[b]"`,
		"a[0 = :s":                               `Syntax error; token: "=", near: "0 = :s"`,
		"a. = :s":                                `Syntax error; token: "=", near: ". = :s"`,
		"a BETWEEN :s OR :s":                     `Syntax error; token: "OR", near: ":s OR :s"`,
		"a IN :s":                                `Syntax error; token: ":s", near: "IN :s"`,
		"a IN ()":                                `Syntax error; token: ")", near: "()"`,
		"attribute_exists()":                     `Syntax error; token: ")", near: "()"`,
		"NOT":                                    `Syntax error; token: "<EOF>", near: "NOT"`,
		"(a = :s) = :s":                          `Syntax error; token: "=", near: ") = :s"`,
		"a < (n = :n)":                           `Syntax error; token: "<EOF>", near: ")"`,
		"status = :s":                            "Attribute name is a reserved keyword; reserved keyword: status",
		"m.Status = :s":                          "Attribute name is a reserved keyword; reserved keyword: Status",
		"((a = :s))":                             "The expression has redundant parentheses;",
		"((a)) = :s":                             "The expression has redundant parentheses;",
		"a = :s AND ((n=:n))":                    "The expression has redundant parentheses;",
		"foo(a)":                                 "Invalid function name; function: foo",
		"Size(a) = :n":                           "Invalid function name; function: Size",
		"if_not_exists(a, :s)":                   "The function is not allowed in a condition expression; function: if_not_exists",
		"size(a)":                                "The function is not allowed to be used this way in an expression; function: size",
		"size(a) AND a = :s":                     "The function is not allowed to be used this way in an expression; function: size",
		"begins_with(a, :s) = :t":                "The function is not allowed to be used this way in an expression; function: begins_with",
		"contains(a, begins_with(a, :s))":        "The function is not allowed to be used this way in an expression; function: begins_with",
		"size(a, b) = :n":                        "Incorrect number of operands for operator or function; operator or function: size, number of operands: 2",
		"begins_with(a)":                         "Incorrect number of operands for operator or function; operator or function: begins_with, number of operands: 1",
		"attribute_exists(a, b)":                 "Incorrect number of operands for operator or function; operator or function: attribute_exists, number of operands: 2",
		"a = :undefined":                         "An expression attribute value used in expression is not defined; attribute value: :undefined",
		"#undefined = :s":                        "An expression attribute name used in the document path is not defined; attribute name: #undefined",
		"a = :":                                  "An expression attribute value used in expression is not defined; attribute value: :",
		"a = a":                                  "The first operand must be distinct from the remaining operands for this operator or function; operator: =, first operand: [a]",
		"l[1].x < l[1].x":                        "The first operand must be distinct from the remaining operands for this operator or function; operator: <, first operand: [l, [1], x]",
		"a = #a":                                 "The first operand must be distinct from the remaining operands for this operator or function; operator: =, first operand: [a]",
		"contains(a, #a)":                        "The first operand must be distinct from the remaining operands for this operator or function; operator: contains, first operand: [a]",
		"begins_with(a, a)":                      "The first operand must be distinct from the remaining operands for this operator or function; operator: begins_with, first operand: [a]",
		"attribute_exists(:s)":                   "Operator or function requires a document path; operator or function: attribute_exists",
		"attribute_not_exists(size(a))":          "Operator or function requires a document path; operator or function: attribute_not_exists",
		"begins_with(a, :n)":                     "Incorrect operand type for operator or function; operator or function: begins_with, operand type: N",
		"begins_with(:ss, a)":                    "Incorrect operand type for operator or function; operator or function: begins_with, operand type: SS",
		"begins_with(a, size(b))":                "Incorrect operand type for operator or function; operator or function: begins_with, operand type: N",
		"attribute_type(a, b)":                   "Incorrect operand type for operator or function; operator or function: attribute_type, operand type: {NS,SS,L,BS,N,M,B,BOOL,NULL,S}",
		"attribute_type(a, :n)":                  "Incorrect operand type for operator or function; operator or function: attribute_type, operand type: N",
		"attribute_type(a, :bad)":                "Invalid attribute type name found; type: foo, valid types: {B,NULL,SS,BOOL,L,BS,N,NS,S,M}",
		"size(:n) = :n":                          "Incorrect operand type for operator or function; operator or function: size, operand type: N",
		"a < size(size(a))":                      "Incorrect operand type for operator or function; operator or function: size, operand type: N",
		"a < :m":                                 "Incorrect operand type for operator or function; operator or function: <, operand type: M",
		"a >= :t":                                "Incorrect operand type for operator or function; operator or function: >=, operand type: BOOL",
		"a BETWEEN :l AND :l":                    "Incorrect operand type for operator or function; operator or function: BETWEEN, operand type: L",
		"a BETWEEN :z AND :a":                    "The BETWEEN operator requires upper bound to be greater than or equal to lower bound; lower bound operand: AttributeValue: {S:z}, upper bound operand: AttributeValue: {S:a}",
		"a BETWEEN :b AND :n":                    "The BETWEEN operator requires same data type for lower and upper bounds; lower bound operand: AttributeValue: {B:YWJj}, upper bound operand: AttributeValue: {N:5}",
		"a IN (" + list + ")":                    "The IN operator is provided with too many operands; number of operands: 101",
		"a[99999999999999999999] = :s":           "List index is not within the allowable range; index: [99999999999999999999]",
		strings.Repeat("a.", 32) + "a = :s":      "The document path has too many nesting levels; nesting levels: 33",
		strings.Repeat("a=:s OR ", 300) + "a=:s": "The expression contains too many operators; operator count: 301",
		strings.Repeat("a", 4095) + "=":          "Syntax error; token: \"<EOF>\", near: \"=\"",
		strings.Repeat("a", 4096) + "=":          "Expression size has exceeded the maximum allowed size; expression size: 4097",
		strings.Repeat("(", 4096):                `Syntax error; token: "<EOF>", near: "("`,
		strings.Repeat("NOT ", 1024):             `Syntax error; token: "<EOF>", near: "NOT"`,
		strings.Repeat("(", 2000) + "a = :s" + strings.Repeat(")", 2000): "The expression has redundant parentheses;",
	} {
		_, err := bindCondition(t, text)
		wantMessage(t, fmt.Sprintf("%.80s", text), err, "Invalid ConditionExpression: "+want)
	}
}

func TestLimitsOfConditionsAreInclusive(t *testing.T) {
	for _, text := range []string{
		strings.Repeat("a=:s OR ", 299) + "a=:s",
		"a IN (" + strings.Repeat(":s, ", 99) + ":s)",
		strings.Repeat("a.", 31) + "a = :s",
		strings.Repeat("a", 4091) + " = :s",
	} {
		if _, err := bindCondition(t, text); err != nil {
			t.Errorf("%.40s: %v", text, err)
		}
	}
}

func TestParse_ReportsFirstError(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"status = :undefined AND", `Syntax error; token: "<EOF>", near: "AND"`},
		{"status = :s AND foo(a) AND ((a = b))", "The expression has redundant parentheses;"},
		{"status = :s AND foo(a)", "Invalid function name; function: foo"},
		{"a = :undefined AND status = :s", "Attribute name is a reserved keyword; reserved keyword: status"},
		{"begins_with(a, :n) AND a = :undefined", "An expression attribute value used in expression is not defined; attribute value: :undefined"},
	} {
		_, err := bindCondition(t, c.text)
		wantMessage(t, c.text, err, "Invalid ConditionExpression: "+c.want)
	}
}

func TestMessagesNameTheParameterOfTheExpression(t *testing.T) {
	for _, kind := range []expression.Kind{expression.ConditionExpression, expression.FilterExpression, expression.KeyConditionExpression} {
		_, err := expression.ParseCondition(kind, "")
		wantMessage(t, string(kind), err, "Invalid "+string(kind)+": The expression can not be empty;")
	}
	_, err := expression.ParseCondition(expression.FilterExpression, "list_append(a, b)")
	wantMessage(t, "filter", err, "Invalid FilterExpression: The function is not allowed in a filter expression; function: list_append")
}

func TestParametersMustBeWellFormedAndUsed(t *testing.T) {
	value := attribute.Item{":v": attribute.String("v")}
	for _, c := range []struct {
		names  map[string]string
		values attribute.Item
		want   string
	}{
		{map[string]string{}, nil, "ExpressionAttributeNames must not be empty"},
		{nil, attribute.Item{}, "ExpressionAttributeValues must not be empty"},
		{map[string]string{"a": "a"}, nil, `ExpressionAttributeNames contains invalid key: Syntax error; key: "a"`},
		{map[string]string{"#": "a"}, nil, `ExpressionAttributeNames contains invalid key: Syntax error; key: "#"`},
		{map[string]string{"#a-b": "a"}, nil, `ExpressionAttributeNames contains invalid key: Syntax error; key: "#a-b"`},
		{nil, attribute.Item{"v": {}}, `ExpressionAttributeValues contains invalid key: Syntax error; key: "v"`},
	} {
		_, err := expression.NewParameters(c.names, c.values)
		wantMessage(t, c.want, err, c.want)
	}

	p := parameters(t, map[string]string{"#a": "a", "#y": "y", "#x": "x"}, value)
	condition, err := expression.ParseCondition(expression.ConditionExpression, "#a = :v")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := condition.Bind(p); err != nil {
		t.Fatal(err)
	}
	wantMessage(t, "unused names", p.Unused(), "Value provided in ExpressionAttributeNames unused in expressions: keys: {#x, #y}")

	p = parameters(t, map[string]string{"#a": "a"}, attribute.Item{":v": attribute.String("v"), ":z": attribute.Null()})
	if _, err := condition.Bind(p); err != nil {
		t.Fatal(err)
	}
	wantMessage(t, "unused values", p.Unused(), "Value provided in ExpressionAttributeValues unused in expressions: keys: {:z}")

	// Uses in all expressions of a request count.
	p = parameters(t, map[string]string{"#a": "a", "#b": "b"}, value)
	projection, err := expression.ParseProjection("#b, #a.c")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := condition.Bind(p); err != nil {
		t.Fatal(err)
	}
	if _, err := projection.Bind(p); err != nil {
		t.Fatal(err)
	}
	if err := p.Unused(); err != nil {
		t.Error(err)
	}

	_, err = expression.DecodeValues([]byte(`{":a":{"S":"a"},":b":{"N":"x"}}`))
	const notNumeric = "The parameter cannot be converted to a numeric value: x"
	wantMessage(t, "bad value", err, notNumeric)
	if invalid, is := errors.AsType[*attribute.ValidationError](err); is {
		wantMessage(t, "bad value in older words", invalid.OlderWording(),
			"ExpressionAttributeValues contains invalid value: "+notNumeric+" for key :b")
	}
}

func TestAttributesReturnsTheAttributesThatAConditionReads(t *testing.T) {
	condition, err := bindCondition(t, "(b = :s OR size(c.d) > :n) AND NOT #a IN (b, e[1]) AND attribute_exists(f) AND attribute_type(g, :S) "+
		"AND begins_with(h, :s) AND contains(i, j) AND k BETWEEN l AND m")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"b", "c", "a", "e", "f", "g", "h", "i", "j", "k", "l", "m"}
	if got := condition.Attributes(); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestEvaluatingAConditionAllocatesNothing(t *testing.T) {
	condition, err := bindCondition(t, "attribute_not_exists(nope) AND (#a = :s OR n BETWEEN :one AND :ten) AND begins_with(m.k, :a)")
	if err != nil {
		t.Fatal(err)
	}
	on := item(t, conditionItem)
	if n := testing.AllocsPerRun(100, func() { condition.Eval(on) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzParseCondition(f *testing.F) {
	f.Add("a = :s AND (size(#a) BETWEEN :one AND n[0].b OR NOT attribute_exists(x)) AND b IN (:s, :n)")
	f.Add("contains(a, :s) AND begins_with(b, :s) OR attribute_type(c, :S)")
	f.Fuzz(func(t *testing.T, text string) {
		condition, err := bindCondition(t, text)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "Invalid ConditionExpression: ") {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		condition.Eval(item(t, conditionItem))
		condition.Eval(nil)
		condition.Attributes()
		if tests, err := condition.KeyTests(); err == nil {
			_, _ = expression.KeyOf(tests, schemaOf("aS", "bN cB"))
		}
	})
}
