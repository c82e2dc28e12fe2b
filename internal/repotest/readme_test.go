package repotest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// readFile reads a file that is named from the module's root.
func readFile(t *testing.T, name string) string {
	t.Helper()
	return readPath(t, inRoot(name))
}

func readPath(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// fenced returns the code blocks of a Markdown text in one language.
func fenced(text, language string) []string {
	var blocks []string
	for _, m := range regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```$").FindAllStringSubmatch(text, -1) {
		if m[1] == language {
			blocks = append(blocks, m[2])
		}
	}
	return blocks
}

func TestProgramOfTheREADMEIsTheExample(t *testing.T) {
	t.Parallel()
	blocks := fenced(readFile(t, "README.md"), "go")
	if len(blocks) != 1 || blocks[0] != readFile(t, "examples/account/main.go") {
		t.Errorf("README.md has %q, not examples/account/main.go", blocks)
	}
}

func TestREADME_OutputEqualsExample(t *testing.T) {
	t.Parallel()
	output := regexp.MustCompile(`// Output: (.*)\n`).FindStringSubmatch(readFile(t, "examples/account/main_test.go"))
	if output == nil || !strings.Contains(readFile(t, "README.md"), "It prints `"+output[1]+"`") {
		t.Errorf("README.md does not say that the example prints %q", output)
	}
}

// A row of the table about Pekko has two figures, which must equal the figures of one row of the
// benchmarks.
func TestREADME_FiguresEqualBenchmarks(t *testing.T) {
	t.Parallel()
	_, section, _ := strings.Cut(readFile(t, "README.md"), "## Beside the Pekko plug-in")
	section, _, _ = strings.Cut(section, "\n## ")
	measured := readFile(t, "bench/RESULTS.md")
	rows := regexp.MustCompile(`(?m)^\| [A-Z][^|]*\| ([^|]*) \| ([^|]*) \|$`).FindAllStringSubmatch(section, -1)
	if len(rows) < 5 {
		t.Fatalf("README.md has %d figures beside Pekko", len(rows))
	}
	for _, row := range rows {
		same := regexp.MustCompile(`(?m)^\|[^|]*\| ` + regexp.QuoteMeta(row[1]) + ` \|.*\| ` + regexp.QuoteMeta(row[2]) + ` \|`)
		if !same.MatchString(measured) {
			t.Errorf("bench/RESULTS.md does not have the figures of %q", row[0])
		}
	}
}

func TestCIRunsTheCommandsOfTheREADME(t *testing.T) {
	t.Parallel()
	ci, commands := readFile(t, filepath.Join(".ci", "run")), 0
	for command := range strings.Lines(strings.Join(fenced(readFile(t, "README.md"), "sh"), "")) {
		if strings.HasPrefix(command, "go get ") || strings.HasPrefix(command, "go install ") {
			continue // see TestREADME_InstallCommands
		}
		commands++
		if !strings.Contains(ci, " "+command) { // the command ends its line
			t.Errorf(".ci/run does not run %q", command)
		}
	}
	if commands != 2 {
		t.Errorf("README.md has %d commands to try it", commands)
	}
}
