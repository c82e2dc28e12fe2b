package mutants_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/dynajournal/dynajournal/internal/mutants"
)

const source = `package p

type box[E any] struct{ n E }

// put puts.
func (b *box[E]) put(n E) {
	if b != nil {
		b.n = n
	}
}

func twice(n int) int {
	n++
	n++
	return n
}
`

// applied applies rows to the source.
func applied(t *testing.T, rows string) (string, error) {
	t.Helper()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "f.go"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	table, err := mutants.Read(fstest.MapFS{"t.txt": {Data: []byte(rule + "mutant B\n\tB rule.\n\tkiller p ^TestB$\n" + rows)}})
	if err != nil {
		t.Fatal(err)
	}
	changed, err := table.Apply(folder)
	return string(changed["f.go"]), err
}

// b is a row that uses the mutant B, so that a table with a row of A is complete.
const b = "row f.go twice\n-return n\n+return n + n*mutant(\"B\")\n"

func TestARowReplacesLinesOfAFunction(t *testing.T) {
	t.Parallel()
	got, err := applied(t, b+"row f.go box.put\nimport \"slices\"\n-if b != nil {\n+if b != nil && !mutant(\"A\") {\n   b.n = n\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"package p\n\nimport \"slices\"\n", "if b != nil && !mutant(\"A\") {\n\t\tb.n = n\n", "return n + n*mutant(\"B\")"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
}

func TestRowsThatDoNotFitAreNamed(t *testing.T) {
	t.Parallel()
	for row, want := range map[string]string{
		"row f.go twice\n-n++\n+n += mutant(\"A\")\n":                        "2 times in twice",
		"row f.go twice\n-n++\n-n--\n+n += mutant(\"A\")\n":                  "0 times in twice",
		"row f.go twice\n-return n\n-n--\n+mutant(\"A\")\n":                  `("return n" is line 15)`,
		"row f.go thrice\n-n++\n+mutant(\"A\")\n":                            "no function thrice",
		"row g.go twice\n-n++\n+mutant(\"A\")\n":                             "g.go",
		"row f.go twice\n+mutant(\"A\")\n":                                   "no line of the code as it is",
		"row f.go twice\n-n++\n-n++\n-return n\n+return mutant(\"A\")\n":     "change the same lines",
		"row f.go box.put\n-if b != nil {\n+if b != nil && !mutant(\"A\")\n": "do not make Go",
	} {
		if _, err := applied(t, b+row); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: the error is %v, want %q in it", row, err, want)
		}
	}
}
