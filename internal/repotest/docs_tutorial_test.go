package repotest

import (
	"path/filepath"
	"strings"
	"testing"
)

// The steps are compiled and run, so the page shows working code.
func TestTutorial_GoCodeEqualsSteps(t *testing.T) {
	t.Parallel()
	var steps strings.Builder
	for _, file := range sources(t, ".go") {
		if strings.HasPrefix(filepath.ToSlash(file), "examples/tutorial/") {
			steps.WriteString(unindented(readFile(t, file)))
		}
	}
	blocks := fenced(readFile(t, filepath.Join("docs", "tutorial.md")), "go")
	for _, block := range blocks {
		if !strings.Contains(steps.String(), unindented(block)) {
			t.Errorf("examples/tutorial does not have\n%s", block)
		}
	}
	if len(blocks) < 10 {
		t.Errorf("the page has %d blocks of Go", len(blocks))
	}
}
