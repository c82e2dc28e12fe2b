package main

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"github.com/dynajournal/dynajournal/embedded"
)

// commandLines returns the words of the commands of a script, without redirections, comments and
// quotes. It supports the shell syntax that the pages use: lists, pipes, quotes and continued
// lines.
func commandLines(script string) [][]string {
	var lines [][]string
	var words []string
	var word strings.Builder
	quoted, started, redirected := byte(0), false, false
	endWord := func() {
		if started && !redirected {
			words = append(words, word.String())
		}
		if started {
			redirected = false
		}
		word.Reset()
		started = false
	}
	endLine := func() {
		endWord()
		if len(words) > 0 {
			lines = append(lines, words)
		}
		words, redirected = nil, false
	}
	script = strings.ReplaceAll(script, "\\\n", " ")
	for i := 0; i < len(script); i++ {
		switch c := script[i]; {
		case quoted != 0 && c == quoted:
			quoted = 0
		case quoted != 0:
			word.WriteByte(c)
		case c == '\'' || c == '"':
			quoted, started = c, true
		case c == ' ' || c == '\t':
			endWord()
		case c == '#' && !started:
			for i+1 < len(script) && script[i+1] != '\n' {
				i++
			}
		case strings.IndexByte("\n|&;()", c) >= 0:
			endLine()
		case c == '<' || c == '>':
			endWord()
			redirected = true
		default:
			started = true
			word.WriteByte(c)
		}
	}
	endLine()
	return lines
}

// argumentsOf returns the arguments of each call of this command in a script. A page may call the
// command D, or run it from source.
func argumentsOf(script string) [][]string {
	var found [][]string
	for _, words := range commandLines(script) {
		for len(words) > 0 && (strings.Contains(words[0], "=") || words[0] == "do") {
			words = words[1:]
		}
		switch {
		case len(words) > 1 && (words[0] == "dynajournal" || words[0] == "D"):
			found = append(found, words[1:])
		case len(words) > 3 && strings.Join(words[:3], " ") == "go run ./cmd/dynajournal":
			found = append(found, words[3:])
		}
	}
	return found
}

// parse checks a step that is not run. It fails if the step has a syntax error, or names an unknown
// command, flag or fault of dynajournal.
func (r *reader) parse(t *testing.T, s *step) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "sh", "-n", "-c", s.command).CombinedOutput(); err != nil {
		t.Errorf("$ %s\n%v: %s", s.command, err, out)
	}
	for _, arguments := range argumentsOf(s.command) {
		var line commands
		var out bytes.Buffer
		parser, err := newGrammar(t.Context(), &line, streams{strings.NewReader(""), &out, &out})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parser.Parse(arguments); err != nil {
			t.Errorf("$ %s\n%v", s.command, err)
		}
		for _, spec := range line.Serve.Fault {
			if _, err := embedded.ParseFault(spec); err != nil {
				t.Errorf("$ %s\n%v", s.command, err)
			}
		}
	}
}
