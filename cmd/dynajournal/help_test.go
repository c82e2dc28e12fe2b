package main

import (
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/dynajournal/dynajournal/internal/testsize"
)

func TestHelp(t *testing.T) {
	clean(t)
	for _, args := range [][]string{{"--help"}, {"help"}, {"append", "-h"}, {"help", "append"},
		{"tables", "create", "--help"}, {"help", "tables", "create"}, {"help", "tables"}, {"help", "help"}} {
		if o := invoke(t.Context(), "", args...); o.status != statusDone ||
			!strings.HasPrefix(o.out, "Usage: dynajournal") || o.err != "" {
			t.Errorf("%q: %+v", args, o)
		}
	}
}

func TestHelp_CommandAndFlagPrintTheSame(t *testing.T) {
	clean(t)
	for _, words := range [][]string{nil, {"ids"}, {"tables", "create"}} {
		byCommand := invoke(t.Context(), "", append([]string{"help"}, words...)...)
		byFlag := invoke(t.Context(), "", append(words, "--help")...)
		if byCommand != byFlag {
			t.Errorf("%q: %+v, and by the flag %+v", words, byCommand, byFlag)
		}
	}
}

// If a script's variable for the command is empty, the script must not count the help as a success.
// So the help has a status other than 0.
func TestHelp_MissingCommandIsWrongUsage(t *testing.T) {
	clean(t)
	for _, args := range [][]string{nil, {"--memory"}, {"tables"}} {
		o := invoke(t.Context(), "", args...)
		if o.status != statusUsage || !strings.HasPrefix(o.out, "Usage: dynajournal") ||
			o.err != "dynajournal: command line: no command is given\n" {
			t.Errorf("%q: %+v", args, o)
		}
	}
}

func TestHelp_LocationFlags(t *testing.T) {
	clean(t)
	topic := invoke(t.Context(), "", "help", locationTopic)
	if topic.status != statusDone || topic.err != "" {
		t.Fatalf("%+v", topic)
	}
	parser := newParser(t)
	for _, flag := range parser.Model.Flags {
		if of := flag.Group != nil; of != strings.Contains(topic.out, "--"+flag.Name) {
			t.Errorf("--%s: it is shown: %v", flag.Name, !of)
		}
	}
	if strings.Contains(topic.out, "Commands:") {
		t.Error(topic.out)
	}
	for _, args := range [][]string{{"help"}, {"help", "append"}, {"help", "projections", "lag"}} {
		o := invoke(t.Context(), "", args...)
		if strings.Contains(o.out, "--journal-table") || !strings.Contains(o.out, "dynajournal help location\n") {
			t.Errorf("%q: %s", args, o.out)
		}
	}
}

func TestHelp_SuggestsForMisspeltWord(t *testing.T) {
	clean(t)
	for line, want := range map[string]string{
		"apend a":          `unknown command "apend": did you mean "append"?`,
		"tables creat":     `unknown command "creat": did you mean "create"?`,
		"help apend":       `unknown command "apend": did you mean "append"?`,
		"append a --strng": `unknown flag --strng: did you mean "--string"?`,
		"ids --dta d":      `unknown flag --dta: did you mean "--data"?`,
		"highest a b":      `unexpected argument b`,
		"highest":          `<pid> is missing: see dynajournal highest --help`,
		"export --all":     `<pid… file> is missing: see dynajournal export --help`,
	} {
		o := invoke(t.Context(), "", strings.Fields(line)...)
		if o.status != statusUsage || o.out != "" || !strings.HasSuffix(o.err, ": "+want+"\n") ||
			strings.Count(o.err, "\n") != 1 {
			t.Errorf("%s: %+v, want %q", line, o, want)
		}
	}
}

func newParser(t *testing.T) *kong.Kong {
	t.Helper()
	var out strings.Builder
	parser, err := newGrammar(t.Context(), new(commands), streams{strings.NewReader(""), &out, &out})
	if err != nil {
		t.Fatal(err)
	}
	return parser
}

func TestHelp_ExamplesParse(t *testing.T) {
	testsize.NoRace(t, "it does one thing after the other")
	const columns = 80
	known := 0
	for _, command := range newParser(t).Model.Leaves(true) {
		name := command.Path()
		lines := examples[strings.TrimPrefix(name, "dynajournal ")]
		if len(lines) == 0 {
			lines = examples[name]
		}
		if len(lines) == 0 {
			t.Errorf("%s has no example", name)
			continue
		}
		known++
		for _, example := range lines {
			words := strings.Fields(example)
			if len(example)+len("  ") > columns {
				t.Errorf("%q is wider than %d columns", example, columns)
			}
			line, err := newParser(t).Parse(words[1:])
			if err != nil || words[0] != "dynajournal" || !strings.HasSuffix(name, selected(line)) {
				t.Errorf("%q is no example of %s: %v", example, name, err)
			}
		}
	}
	if known != len(examples) {
		t.Errorf("there are examples of %d commands, and %d such commands", len(examples), known)
	}
}
