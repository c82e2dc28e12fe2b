package mutants_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/dynajournal/dynajournal/internal/mutants"
)

// root is the folder of the module.
const root = "../.."

// read reads the table of the project.
func read(t *testing.T) *mutants.Table {
	t.Helper()
	table, err := mutants.Read(os.DirFS("table"))
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// TestRowsApply fails when the code of a row has changed, without a build.
func TestRowsApply(t *testing.T) {
	t.Parallel()
	if _, err := read(t).Apply(root); err != nil {
		t.Error(err)
	}
}

func TestKillersAreInPackages(t *testing.T) {
	t.Parallel()
	for _, m := range read(t).Mutants {
		if tests, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(m.Folder), "*_test.go")); err != nil || len(tests) == 0 {
			t.Errorf("%s: there are no tests in %s (%v)", m.Name, m.Folder, err)
		}
	}
}

const rule = "mutant A\n\tA rule.\n\tkiller p ^TestA$\n"

func TestWrongTablesAreRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"word": "neither",
		"mutant A\n\tA rule.\nrow f.go f\n-x\n+mutant(\"A\")\n":          "killer",
		"mutant A\n\tkiller p ^TestA$\nrow f.go f\n-x\n+mutant(\"A\")\n": "the rule that it breaks",
		"mutant A\n\tkiller p\n":                                         "pattern",
		rule:                                                             "no row uses",
		rule + rule + "row f.go f\n-x\n+mutant(\"A\")\n":                 "twice",
		rule + "row f.go f\n-x\n+y\n":                                    "uses no mutant",
		rule + "row f.go f\n-x\n+mutant(\"A\")\nrow f.go f\n-x\n+mutant(\"B\")\n": "B is not described",
	} {
		_, err := mutants.Read(fstest.MapFS{"t.txt": {Data: []byte(text)}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: the error is %v, want %q in it", text, err, want)
		}
	}
}
