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

// The example is compiled and run, so the page says what works.
func TestGoCodeOfFromAkkaIsThatOfTheExample(t *testing.T) {
	t.Parallel()
	var program strings.Builder
	for _, file := range []string{"show.go", "main.go"} {
		program.WriteString(unindented(readFile(t, filepath.Join("examples", "seats", file))))
	}
	blocks := 0
	for _, block := range fenced(readFile(t, filepath.Join("docs", "from-akka.md")), "go") {
		blocks++
		if !strings.Contains(program.String(), unindented(block)) && !strings.Contains(block, "com.example.") {
			t.Errorf("examples/seats does not have\n%s", block)
		}
	}
	if blocks < 3 {
		t.Errorf("the page has %d blocks of Go", blocks)
	}
}
