package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// modelled are the command and those below it, as the grammar has them.
func modelled(t *testing.T) *kong.Node {
	t.Helper()
	return newParser(t).Model.Node
}

// script is what the command prints for a shell.
func script(t *testing.T, shell string) string {
	t.Helper()
	o := invoke(t.Context(), "", "completion", shell)
	if o.status != statusDone || o.err != "" {
		t.Fatalf("%+v", o)
	}
	return o.out
}

// completed are command lines, and what completes their last words. The folder has the file a.json
// and the folder sub.
var completed = []struct {
	words []string
	want  string
}{
	{[]string{"tab"}, "tables"},
	{[]string{"projections", "s"}, "send-again skip stuck"},
	{[]string{"tables", ""}, "create delete describe update"},
	{[]string{"tables", "create", "--bi"}, "--billing"},
	{[]string{"tables", "create", "--billing", ""}, "on-demand provisioned"},
	{[]string{"--billing", "tab"}, "tables"},
	{[]string{"--memory", "tab"}, "tables"},
	{[]string{"--data", "tables", "tab"}, "tables"},
	{[]string{"--data=tables", "tab"}, "tables"},
	{[]string{"--endpoint", "http://tables:80", "tab"}, "tables"},
	{[]string{"--output", ""}, "json text"},
	{[]string{"--output=j"}, "json"},
	{[]string{"tables", "create", "--output="}, "json text"},
	{[]string{"--layout", "naive"}, "naive naive-processor"},
	{[]string{"events", ""}, ""},
	{[]string{"events", "x", "--from", ""}, ""},
	{[]string{"events", "x", "--out"}, "--output"},
	{[]string{"events", "tables", ""}, ""},
	{[]string{"append", "x", "--json", "a"}, "a.json"},
	{[]string{"--config=a"}, "a.json"},
	{[]string{"import", "a"}, "a.json"},
	{[]string{"export", "--all", "a"}, "a.json"},
	{[]string{"--data", "s"}, "sub"},
	{[]string{"serve", "--data=s"}, "sub"},
	{[]string{"completion", ""}, "bash fish zsh"},
	{[]string{"migrate", "--no-v"}, "--no-verify"},
}

// shell runs a program of a shell that finds the script in the file named script, in a folder with
// the files of completed. It returns the lines of the output.
func shell(t *testing.T, name, program string) []string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("skipped: it runs %s, which is not found: %v", name, err)
	}
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{"a.json": "", "script": script(t, name), "program": program} {
		if err := os.WriteFile(filepath.Join(folder, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	command := exec.CommandContext(t.Context(), path, "program")
	command.Dir = folder
	command.Env = []string{"HOME=" + folder, "PATH=" + os.Getenv("PATH"), "LC_ALL=C"}
	var errs strings.Builder
	command.Stderr = &errs
	out, err := command.Output()
	if err != nil || errs.Len() > 0 {
		t.Fatalf("%s: %v\n%s", name, err, errs.String())
	}
	return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
}

// sortedWords are the words of a line, sorted.
func sortedWords(line string) string {
	words := strings.Fields(line)
	slices.Sort(words)
	return strings.Join(words, " ")
}

// bashWords splits words as bash does, which sets COMP_WORDS.
func bashWords(words []string) string {
	var split []string
	for _, word := range words {
		parts := regexp.MustCompile(`[=:]+|[^=:]+`).FindAllString(word, -1)
		if word == "" {
			parts = []string{""}
		}
		for _, part := range parts {
			split = append(split, shQuote(part))
		}
	}
	return strings.Join(split, " ")
}

// bashProgram completes command lines. What it completes itself is printed, a line for each.
const bashProgram = `source ./script
complete -p dynajournal >/dev/null
try() {
	COMP_WORDS=(dynajournal "$@")
	COMP_CWORD=$#
	_dynajournal
	echo "${COMPREPLY[*]}"
}
`

func TestBashCompletes(t *testing.T) {
	clean(t)
	var program strings.Builder
	program.WriteString(bashProgram + "compopt() { return 1; }\n") // as in versions without it
	for _, c := range completed {
		program.WriteString("try " + bashWords(c.words) + "\n")
	}
	out := shell(t, "bash", program.String())
	if len(out) != len(completed) {
		t.Fatalf("%q", out)
	}
	for i, c := range completed {
		if got := sortedWords(out[i]); got != c.want {
			t.Errorf("%q is completed with %q, want %q", c.words, got, c.want)
		}
	}
}

func TestBashLeavesFilesToItsOwnCompletion(t *testing.T) {
	clean(t)
	out := shell(t, "bash", bashProgram+`compopt() { echo "$@"; }
try --config ''
try --data = s
try import a
COMP_WORDBREAKS=' '
try --output=j
`)
	if want := []string{"-o default", "", "-o dirnames", "", "-o default", "", "--output=json"}; !reflect.DeepEqual(out, want) {
		t.Errorf("%q, want %q", out, want)
	}
}

func TestBashCompletesTheFlagsOfEachCommand(t *testing.T) {
	clean(t)
	var program strings.Builder
	program.WriteString(bashProgram)
	var want []string
	var visit func(*kong.Node)
	visit = func(node *kong.Node) {
		var names []string
		for _, group := range node.AllFlags(true) {
			for _, flag := range group {
				names = append(names, newCompletedFlag(flag).names[0])
			}
		}
		slices.Sort(names)
		want = append(want, node.Path()+": "+strings.Join(names, " "))
		fmt.Fprintf(&program, "try %s --\n", node.Path())
		for _, child := range node.Children {
			if !child.Hidden {
				visit(child)
			}
		}
	}
	visit(modelled(t))
	out := shell(t, "bash", program.String())
	for i, line := range want {
		path, flags, _ := strings.Cut(line, ": ")
		if got := strings.ReplaceAll(sortedWords(out[i]), "--no-verify ", ""); got != flags {
			t.Errorf("%s: %s, want %s", path, got, flags)
		}
	}
}

func TestFishCompletes(t *testing.T) {
	clean(t)
	var program strings.Builder
	program.WriteString("source ./script\n")
	for _, c := range completed {
		line := strings.Join(c.words, " ")
		fmt.Fprintf(&program, "echo (complete -C %s | string replace -r '\\t.*' '')\n", fishQuote("dynajournal "+line))
	}
	out := shell(t, "fish", program.String())
	if len(out) != len(completed) {
		t.Fatalf("%q", out)
	}
	for i, c := range completed {
		flag, _, _ := strings.Cut(c.words[len(c.words)-1], "=")
		got := strings.ReplaceAll(strings.ReplaceAll(sortedWords(out[i]), flag+"=", ""), "/", "")
		if got != c.want {
			t.Errorf("%q is completed with %q, want %q", c.words, got, c.want)
		}
	}
}

func TestZshReadsTheScript(t *testing.T) {
	clean(t)
	// compdef is the end of the script, so it comes there.
	out := shell(t, "zsh", "compdef() { echo $1 $(( $+functions[_dynajournal_tables_create] )) }\nsource ./script\n")
	if want := []string{"_dynajournal 1"}; !reflect.DeepEqual(out, want) {
		t.Errorf("%q, want %q", out, want)
	}
}

// plain are words that need no quotes in any shell.
var plain = regexp.MustCompile(`^[a-z0-9-]+$`)

func TestEachCommandIsInEachScriptAndInThePage(t *testing.T) {
	clean(t)
	bash, zsh, fish := script(t, "bash"), script(t, "zsh"), script(t, "fish")
	page := strings.ReplaceAll(manPage(t), `\-`, "-")
	var visit func(*kong.Node)
	visit = func(node *kong.Node) {
		for _, child := range node.Children {
			if child.Hidden {
				continue
			}
			path := child.Path()
			if !plain.MatchString(child.Name) {
				t.Errorf("the name %q is not plain", path)
			}
			for name, found := range map[string]bool{
				"bash": strings.Contains(bash, "\n\t"+shQuote(path)+")\n"),
				"zsh":  strings.Contains(zsh, "\n"+zshFunction(path)+"() {\n"),
				"fish": strings.Contains(fish, fishQuote(path)) && strings.Contains(fish, " -a "+child.Name+" -d "),
				"man":  strings.Contains(page, `\fB`+path+" ") || strings.Contains(page, `\fB`+path+`\fP`),
			} {
				if !found {
					t.Errorf("%s has no command %s", name, path)
				}
			}
			for _, flag := range child.Flags {
				for name, found := range map[string]bool{
					"zsh":  strings.Contains(zsh, "--"+flag.Name),
					"fish": strings.Contains(fish, " -l "+flag.Name+" "),
					"man":  strings.Contains(page, "--"+flag.Name),
				} {
					if !found || !plain.MatchString(flag.Name) {
						t.Errorf("%s has no flag --%s of %s, or it is not plain", name, flag.Name, path)
					}
				}
			}
			visit(child)
		}
	}
	visit(modelled(t))
}

func TestWordsOfValuesArePlain(t *testing.T) {
	for _, c := range completedCommands(modelled(t)) {
		words := slices.Clone(c.arguments.words)
		for _, flag := range c.flags {
			words = append(words, flag.value.words...)
		}
		for _, word := range words {
			if !plain.MatchString(word) {
				t.Errorf("%s: %q is not plain", c.path, word)
			}
		}
	}
}

func TestAnUnknownShellIsWrongUsage(t *testing.T) {
	clean(t)
	if o := invoke(t.Context(), "", "completion", "tcsh"); o.status != statusUsage || !strings.Contains(o.err, "tcsh") {
		t.Errorf("%+v", o)
	}
}
