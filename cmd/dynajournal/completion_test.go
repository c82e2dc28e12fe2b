package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/dynajournal/dynajournal/internal/testsize"
)

// script returns the script that the command prints for a shell.
func script(t *testing.T, shell string) string {
	t.Helper()
	o := invoke(t.Context(), "", "completion", shell)
	if o.status != statusDone || o.err != "" {
		t.Fatalf("%+v", o)
	}
	return o.out
}

// completionOf returns the words that complete a line, sorted.
func completionOf(t *testing.T, line string) string {
	t.Helper()
	t.Setenv("COMP_LINE", line)
	o := invoke(t.Context(), "")
	if o.status != statusDone || o.err != "" {
		t.Fatalf("%+v", o)
	}
	words := strings.Fields(o.out)
	slices.Sort(words)
	return strings.Join(words, " ")
}

func TestCompletion_Words(t *testing.T) {
	clean(t)
	for line, want := range map[string]string{
		"tab":                          "tables",
		"projections s":                "send-again skip stuck",
		"tables ":                      "create delete describe update",
		"tables create --bi":           "--billing",
		"tables create --billing ":     "on-demand provisioned",
		"--billing tab":                "tables",
		"--memory tab":                 "tables",
		"--data=tables tab":            "tables",
		"--endpoint http://tables tab": "tables",
		"--output ":                    "json text",
		"--output=j":                   "json",
		"tables create --output=":      "json text",
		"--layout naive":               "naive naive-processor",
		"events ":                      "",
		"events x --from ":             "",
		"events x --out":               "--output",
		"events tables ":               "",
		"append x --json a":            "",
		"completion ":                  "bash fish zsh",
		"net":                          "", // a hidden command
	} {
		if got := completionOf(t, "dynajournal "+line); got != want {
			t.Errorf("%q is completed with %q, want %q", line, got, want)
		}
	}
}

func TestCompletion_FlagsOfEachCommand(t *testing.T) {
	testsize.NoRace(t, "it does one thing after the other")
	clean(t)
	var visit func(*kong.Node)
	visit = func(node *kong.Node) {
		var want []string
		for _, group := range node.AllFlags(true) {
			for _, flag := range group {
				want = append(want, "--"+flag.Name)
			}
		}
		slices.Sort(want)
		if got := completionOf(t, node.FullPath()+" --"); got != strings.Join(want, " ") {
			t.Errorf("%s --: %s, want %s", node.FullPath(), got, strings.Join(want, " "))
		}
		for _, child := range node.Children {
			if !child.Hidden {
				visit(child)
			}
		}
	}
	visit(newParser(t).Model.Node)
}

// shells are programs that read the script and print the completions of `dynajournal tab`.
var shells = map[string]string{
	"bash": `source ./script
eval "set -- $(complete -p dynajournal)"
while [ "$1" != -C ]; do shift; done
COMP_LINE='dynajournal tab' "$2"
`,
	"zsh": `autoload -Uz compinit && compinit -D
source ./script
[[ -n $_comps[dynajournal] ]] && echo tables
`,
	"fish": `source ./script
complete -C 'dynajournal tab'
`,
}

func TestCompletion_Shells(t *testing.T) {
	testsize.NoRace(t, "it does one thing after the other")
	for name, program := range shells {
		t.Run(name, func(t *testing.T) {
			clean(t)
			path, err := exec.LookPath(name)
			if err != nil {
				t.Skipf("skipped: it runs %s, which is not found: %v", name, err)
			}
			folder := t.TempDir()
			for file, text := range map[string]string{"script": script(t, name), "program": program} {
				if err := os.WriteFile(filepath.Join(folder, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			command := exec.CommandContext(t.Context(), path, "program")
			command.Dir = folder
			command.Env = []string{"HOME=" + folder, "PATH=" + os.Getenv("PATH"), "LC_ALL=C", asCommand + "=1"}
			var errs strings.Builder
			command.Stderr = &errs
			out, err := command.Output()
			if err != nil || errs.Len() > 0 || strings.TrimSpace(string(out)) != "tables" {
				t.Errorf("%v: %q\n%s", err, out, errs.String())
			}
		})
	}
}

func TestCompletion_UnknownShellIsWrongUsage(t *testing.T) {
	clean(t)
	if o := invoke(t.Context(), "", "completion", "tcsh"); o.status != statusUsage || !strings.Contains(o.err, "tcsh") {
		t.Errorf("%+v", o)
	}
}
