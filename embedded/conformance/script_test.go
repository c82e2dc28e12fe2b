package conformance_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
)

// A script is a sequence of requests to one engine, each with the response that DynamoDB's
// documentation promises.
//
//	# The rule that the requests below show.
//	PutItem {"TableName":"t",
//	  "Item":{"pk":{"S":"a"}}}
//	200 {}
//
// A request continues on indented lines. In it, %{3*ab}% means ababab. A response is the HTTP
// status and the body, as digest returns it.
type script struct {
	file  string
	lines []string
	steps []step
}

// step is one request of a script.
type step struct {
	rule, operation, body, want string
	// wantAt is the line of the script with the expected response.
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
			t.Fatalf("%s:%d: this is neither a rule nor a request nor a response: %s", file, at+1, line)
		}
	}
	if open {
		t.Fatalf("%s: the last request has no response", file)
	}
	return s
}

// expand replaces %{3*ab}% with ababab.
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

// write stores the script, with the expected responses replaced by the given ones.
func (s *script) write(t *testing.T, responses []string) {
	t.Helper()
	for i, response := range responses {
		s.lines[s.steps[i].wantAt] = response
	}
	if err := os.WriteFile(s.file, fmt.Appendln(nil, strings.Join(s.lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
}
