package dynajournal_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func readFile(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// fenced are the code blocks of a Markdown text, of one language.
func fenced(text, language string) []string {
	var blocks []string
	for _, m := range regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```$").FindAllStringSubmatch(text, -1) {
		if m[1] == language {
			blocks = append(blocks, m[2])
		}
	}
	return blocks
}

func TestProgramsOfTheREADMEAreTheExamples(t *testing.T) {
	t.Parallel()
	program := readFile(t, "example_test.go")
	program = strings.Replace(program, "package dynajournal_test", "package main", 1)
	program = strings.Replace(program, "func Example() {", "func main() {", 1)
	program = regexp.MustCompile(`(?m)^\s*// Output:.*\n`).ReplaceAllString(program, "")
	blocks := fenced(readFile(t, "README.md"), "go")
	if len(blocks) != 2 || blocks[0] != readFile(t, "examples/account/main.go") || blocks[1] != program {
		t.Errorf("README.md has %q, not examples/account/main.go and example_test.go", blocks)
	}
}

func TestOutputsInTheREADMEAreThoseOfTheExamples(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"examples/account/main_test.go", "example_test.go"} {
		output := regexp.MustCompile(`// Output: (.*)\n`).FindStringSubmatch(readFile(t, file))
		if output == nil || !strings.Contains(readFile(t, "README.md"), "It prints `"+output[1]+"`") {
			t.Errorf("README.md does not say that %s prints %q", file, output)
		}
	}
}

func TestCIRunsTheCommandsOfTheREADME(t *testing.T) {
	t.Parallel()
	blocks := fenced(readFile(t, "README.md"), "")
	if len(blocks) != 1 {
		t.Fatalf("README.md has %d blocks of commands", len(blocks))
	}
	ci := readFile(t, filepath.Join(".ci", "run"))
	for command := range strings.Lines(blocks[0]) {
		if !strings.Contains(ci, " "+command) { // the command ends its line
			t.Errorf(".ci/run does not run %q", command)
		}
	}
}
