package hocon_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dynajournal/dynajournal/applicationconf/internal/hocon"
)

// load writes files to a folder and loads main.conf.
func load(t testing.TB, defaults string, files map[string]string) (*hocon.Document, error) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return hocon.Load(filepath.Join(dir, "main.conf"), defaults)
}

func TestText(t *testing.T) {
	t.Setenv("HOCON_TEST_SET", "from the environment")
	for name, c := range map[string]struct {
		text, path, want string
		unset            bool
	}{
		"JSON is HOCON":                              {`{"a": {"b": "c\u0041\n"}}`, "a.b", "cA\n", false},
		"keys are paths":                             {"a.b.c = 1", "a.b.c", "1", false},
		"quoted keys are not paths":                  {`a."b.c" = 1`, `a."b.c"`, "1", false},
		"keys can have blanks":                       {"a b . c = 1", "a b .c", "1", false},
		"a brace needs no = before it":               {"a { b = 1 }", "a.b", "1", false},
		"strings need no quotes":                     {"a = b c  d # comment", "a", "b c  d", false},
		"comments end with the line":                 {"// one\na = 1 // two\n# three\nb = 2", "b", "2", false},
		"quoted strings can contain comment signs":   {`a = "http://x:1#y"`, "a", "http://x:1#y", false},
		"triple quotes keep their text unchanged":    {"a = \"\"\"x\\n\"y\"\"\"\"", "a", `x\n"y"`, false},
		"commas separate on a line":                  {"a { b = 1, c = 2 }", "a.c", "2", false},
		"the last definition wins":                   {"a = 1\na = 2", "a", "2", false},
		"objects are merged":                         {"a { b = 1, c = 1 }\na { c = 2 }", "a.b", "1", false},
		"a scalar ends an object":                    {"a { b = 1 }\na = 2\na { c = 3 }", "a.b", "", true},
		"null unsets":                                {"a = 1\na = null", "a", "", true},
		"a reference has the final value":            {"a = ${b}\nb = 1\nb = 2", "a", "2", false},
		"references can be parts of strings":         {"b = 1\na = x${b} y", "a", "x1 y", false},
		"a reference to itself has the value before": {"a = 1\na = ${a}2", "a", "12", false},
		"an object after a reference extends it":     {"b { x = 1, y = 1 }\na = ${b} { y = 2 }", "a.y", "2", false},
		"an extended object keeps its other keys":    {"b { x = 1, y = 1 }\na = ${b} { y = 2 }", "a.x", "1", false},
		"an object is extended by itself":            {"a { x = 1 }\na = ${a} { y = 2 }", "a.x", "1", false},
		"the environment is the last resort":         {"a = ${HOCON_TEST_SET}", "a", "from the environment", false},
		"the file comes before the environment":      {"HOCON_TEST_SET = 1\na = ${HOCON_TEST_SET}", "a", "1", false},
		"an optional reference can be unset":         {"a = ${?HOCON_TEST_UNSET}", "a", "", true},
		"an unset reference keeps the value before":  {"a = 1\na = ${?HOCON_TEST_UNSET}", "a", "1", false},
		"values that are not read can be invalid":    {"a = ${nowhere}\nb = 1", "b", "1", false},
		"a byte order mark is skipped":               {"\ufeffa = 1", "a", "1", false},
		"included files are part of the object":      {"x { include \"other\" }", "x.o", "1", false},
		"included references are looked up there":    {"q = 1\nx { include \"other\" }", "x.r", "2", false},
		"and then at the top level":                  {"q = 1\nx { include \"other\" }", "x.s", "1", false},
		"files are included by name":                 {"include file(\"other.conf\")", "o", "1", false},
		"required files are included":                {"include required(file(\"other.conf\"))", "o", "1", false},
		"missing files are left out":                 {"include \"nothing\"\na = 1", "a", "1", false},
		"URLs and class paths are left out":          {"include classpath(\"other.conf\")\ninclude url(\"http://x/\")\na = 1", "a", "1", false},
		"a key can begin with include":               {"include-dir = 1", "include-dir", "1", false},
		"defaults apply where nothing is set":        {"a = 1", "default", "d", false},
		"references find defaults":                   {"a = ${default}", "a", "d", false},
		"set values come before defaults":            {"default = 1", "default", "1", false},
		"optional references in a row can be unset":  {"a = ${?x}${?y}", "a", "", true},
		"a path through a scalar has no value":       {"a = 1", "a.b", "", true},
		"an empty file has the defaults":             {"", "default", "d", false},
		"braces can enclose everything":              {"{ a = 1 }\n", "a", "1", false},
		"a value can be on the line after its key":   {"a =\n 1", "a", "1", false},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := load(t, "default = d",
				map[string]string{"main.conf": c.text, "other.conf": "o = 1\nq0 = 2\nr = ${q0}\ns = ${q}"})
			if err != nil {
				t.Fatal(err)
			}
			got, set, err := d.Text(c.path)
			if err != nil || got != c.want || set == c.unset {
				t.Errorf("%s = %q, %v, %v; want %q", c.path, got, set, err, c.want)
			}
		})
	}
}

func TestList(t *testing.T) {
	d, err := load(t, "", map[string]string{"main.conf": "b = [ 1, 2 ]\na = ${b} [ ${c}\n\"y z\" ]\na += 5\nc = x"})
	if err != nil {
		t.Fatal(err)
	}
	got, set, err := d.List("a")
	if want := "1|2|x|y z|5"; err != nil || !set || strings.Join(got, "|") != want {
		t.Errorf("a = %q, %v, %v; want %s", got, set, err, want)
	}
	if _, set, err := d.List("nothing"); set || err != nil {
		t.Errorf("nothing: %v, %v", set, err)
	}
}

func TestHas(t *testing.T) {
	d, err := load(t, "", map[string]string{"main.conf": "a { b = 1 }"})
	if err != nil {
		t.Fatal(err)
	}
	if !d.Has("a") || d.Has("a.b") || d.Has("c") {
		t.Errorf("Has: a %v, a.b %v, c %v", d.Has("a"), d.Has("a.b"), d.Has("c"))
	}
}

func TestLoad_InvalidFiles(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"an object that does not end":      {"a {\n b = 1", ":2: a } is missing"},
		"an array that does not end":       {"a = [1, 2", "a ] is missing"},
		"a string that does not end":       {"\na = \"x\nb = 1", ":2: a string does not end"},
		"a brace too many":                 {"a = 1\n}", ":2: unexpected '}'"},
		"a key without a value":            {"a =\n", "a value is missing"},
		"a key alone":                      {"a\nb = 1", "unexpected '\\n'"},
		"a value without a key":            {"= 3", "a key is missing"},
		"a missing part of a key":          {"a..b = 3", "unexpected '.'"},
		"a sign that needs quotes":         {"a = http://x", "unexpected ':'"},
		"a reference that does not end":    {"a = ${b", "unexpected end of the text in a key"},
		"an unknown escape":                {`a = "\q"`, "invalid string"},
		"nesting without end":              {strings.Repeat("a{", 1000), "nested deeper"},
		"arrays in arrays without end":     {"a = " + strings.Repeat("[", 1000), "nested deeper"},
		"a required file that is missing":  {`include required("nothing")`, "required include not found"},
		"a required file of a class path":  {`include required(classpath("x"))`, "only files"},
		"a file that includes itself":      {"a = 1\ninclude \"main\"", "main.conf:2:"},
		"too many bytes":                   {strings.Repeat("#", 1<<20+1), "more than 1048576 bytes"},
		"not UTF-8":                        {"a = \xff", "not UTF-8"},
		"an include that has no file name": {"include file(x)", "unexpected 'x'"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := load(t, "", map[string]string{"main.conf": c.text})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q in it", err, c.want)
			}
		})
	}
	if _, err := hocon.Load(filepath.Join(t.TempDir(), "main.conf"), ""); err == nil {
		t.Error("a file that does not exist was loaded")
	}
}

func TestInclude_Circle(t *testing.T) {
	_, err := load(t, "", map[string]string{"main.conf": "\ninclude \"other\"", "other.conf": `include "main"`})
	if err == nil || !strings.Contains(err.Error(), "main.conf:2: ") ||
		!strings.Contains(err.Error(), "main.conf\" includes itself") {
		t.Errorf("error %v", err)
	}
}

func TestInclude_TooDeep(t *testing.T) {
	files := map[string]string{"main.conf": `include "0"`}
	for i := range 20 {
		files[fmt.Sprintf("%d.conf", i)] = fmt.Sprintf("include \"%d\"", i+1)
	}
	if _, err := load(t, "", files); err == nil || !strings.Contains(err.Error(), "nested deeper than 10") {
		t.Errorf("error %v", err)
	}
}

// TestKeys_Positions reads keys of all forms, in two files.
func TestKeys_Positions(t *testing.T) {
	d, err := load(t, "a { byDefault = 1 }", map[string]string{
		"main.conf":  "a.b = 1\na {\n  \"c d\" = ${nowhere}\n  include \"other\"\n  list += 1 }\n\nbase { of = \"\"\"\n\n\"\"\"\n last = 1 }\na = ${base}\na.b = 2\ncircle = ${circle}",
		"other.conf": "\nincluded = 1",
	})
	if err != nil {
		t.Fatal(err)
	}
	keys, err := d.Keys("a")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, key := range keys {
		got = append(got, fmt.Sprintf("%s@%s:%d", key.Name, filepath.Base(key.At.File), key.At.Line))
		if at := d.At(hocon.Join("a", key.Name)); at != key.At {
			t.Errorf("%s is at %v and %v", key.Name, key.At, at)
		}
	}
	want := "byDefault@.:0 c d@main.conf:3 list@main.conf:5 of@main.conf:7 last@main.conf:10 b@main.conf:12 included@other.conf:2"
	if strings.Join(got, " ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, " "), want)
	}
	if at := d.At("circle"); at.Line != 13 {
		t.Errorf("the circle is at %v", at)
	}
	if at := d.At("a.nothing"); !at.IsZero() {
		t.Errorf("a missing key is at %v", at)
	}
}

func TestInclude_LeftOut(t *testing.T) {
	d, err := load(t, "", map[string]string{"main.conf": "a.b {\ninclude \"nothing\" }\ninclude url(\"http://x\")"})
	if err != nil {
		t.Fatal(err)
	}
	got := d.Skipped()
	if len(got) != 2 || got[0].Name != "nothing" || hocon.Join(got[0].Within...) != "a.b" || got[0].At.Line != 2 ||
		got[1].At.Line != 3 {
		t.Errorf("%+v", got)
	}
}

func TestText_Errors(t *testing.T) {
	doubling, chain := "x0 = 1\n", ""
	for i := range 500 {
		doubling += fmt.Sprintf("x%d = ${x%d}${x%d}\n", i+1, i, i)
		chain += fmt.Sprintf("y%d = ${y%d}\n", i, i+1)
	}
	for name, c := range map[string]struct{ text, path, want string }{
		"a reference to nothing":       {"a = ${b}", "a", "${b} is not set"},
		"references in a circle":       {"a = ${b}\nb = ${a}", "a", "is not set"},
		"a reference to itself":        {"a = ${a}", "a", "${a} is not set"},
		"an object for a single value": {"a { b = 1 }", "a", "an object instead of a single value"},
		"an array for a single value":  {"a = []", "a", "an array instead of a single value"},
		"an object next to a string":   {"a = x { b = 1 }", "a", "different kinds of values"},
		"doubling without end":         {doubling, "x60", "too complicated"},
		"an invalid path":              {"a = 1", "a..b", "path"},
		"a chain without end":          {chain, "y0", "too complicated"},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := load(t, "", map[string]string{"main.conf": c.text})
			if err != nil {
				t.Fatal(err)
			}
			_, _, err = d.Text(c.path)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q in it", err, c.want)
			}
		})
	}
}

func FuzzLoad(f *testing.F) {
	for _, seed := range []string{
		"a = 1", "{\"a\":[1,{\"b\":null}]}", "a = ${b} { c = 1 }\nb { c += ${?d} }", "a = ${a}\na += ${a}", "include \"x\"", "a.\"b c\".d : \"\"\"x\"\"\"",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := load(t, "a = ${?b}", map[string]string{"main.conf": text})
		if err != nil {
			return
		}
		for _, path := range []string{"", "a", "a.b", "b.c"} {
			keys, err := d.Keys(path)
			for _, key := range keys {
				at := d.At(strings.TrimPrefix(path+"."+hocon.Join(key.Name), "."))
				if lines := strings.Count(text, "\n") + 1; err != nil || at != key.At || at.Line > lines {
					t.Errorf("%q of %q is at %v and at %v of %d lines, %v", key.Name, path, key.At, at, lines, err)
				}
			}
			if path == "" {
				continue
			}
			_, _, _ = d.Text(path)
			_, _, _ = d.List(path)
			_ = d.Has(path)
		}
	})
}
