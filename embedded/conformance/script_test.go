package conformance_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
)

// A script is a story about one engine: requests in their order, each with the answer that
// DynamoDB's documentation promises.
//
//	# The rule that the requests below show.
//	PutItem {"TableName":"t",
//	  "Item":{"pk":{"S":"a"}}}
//	200 {}
//
// A request goes on over indented lines. In it, %{3*ab}% stands for ababab. An answer is the HTTP
// status and the body, as digest writes it.
type script struct {
	file  string
	lines []string
	steps []step
}

// step is one request of a script.
type step struct {
	rule, operation, body, want string
	// wantAt is the line of the script that holds what is wanted.
	wantAt int
}

func readScript(t *testing.T, file string) *script {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s := &script{file: file, lines: strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")}
	rule, open := "", false
	for at, line := range s.lines {
		switch {
		case line == "":
		case strings.HasPrefix(line, "# "):
			rule = line[2:]
		case line[0] == ' ' && open:
			s.steps[len(s.steps)-1].body += "\n" + expand(t, line)
		case line[0] >= 'A' && line[0] <= 'Z' && !open:
			operation, body, _ := strings.Cut(line, " ")
			s.steps = append(s.steps, step{rule: rule, operation: operation, body: expand(t, body)})
			open = true
		case line[0] >= '0' && line[0] <= '9' && open:
			last := &s.steps[len(s.steps)-1]
			last.want, last.wantAt = line, at
			open = false
		default:
			t.Fatalf("%s:%d: this is neither a rule nor a request nor the answer to one: %s", file, at+1, line)
		}
	}
	if open {
		t.Fatalf("%s: the last request has no answer", file)
	}
	return s
}

// expand replaces %{3*ab}% by ababab.
func expand(t *testing.T, line string) string {
	t.Helper()
	for {
		before, rest, found := strings.Cut(line, "%{")
		if !found {
			return line
		}
		inside, after, _ := strings.Cut(rest, "}%")
		count, text, _ := strings.Cut(inside, "*")
		n, err := strconv.Atoi(count)
		if err != nil {
			t.Fatalf("the count of a repetition: %v", err)
		}
		line = before + strings.Repeat(text, n) + after
	}
}

// write stores the script with the answers got in the place of those wanted.
func (s *script) write(t *testing.T, answers []string) {
	t.Helper()
	for i, answer := range answers {
		s.lines[s.steps[i].wantAt] = answer
	}
	if err := os.WriteFile(s.file, fmt.Appendln(nil, strings.Join(s.lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
}
