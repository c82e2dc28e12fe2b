package repotest

import (
	"path/filepath"
	"strings"
	"testing"
)

// unindented returns a text without the white space at the beginnings and ends of its lines.
func unindented(text string) string {
	var lines strings.Builder
	for line := range strings.Lines(text) {
		lines.WriteString(strings.TrimSpace(line) + "\n")
	}
	return lines.String()
}

// section returns the lines of a page from a heading of the second level to the next such heading.
func section(t *testing.T, page, heading string) string {
	t.Helper()
	_, after, found := strings.Cut(page, "\n## "+heading+"\n")
	if !found {
		t.Fatalf("the page has no section %s", heading)
	}
	text, _, _ := strings.Cut(after, "\n## ")
	return text
}

// concepts is the section of docs/jvm.md that shows parts of examples/seats.
const concepts = "Concepts"

// The example is compiled and run, so the section shows working code.
func TestConceptsOfTheJVM_ShowTheExample(t *testing.T) {
	t.Parallel()
	var program strings.Builder
	for _, file := range []string{"show.go", "main.go"} {
		program.WriteString(unindented(readFile(t, filepath.Join("examples", "seats", file))))
	}
	blocks := 0
	for _, block := range fenced(section(t, readFile(t, "docs/jvm.md"), concepts), "go") {
		blocks++
		if !strings.Contains(program.String(), unindented(block)) && !strings.Contains(block, "com.example.") {
			t.Errorf("examples/seats does not have\n%s", block)
		}
	}
	if blocks < 3 {
		t.Errorf("the section has %d blocks of Go", blocks)
	}
}
