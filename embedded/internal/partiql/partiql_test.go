package partiql_test

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
	"github.com/dynajournal/dynajournal/embedded/internal/expression"
	"github.com/dynajournal/dynajournal/embedded/internal/partiql"
)

func item(t *testing.T, json string) attribute.Item {
	t.Helper()
	i, err := attribute.DecodeItem([]byte(json))
	if err != nil {
		t.Fatalf("%s: %v", json, err)
	}
	return i
}

func parameters(t *testing.T, json ...string) []attribute.Value {
	t.Helper()
	values := make([]attribute.Value, len(json))
	for i, text := range json {
		v, err := attribute.DecodeValue([]byte(text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		values[i] = v
	}
	return values
}

func bind(t *testing.T, text string, params ...string) *partiql.Bound {
	t.Helper()
	statement, err := partiql.Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	bound, err := statement.Bind(parameters(t, params...))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return bound
}

func wantMessage(t *testing.T, what string, err error, want string) {
	t.Helper()
	var invalid *attribute.ValidationError
	if !errors.As(err, &invalid) || invalid.Message != want {
		t.Errorf("%s:\n got %v\nwant %s", what, err, want)
	}
}

const (
	notWellFormed = "Statement wasn't well formed, can't be processed: "
	noKey         = "Where clause does not contain a mandatory equality on all key attributes"
)

var schema = expression.KeySchema{
	Hash: []expression.KeyAttribute{{Name: "h", Kind: attribute.S}}, Range: []expression.KeyAttribute{{Name: "r", Kind: attribute.N}},
}

func TestInsertsReturnTheirItem(t *testing.T) {
	for _, c := range []struct {
		text   string
		params []string
		want   string
	}{
		{`INSERT INTO "t" VALUE {'h': 'a', 'r': 1}`, nil, `{"h":{"S":"a"},"r":{"N":"1"}}`},
		{`insert into t value {'h':?,'r':?}`, []string{`{"S":"x"}`, `{"N":"2"}`}, `{"h":{"S":"x"},"r":{"N":"2"}}`},
		{
			`INSERT INTO t VALUE {'q''s': 'it''s', 'n': -1.50e1, 'f': .5, 't': true, 'x': FALSE, 'null': null, 'm': {}, 'l': []};`, nil,
			`{"q's":{"S":"it's"},"n":{"N":"-15"},"f":{"N":"0.5"},"t":{"BOOL":true},"x":{"BOOL":false},"null":{"NULL":true},"m":{"M":{}},"l":{"L":[]}}`,
		},
		{
			`INSERT INTO t VALUE {'l': [1, ['a', ?]], 'm': {'k': {'z': ?}}, 'ss': <<'a','b'>>, 'ns': << 1, ? >>}`,
			[]string{`{"S":"p"}`, `{"L":[{"N":"1"}]}`, `{"N":"3"}`},
			`{"l":{"L":[{"N":"1"},{"L":[{"S":"a"},{"S":"p"}]}]},"m":{"M":{"k":{"M":{"z":{"L":[{"N":"1"}]}}}}},"ss":{"SS":["a","b"]},"ns":{"NS":["1","3"]}}`,
		},
	} {
		bound := bind(t, c.text, c.params...)
		if bound.Verb != partiql.Insert || bound.Table != "t" || !attribute.EqualItems(bound.Item, item(t, c.want)) {
			t.Errorf("%s: %s", c.text, attribute.AppendItem(nil, bound.Item))
		}
	}
}

func TestBind_Repeated(t *testing.T) {
	statement, err := partiql.Parse(`INSERT INTO t VALUE {'h': ?, 'l': [?, 1]}`)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"a", "b"} {
		bound, err := statement.Bind([]attribute.Value{attribute.String(text), attribute.String(text)})
		if err != nil || bound.Item["h"].Text != text || bound.Item["l"].List[0].Text != text {
			t.Errorf("%s: %v, %v", text, bound, err)
		}
	}
	for _, n := range []int{0, 1, 3} {
		_, err := statement.Bind(make([]attribute.Value, n))
		wantMessage(t, "parameters", err, "Number of parameters in request and statement don't match.")
	}
}

func TestUpdatesNameTheirItemAndChangeIt(t *testing.T) {
	old := item(t, `{"h":{"S":"a"},"r":{"N":"1"},"n":{"N":"5"},"l":{"L":[{"N":"1"}]},"ss":{"SS":["a","b"]},"m":{"M":{"k":{"N":"1"},"j":{"N":"2"}}},"gone":{"N":"1"}}`)
	bound := bind(t, `UPDATE "t" SET n = n + ? SET "m"."k" = 'new', l[0] = - 3 REMOVE gone REMOVE m.j SET l2 = list_append(l, [?, 'x'])
		SET ss = set_delete(ss, <<'a'>>), s2 = SET_ADD(s2, <<?>>) WHERE r = 1 AND "h" = ? AND n > 4 RETURNING MODIFIED NEW *`,
		`{"N":"2"}`, `{"S":"p"}`, `{"S":"c"}`, `{"S":"a"}`)
	if bound.Verb != partiql.Update || bound.Table != "t" || bound.Returning != partiql.ReturnModifiedNew || bound.Parameters != 4 {
		t.Errorf("%+v", bound.Statement)
	}
	key, condition, err := bound.Target(schema)
	if err != nil || !attribute.EqualItems(key, item(t, `{"h":{"S":"a"},"r":{"N":"1"}}`)) {
		t.Fatalf("%v, %v", key, err)
	}
	if !condition.Eval(old) || condition.Eval(nil) || condition.Eval(item(t, `{"h":{"S":"a"},"n":{"N":"4"}}`)) {
		t.Error("the further condition is lost")
	}
	updated, err := bound.Change.Apply(old)
	want := item(t, `{"h":{"S":"a"},"r":{"N":"1"},"n":{"N":"7"},"l":{"L":[{"N":"-3"}]},"l2":{"L":[{"N":"1"},{"S":"p"},{"S":"x"}]},
		"ss":{"SS":["b"]},"s2":{"SS":["c"]},"m":{"M":{"k":{"S":"new"}}}}`)
	if err != nil || !attribute.EqualItems(updated, want) {
		t.Errorf("%s, %v", attribute.AppendItem(nil, updated), err)
	}
	if got := bound.Change.Attributes(); !slices.Equal(got, []string{"n", "m", "l", "gone", "l2", "ss", "s2"}) {
		t.Errorf("changed attributes %v", got)
	}
}

func TestTarget_UpdateRequiresItem(t *testing.T) {
	_, condition, err := bind(t, "UPDATE t SET a = 1 WHERE h = 'a' AND r = 1").Target(schema)
	if err != nil || condition.Eval(nil) || !condition.Eval(item(t, `{"h":{"S":"a"},"r":{"N":"1"}}`)) {
		t.Errorf("%v", err)
	}
}

func TestDeletesNameTheirItem(t *testing.T) {
	bound := bind(t, `DELETE FROM t WHERE 'a' = h AND r = ? RETURNING ALL OLD *`, `{"N":"7"}`)
	key, condition, err := bound.Target(schema)
	if err != nil || !attribute.EqualItems(key, item(t, `{"h":{"S":"a"},"r":{"N":"7"}}`)) || bound.Returning != partiql.ReturnAllOld {
		t.Errorf("%v, %v", key, err)
	}
	if condition != nil {
		t.Error("a key alone is no condition: what is not there is deleted too")
	}
	_, condition, err = bind(t, `DELETE FROM t WHERE h = 'a' AND (r = 7 AND h = 'b')`).Target(schema)
	if err != nil || condition == nil || condition.Eval(item(t, `{"h":{"S":"a"}}`)) {
		t.Errorf("a second equality on the key is a condition: %v", err)
	}
	_, condition, err = bind(t, `DELETE FROM t WHERE h = 'a' AND n = 1 AND r = 7`).Target(schema)
	if err != nil || !condition.Eval(nil) || condition.Eval(item(t, `{"h":{"S":"a"}}`)) || !condition.Eval(item(t, `{"h":{"S":"a"},"n":{"N":"1"}}`)) {
		t.Errorf("conditions are for items that exist: %v", err)
	}
}

func TestWritesMustNameAllOfTheKey(t *testing.T) {
	for _, text := range []string{
		"DELETE FROM t", "DELETE FROM t WHERE h = 'a'", "DELETE FROM t WHERE r = 1", "DELETE FROM t WHERE h = 'a' OR r = 1",
		"DELETE FROM t WHERE h = 'a' AND r > 1", "DELETE FROM t WHERE h = 'a' AND NOT r = 1", "UPDATE t REMOVE a WHERE h = b AND r = 1",
		"DELETE FROM t WHERE h = 'a' AND r.x = 1", "DELETE FROM t WHERE h IN ('a') AND r = 1",
	} {
		_, _, err := bind(t, text).Target(schema)
		wantMessage(t, text, err, noKey)
	}
}

func TestConditionsAreEvaluatedAsDocumented(t *testing.T) {
	on := item(t, `{"h":{"S":"abc"},"n":{"N":"5"},"l":{"L":[{"N":"1"},{"M":{"k":{"S":"v"}}}]},"nul":{"NULL":true},"ss":{"SS":["x","y"]},"size":{"N":"1"}}`)
	for text, want := range map[string]bool{
		"n = 5": true, "5 = n": true, "n <> 5": false, "n != 5": false, "n < 6": true, "n <= 4": false, "n > 4": true, "n >= 6": false,
		"n BETWEEN 1 AND 5": true, "n BETWEEN 6 AND 7": false, "n IN (1, 5)": true, "n IN [1, 2]": false, "n NOT IN [1, 2]": true,
		"n = 5 AND h = 'abc'": true, "n = 4 OR h = 'abc'": true, "NOT n = 5": false, "NOT (n = 4 AND h = 'abc')": true,
		"n = 4 OR n = 5 AND h = 'x'": false, "((n = 5))": true, "NOT " + "NOT n = 5": true,
		"nope IS MISSING": true, "n IS MISSING": false, "n IS NOT MISSING": true, "nul IS NULL": true, "n is not null": true,
		"begins_with(h, 'ab')": true, "BEGINS_WITH(\"h\", 'b')": false, "contains(h, 'bc')": true, "contains(ss, 'x')": true,
		"attribute_type(n, 'N')": true, "attribute_type(h, 'N')": false, "size(h) = 3": true, "size(l) > 2": false, "size = 1": true,
		"l[1].k = 'v'": true, "\"l\"[0] = 1": true, "ss = <<'y', 'x'>>": true, "l = [1, {'k': 'v'}]": true, "nul = NULL": true,
		"n = -5": false, "h = 'ABC'": false,
	} {
		selection, err := bind(t, "SELECT * FROM t WHERE "+text).Selection(schema)
		if err != nil || selection.Filter.Eval(on) != want {
			t.Errorf("%s: want %v, %v", text, want, err)
		}
	}
}

func TestSelectsReadByKeyWherePossible(t *testing.T) {
	for _, c := range []struct {
		where    string
		hashes   []string
		operator expression.RangeOperator
		backward bool
	}{
		{"", nil, 0, false},
		{"WHERE n = 5", nil, 0, false},
		{"WHERE h > 'a'", nil, 0, false},
		{"WHERE h = 'a' OR n = 5", nil, 0, false},
		{"WHERE h = n", nil, 0, false},
		{"WHERE h = 'a' OR h = 'b'", []string{"a", "b"}, 0, false},
		{"WHERE (h = 'a' OR h IN ('b', 'a')) AND r = 1", []string{"a", "b"}, expression.RangeEqual, false},
		{"WHERE h IN ('a', n)", nil, 0, false},
		{"WHERE h = 'a'", []string{"a"}, 0, false},
		{"WHERE h IN ('b', 'a', 'b')", []string{"b", "a"}, 0, false},
		{"WHERE h = 'a' AND n = 5", []string{"a"}, 0, false},
		{"WHERE h = 'a' AND r = 5", []string{"a"}, expression.RangeEqual, false},
		{"WHERE r < 5 AND h = 'a'", []string{"a"}, expression.RangeLess, false},
		{"WHERE h = 'a' AND 5 < r", []string{"a"}, expression.RangeGreater, false},
		{"WHERE h = 'a' AND 5 >= r", []string{"a"}, expression.RangeLessOrEqual, false},
		{"WHERE h = 'a' AND r <> 5", []string{"a"}, 0, false},
		{"WHERE h = 'a' AND r BETWEEN 1 AND 5", []string{"a"}, expression.RangeBetween, false},
		{"WHERE h = 'a' AND r BETWEEN 5 AND 1", []string{"a"}, 0, false},
		{"WHERE h = 'a' AND begins_with(r, 'x')", []string{"a"}, 0, false},
		{"WHERE h = 'a' AND r = 'x'", []string{"a"}, 0, false},
		{"WHERE h = 'a' ORDER BY r DESC", []string{"a"}, 0, true},
		{"WHERE h = 'a' ORDER BY r ASC", []string{"a"}, 0, false},
		{"WHERE h IN ('b', 'a') ORDER BY h, \"r\" DESC", []string{"a", "b"}, 0, true},
		{"WHERE h IN ('a', 'b') ORDER BY h DESC", []string{"b", "a"}, 0, false},
	} {
		selection, err := bind(t, "SELECT * FROM t "+c.where).Selection(schema)
		if err != nil {
			t.Errorf("%s: %v", c.where, err)
			continue
		}
		var hashes []string
		for _, key := range selection.Keys {
			hashes = append(hashes, key.Hash[0].Text)
			if key.Range != c.operator {
				t.Errorf("%s: range operator %d", c.where, key.Range)
			}
		}
		if !slices.Equal(hashes, c.hashes) || selection.Backward != c.backward || (selection.Filter == nil) != (c.where == "") {
			t.Errorf("%s: %v, %+v", c.where, hashes, selection)
		}
	}
	for text, want := range map[string]string{
		"ORDER BY r":               "Must have WHERE clause in the statement when using ORDER BY clause.",
		"WHERE n = 1 ORDER BY r":   "Must have at least one non-optional hash key condition in WHERE clause when using ORDER BY clause.",
		"WHERE h = 'a' ORDER BY n": "Variable reference n in ORDER BY clause must be part of the primary key",
		"WHERE h = 5":              "One or more parameter values were invalid: Condition parameter type does not match schema type",
	} {
		_, err := bind(t, "SELECT * FROM t "+text).Selection(schema)
		wantMessage(t, text, err, want)
	}
}

// multiple is the schema of an index whose keys have several attributes.
var multiple = expression.KeySchema{
	Hash:  []expression.KeyAttribute{{Name: "a", Kind: attribute.S}, {Name: "b", Kind: attribute.N}},
	Range: []expression.KeyAttribute{{Name: "c", Kind: attribute.S}, {Name: "d", Kind: attribute.N}},
}

func TestSelectsReadByKeysWithSeveralAttributes(t *testing.T) {
	texts := func(values []attribute.Value) string {
		var list []string
		for _, v := range values {
			list = append(list, v.Text)
		}
		return strings.Join(list, "")
	}
	list := func(n int) string { return "[" + strings.Repeat("1, ", n-1) + "2]" }
	several := func(n int) string {
		var values []string
		for i := range n {
			values = append(values, strconv.Itoa(i))
		}
		return "[" + strings.Join(values, ", ") + "]"
	}
	for _, c := range []struct {
		where    string
		keys     []string // the values of HASH, of equal RANGE attributes, and the last condition
		backward bool
	}{
		{"a = 'x'", nil, false},
		{"a = 'x' AND c = 'y'", nil, false},
		{"a = 'x' AND b > 1", nil, false},
		{"a = 'x' AND b = 1 OR a = 'x' AND b = 2", nil, false},
		{"b = 1 AND a = 'x'", []string{"x1/"}, false},
		{"a IN ('x', 'y') AND b IN (1, 2, 1)", []string{"x1/", "x2/", "y1/", "y2/"}, false},
		{"(a = 'x' OR a = 'y') AND b = 1 AND c = 'z'", []string{"x1/=z", "y1/=z"}, false},
		{"a = 'x' AND b = 1 AND d = 5", []string{"x1/"}, false},
		{"a = 'x' AND b = 1 AND c > 'z' AND d = 5", []string{"x1/>z"}, false},
		{"a = 'x' AND b = 1 AND d < 5 AND c = 'z'", []string{"x1/z<5"}, false},
		{"a = 'x' AND b = 1 AND c = 'z' AND d = 5", []string{"x1/z=5"}, false},
		{"a = 'x' AND b = 1 AND c = 7 AND d = 5", []string{"x1/"}, false},
		{"a = 'x' AND b IN " + list(200), []string{"x1/", "x2/"}, false},
		{"a IN ('x', 'y') AND b IN " + several(51), nil, false},
		{"a = 'x' AND b = 1 ORDER BY c DESC", []string{"x1/"}, true},
		{"a = 'x' AND b = 1 ORDER BY c DESC, d DESC", []string{"x1/"}, true},
		{"a = 'x' AND b = 1 AND c = 'z' ORDER BY d DESC", []string{"x1/=z"}, true},
		{"a = 'x' AND b = 1 AND c = 'z' ORDER BY c ASC, d DESC", []string{"x1/=z"}, true},
		{"a IN ('x', 'y') AND b IN (1, 2) ORDER BY b DESC, a, c", []string{"x2/", "y2/", "x1/", "y1/"}, false},
		{"a IN ('y', 'x') AND b IN (2, 1) ORDER BY a DESC", []string{"y2/", "y1/", "x2/", "x1/"}, false},
	} {
		selection, err := bind(t, "SELECT * FROM t WHERE "+c.where).Selection(multiple)
		if err != nil {
			t.Errorf("%s: %v", c.where, err)
			continue
		}
		var keys []string
		for _, key := range selection.Keys {
			operator := map[expression.RangeOperator]string{
				expression.RangeEqual: "=", expression.RangeGreater: ">", expression.RangeLess: "<",
			}[key.Range]
			keys = append(keys, texts(key.Hash)+"/"+texts(key.Equal)+operator+key.Low.Text)
		}
		if !slices.Equal(keys, c.keys) || selection.Backward != c.backward {
			t.Errorf("%.100s: %q, backward %t; want %q, %t", c.where, keys, selection.Backward, c.keys, c.backward)
		}
	}
	const overlap = "Overlapping conditions with range keys are not supported in where clause"
	for where, want := range map[string]string{
		"a = 'x' ORDER BY c":                                                                 "Must have at least one non-optional hash key condition in WHERE clause when using ORDER BY clause.",
		"a = 'x' AND b = 1 ORDER BY d":                                                       "Variable reference d in ORDER BY clause must be part of the primary key",
		"a = 'x' AND b = 1 ORDER BY c, d DESC":                                               "Variable reference d in ORDER BY clause must be part of the primary key",
		"a = 'x' AND b = 'y'":                                                                "One or more parameter values were invalid: Condition parameter type does not match schema type",
		"a = 'x' AND b = 1 OR a = 'x' AND b = 1":                                             overlap,
		"a = 'x' AND b = 1 AND c = 'z' OR a = 'x' AND b = 1 AND d = 1":                       overlap,
		"a = 'x' AND b = 1 AND c = 'z' OR a = 'x' AND b = 1 AND c = 'y'":                     "",
		"a = 'x' AND b = 1 AND c = 'z' AND d = 1 OR a = 'x' AND b = 1 AND c = 'z' AND d > 1": "",
		"a = 'x' AND b = 1 OR a = 'x' AND b = 2":                                             "",
		"a = 'x' AND b = 1 AND NOT d = 1 OR a = 'x' AND b = 1":                               "",
		"a = 'x' OR a = 'x'":                                                                 "",
	} {
		_, err := bind(t, "SELECT * FROM t WHERE "+where).Selection(multiple)
		switch {
		case want != "":
			wantMessage(t, where, err, want)
		case err != nil:
			t.Errorf("%s: %v", where, err)
		}
	}
}

func TestSelectsReturnTheirColumns(t *testing.T) {
	on := item(t, `{"a":{"S":"x"},"m":{"M":{"k":{"N":"1"},"l":{"L":[{"N":"7"}]}}},"b":{"NULL":true}}`)
	for columns, want := range map[string]string{
		"*":             `{"a":{"S":"x"},"m":{"M":{"k":{"N":"1"},"l":{"L":[{"N":"7"}]}}},"b":{"NULL":true}}`,
		"a":             `{"a":{"S":"x"}}`,
		`"b", a, nope`:  `{"a":{"S":"x"},"b":{"NULL":true}}`,
		`m.k, m."l"[0]`: `{"k":{"N":"1"},"_2":{"N":"7"}}`,
	} {
		bound := bind(t, "SELECT "+columns+` FROM "t"."i"`)
		if bound.Table != "t" || bound.Index != "i" {
			t.Errorf("%s: from %s.%s", columns, bound.Table, bound.Index)
		}
		if got := bound.Project(on); !attribute.EqualItems(got, item(t, want)) {
			t.Errorf("%s: %s", columns, attribute.AppendItem(nil, got))
		}
	}
	if got := bind(t, `SELECT m.k, a FROM t`).Attributes(); !slices.Equal(got, []string{"m", "a"}) {
		t.Errorf("attributes %v", got)
	}
	if got := bind(t, `SELECT * FROM t`).Attributes(); got != nil {
		t.Errorf("attributes of all: %v", got)
	}
}

func TestChecksRequireTheirItemAndConditions(t *testing.T) {
	bound := bind(t, "EXISTS(SELECT * FROM t WHERE h = 'a' AND r = 1 AND n = ?)", `{"N":"5"}`)
	key, condition, err := bound.Target(schema)
	if err != nil || bound.Verb != partiql.Check || key["h"].Text != "a" {
		t.Fatalf("%v, %v", key, err)
	}
	if condition.Eval(nil) || !condition.Eval(item(t, `{"h":{"S":"a"},"n":{"N":"5"}}`)) || condition.Eval(item(t, `{"h":{"S":"a"}}`)) {
		t.Error("the condition is not that the item exists and n = 5")
	}
}

func TestStatementsThatAreNotWellFormedAreRefused(t *testing.T) {
	const leftOver, noTerm, noRight = "Unexpected token after expression", "Unexpected term", "Missing right-hand side expression of infix operator"
	for text, want := range map[string]string{
		"":                                                      "Expected data manipulation",
		"CREATE TABLE t":                                        "Expected data manipulation",
		"SELECT":                                                "Unexpected end of statement",
		"SELECT * FROM":                                         noTerm,
		"SELECT * t":                                            "Unexpected token: t",
		"SELECT FROM t":                                         "Unexpected keyword",
		"SELECT * FROM t WHERE":                                 noTerm,
		"SELECT * FROM t WHERE;":                                noTerm,
		"SELECT * FROM t WHERE NOT":                             noTerm,
		"SELECT * FROM t WHERE (":                               noTerm,
		"SELECT * FROM t WHERE a":                               "Unexpected end of statement",
		"SELECT * FROM t WHERE a = ":                            noRight,
		"SELECT * FROM t WHERE a=1 AND":                         noRight,
		"SELECT * FROM t WHERE a=1 OR;":                         noRight,
		"SELECT * FROM t WHERE ORDER BY a":                      "Unexpected keyword",
		"SELECT * FROM t WHERE IS NULL":                         "Unexpected operator",
		"SELECT * FROM t WHERE a = LIKE":                        "Unexpected operator",
		"SELECT * FROM t WHERE a IS FOO":                        "Expected type name",
		"SELECT * FROM t WHERE a = 1 e5":                        leftOver,
		"SELECT * FROM t WHERE a = 1)":                          leftOver,
		"SELECT * FROM t ORDER BY a WHERE b = 1":                leftOver,
		"SELECT * FROM t; SELECT":                               leftOver,
		"SELECT * FROM Payment-x":                               leftOver,
		"SELECT * FROM t WHERE a = 'x":                          "",
		"SELECT * FROM t WHERE a = 1 # x":                       "",
		"SELECT * FROM t WHERE a = 1 /* x":                      "",
		"SELECT * FROM t WHERE a = 1e2147483648":                "",
		"SELECT * FROM t WHERE a = 1.5e-2147483647":             "",
		"SELECT * FROM ?":                                       noTerm,
		"SELECT * FROM t WHERE MISSING":                         "Unexpected keyword",
		"SELECT * FROM t WHERE a.inner = 1":                     "Invalid path dot component",
		"SELECT a[x] FROM t":                                    "Unexpected token: x",
		"INSERT INTO t VALUES {}":                               leftOver,
		"INSERT INTO t x VALUE {}":                              leftOver,
		"INSERT INTO t VALUE {'a': 1} x":                        leftOver,
		"INSERT INTO t VALUE ?":                                 "Unexpected token: ?",
		"INSERT INTO t VALUE {a: 1}":                            "Unexpected token: a",
		"INSERT INTO t VALUE {'a': b}":                          noTerm,
		"INSERT INTO t VALUE {'a': 1":                           "Unexpected end of statement",
		"INSERT INTO t VALUE {'a': 1,}":                         "Unexpected token: }",
		"INSERT INTO t VALUE {'a': [1,]}":                       noTerm,
		"INSERT INTO t.i VALUE {}":                              "An index can only be selected from",
		"UPDATE t WHERE a = 1":                                  "Unexpected keyword",
		"UPDATE t SET a = 1":                                    "Unexpected end of statement",
		"UPDATE t SET a WHERE b=1":                              "Unexpected keyword",
		"FROM t SET a = 1 WHERE b = 1":                          leftOver,
		"FROM t WHERE b = 1":                                    "Unexpected end of statement",
		"DELETE t":                                              "Unexpected token: t",
		"DELETE FROM":                                           "Expected identifier for simple path",
		"DELETE FROM WHERE a = 1":                               "Expected identifier for simple path",
		"DELETE FROM t WHERE a=1 ORDER BY a":                    leftOver,
		"DELETE FROM t WHERE a=1 RETURNING OLD *":               "Unexpected token: OLD",
		"EXISTS SELECT * FROM t":                                "Unexpected keyword",
		"SELECT * FROM t WHERE " + strings.Repeat("(", 8000):    noTerm,
		"INSERT INTO t VALUE {'a':" + strings.Repeat("[", 8000): noTerm,
		strings.Repeat("x", 8193):                               "The statement is longer than 8192 bytes",
	} {
		_, err := partiql.Parse(text)
		wantMessage(t, fmt.Sprintf("%.60s", text), err, notWellFormed+want)
	}
	const overflow = "Number overflow. Attempting to store a number with magnitude larger than supported range under root"
	const first, second = "The first argument to SET_ADD must equal the assignment value at ", "The second argument to SET_DELETE must be a value with type SET at "
	for text, want := range map[string]string{
		"INSERT INTO t VALUE {'a': <<>>}":                  "Empty bags are not supported",
		"INSERT INTO t VALUE {'a': <<1, 1.0>>}":            "Input collection contains duplicates",
		"INSERT INTO t VALUE {'a': <<'x', 'x'>>}":          "One or more parameter values were invalid: Input collection [x, x] contains duplicates.",
		"INSERT INTO t VALUE {'a': <<1, 'a'>>}":            "One or more parameter values were invalid: A set must have members of one of the types S, N and B",
		"INSERT INTO t VALUE {'a': <<[]>>}":                "One or more parameter values were invalid: A set must have members of one of the types S, N and B",
		"INSERT INTO t VALUE {'a': 1e126}":                 overflow,
		"INSERT INTO t VALUE {'a': {'x': 1e126}}":          overflow + ".x",
		"INSERT INTO t VALUE {'a': [1, {'x': 1e126}]}":     overflow + "[1].x",
		"INSERT INTO t VALUE {'a': f(1)}":                  "Unsupported data type: f under key root at 1:27:1",
		"SELECT * FROM t WHERE a = 1e126":                  overflow,
		"DELETE FROM t WHERE a = 1 RETURNING ALL NEW *":    "Invalid returning clause: RETURNING ALL NEW *. Only RETURNING ALL OLD * is allowed in DELETE statements.",
		"SELECT * FROM t x":                                "Aliasing is not supported",
		"SELECT * FROM t AS x WHERE a = 1":                 "Aliasing is not supported",
		"UPDATE t x SET a = 1 WHERE b = 1":                 "Aliasing is not supported",
		"DELETE FROM t x WHERE b = 1":                      "Aliasing is not supported",
		`SELECT * FROM ""`:                                 "Path component cannot be an empty string",
		`SELECT * FROM t.""`:                               "Path component cannot be an empty string",
		`SELECT * FROM a.b.c`:                              "A path may contain at most 2 components in the FROM clause",
		"SELECT attribute_exists(a) FROM t":                "Unexpected path component at 1:8:16",
		"SELECT * FROM t\nWHERE 'é' = a AND foo(a, b)":     "Unrecognized function: foo at 2:19:3",
		"SELECT * FROM t WHERE a = foo(b)":                 "Unrecognized function: foo at 1:27:3",
		"SELECT * FROM t WHERE EXISTS(a)":                  "Unrecognized function: exists at 1:23:6",
		"SELECT * FROM t WHERE begins_with(a)":             "Incorrect number of operands for operator or function; operator or function: begins_with, number of operands: 1",
		"SELECT * FROM t WHERE attribute_exists()":         "Incorrect number of operands for operator or function; operator or function: attribute_exists, number of operands: 0",
		"SELECT * FROM t WHERE attribute_not_exists(?)":    "Operator or function requires a document path; operator or function: attribute_not_exists",
		"UPDATE t SET a = foo(1,2) WHERE b=1":              "Unrecognized function: foo at 1:18:3",
		"UPDATE t SET a = set_add(b, <<1>>) WHERE b=1":     first + "1:18:7",
		"UPDATE t SET a = set_add(<<1>>, <<1>>) WHERE b=1": first + "1:18:7",
		"UPDATE t SET a = set_add(a) WHERE b=1":            "SET_ADD must have exactly two arguments at 1:18:7",
		"UPDATE t SET a = SET_DELETE(a, [1]) WHERE b=1":    second + "1:29:1",
		"x IS DOUBLE PRECISION":                            "Unsupported operation: IsType",
	} {
		_, err := partiql.Parse(text)
		wantMessage(t, text, err, want)
	}
}

func TestCommentsAreSkipped(t *testing.T) {
	for _, text := range []string{
		"-- a note\nSELECT * FROM t WHERE h = 'a'", "SELECT * FROM t -- a note\nWHERE h = 'a'", "SELECT * FROM t /* ' */ WHERE h = 'a' /**/",
		"SELECT * FROM t WHERE h = 'a' -- a note",
	} {
		if selection, err := bind(t, text).Selection(schema); err != nil || len(selection.Keys) != 1 {
			t.Errorf("%s: %+v, %v", text, selection, err)
		}
	}
}

func TestBranchesThatOverlapAreRefused(t *testing.T) {
	const overlap = "Overlapping conditions with range keys are not supported in where clause"
	for where, want := range map[string]string{
		"h = 'a' AND r = 1 OR h = 'a' AND r = 2":              "",
		"h = 'a' AND r < 2 OR h = 'a' AND r >= 2":             "",
		"h = 'a' AND NOT r = 1 OR h = 'a' AND r = 2":          "",
		"h = 'a' AND r <> 1 OR h = 'a' AND r = 2":             "",
		"h = 'a' OR h = 'a' AND NOT r IN [1, 2]":              "",
		"h = 'a' OR h = 'b'":                                  "",
		"n = 1 OR n = 1":                                      "",
		"h = 'a' AND r <= 2 OR h = 'a' AND r BETWEEN 2 AND 3": overlap,
		"h = 'a' AND n = 1 OR h = 'a' AND r = 2":              overlap,
		"h = 'a' AND n <> 1 OR h = 'a' AND r = 2":             overlap,
		"h = 'a' OR h = 'b' OR h = 'a'":                       overlap,
	} {
		_, err := bind(t, "SELECT * FROM t WHERE "+where).Selection(schema)
		if want == "" && err != nil {
			t.Errorf("%s: %v", where, err)
		}
		if want != "" {
			wantMessage(t, where, err, want)
		}
	}
}

func TestValuesNestNoDeeperThanItemsMay(t *testing.T) {
	const tooDeep = "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit"
	list := func(depth int) string { return strings.Repeat("[", depth) + strings.Repeat("]", depth) }
	bind(t, "INSERT INTO t VALUE {'a': "+list(32)+"}")
	for _, text := range []string{
		"INSERT INTO t VALUE {'a': " + list(33) + "}",
		"INSERT INTO t VALUE {'a': [" + list(31) + ",?," + list(32) + "]}",
	} {
		statement, err := partiql.Parse(text)
		if err == nil {
			_, err = statement.Bind(make([]attribute.Value, statement.Parameters))
		}
		wantMessage(t, "insert", err, tooDeep)
	}
	_, err := partiql.Parse("UPDATE t SET a = " + list(4000) + " WHERE h = 1")
	wantMessage(t, "set", err, tooDeep)
}

func FuzzParse(f *testing.F) {
	f.Add(`INSERT INTO "t" VALUE {'h': ?, 'l': [1, 'a', <<?>>], 'm': {'x': true}}`)
	f.Add(`UPDATE t SET a = a + 1, b = list_append(b, [?]) REMOVE c[0].d WHERE h = 'a' AND r = 1 AND NOT x IN [1] RETURNING ALL NEW *`)
	f.Add(`SELECT a, b.c FROM "t"."i" WHERE (h IN ('a') OR size(x) BETWEEN 1 AND 2) AND y IS NOT MISSING ORDER BY r DESC;`)
	f.Add(`SELECT * FROM "t"."i" WHERE a IN ('x', 'y') AND b = 1 AND c = 'z' AND d < 5 ORDER BY a, c, d DESC`)
	f.Add(`EXISTS(SELECT * FROM t WHERE begins_with(h, 'a') AND attribute_type(x, 'S'))`)
	f.Add(`DELETE FROM t WHERE h = 'it''s' RETURNING ALL OLD *`)
	old := attribute.Item{"h": attribute.String("a"), "l": attribute.List(attribute.Null())}
	f.Fuzz(func(t *testing.T, text string) {
		statement, err := partiql.Parse(text)
		if err != nil {
			return
		}
		params := make([]attribute.Value, statement.Parameters)
		for i := range params {
			params[i] = attribute.String(strings.Repeat("p", i))
		}
		bound, err := statement.Bind(params)
		if err != nil {
			return
		}
		if _, condition, err := bound.Target(schema); err == nil && condition != nil {
			condition.Eval(old)
		}
		for _, schema := range []expression.KeySchema{schema, multiple} {
			if selection, err := bound.Selection(schema); err == nil && selection.Filter != nil {
				selection.Filter.Eval(old)
			}
		}
		if bound.Change != nil {
			_, _ = bound.Change.Apply(old)
		}
		bound.Project(old)
		bound.Attributes()
		if _, err := attribute.DecodeBinaryItem(attribute.AppendBinaryItem(nil, bound.Item)); err != nil {
			t.Fatalf("%q made what cannot be stored: %v", text, err)
		}
	})
}
