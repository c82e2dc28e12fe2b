package repotest

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"testing"
)

// namedTest matches a test that a page names in a code span.
var namedTest = regexp.MustCompile("`((?:Test|Fuzz|Example)[A-Z][A-Za-z0-9_]*)`")

// missingTests returns the tests that a page names but that do not exist.
func missingTests(page string, tests map[string]bool) (missing []string) {
	for _, m := range namedTest.FindAllStringSubmatch(page, -1) {
		if !tests[m[1]] {
			missing = append(missing, m[1])
		}
	}
	return missing
}

func TestTestsNamedByThePagesExist(t *testing.T) {
	t.Parallel()
	folders, tests := map[string]bool{}, map[string]bool{}
	for _, file := range sources(t, ".go") {
		folders[path.Dir(file)] = true
	}
	for folder := range folders {
		for name := range declared(parsePackage(t, folder, true)) {
			tests[name] = true
		}
	}
	for _, page := range sources(t, ".md") {
		for _, name := range missingTests(readFile(t, page), tests) {
			t.Errorf("%s names %s, which is not a test", page, name)
		}
	}
}

// comparedRows returns the rows of the tables that compare behavior.
func comparedRows(page string) (rows [][]string) {
	compared := false
	for line := range strings.Lines(page) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		switch {
		case !strings.HasPrefix(line, "|"):
			compared = false
		case strings.Contains(line, "| Our test | Same? |"):
			compared = true
		case compared && !strings.HasPrefix(line, "|---"):
			rows = append(rows, cells)
		}
	}
	return rows
}

// checkRow returns an error if a row of such a table does not state the result of the comparison
// and its test.
func checkRow(cells []string) error {
	if len(cells) != 3 {
		return fmt.Errorf("%q has %d columns", cells, len(cells))
	}
	verdict, named := strings.TrimSpace(cells[2]), namedTest.MatchString(cells[1])
	switch {
	case strings.HasPrefix(verdict, "Not here: "):
		return nil
	case verdict != "Same" && !regexp.MustCompile(`^(Same[:.,] |Different: )`).MatchString(verdict):
		return fmt.Errorf("%q does not say whether it is the same", cells)
	case !named:
		return fmt.Errorf("%q names no test", cells)
	}
	return nil
}

func TestComparedBehavioursNameTheirTests(t *testing.T) {
	t.Parallel()
	rows := comparedRows(readFile(t, "docs/jvm.md"))
	if len(rows) < 50 {
		t.Errorf("found %d rows, so the pattern is wrong", len(rows))
	}
	for _, row := range rows {
		if err := checkRow(row); err != nil {
			t.Errorf("docs/jvm.md: %v", err)
		}
	}
}

func TestWrongComparisonsAreFound(t *testing.T) {
	t.Parallel()
	if got := missingTests("`TestA`, `TestB` and `Testing`", map[string]bool{"TestA": true}); len(got) != 1 || got[0] != "TestB" {
		t.Errorf("%q are missing, want TestB", got)
	}
	head := "| A | Our test | Same? |\n|---|---|---|\n"
	for row, right := range map[string]bool{
		"| a | `TestA` | Same |":         true,
		"| a | `TestA` | Same: by b |":   true,
		"| a | `TestA` | Different: b |": true,
		"| a | none | Not here: b |":     true,
		"| a | none | Same |":            false,
		"| a | none | Different: b |":    false,
		"| a | `TestA` | Different |":    false,
		"| a | `TestA` | similar |":      false,
		"| a | `TestA` |":                false,
	} {
		rows := comparedRows("text\n" + head + row + "\n\n| no | row |\n")
		if len(rows) != 1 {
			t.Fatalf("%q: found %d rows", row, len(rows))
		}
		if err := checkRow(rows[0]); (err == nil) != right {
			t.Errorf("%q: %v", row, err)
		}
	}
}
