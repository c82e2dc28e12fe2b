// Package conformance_test looks at the engine from outside, as DynamoDB's documentation describes
// it: over HTTP and in JSON.
package conformance_test

import (
	"flag"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dynajournal/dynajournal/embedded"
)

// update writes the engine's answers into the scripts, to be read before they are believed.
var update = flag.Bool("update", false, "write the engine's answers into the scripts")

// serveEngine returns the address of a server with an empty engine.
func serveEngine(t *testing.T) string {
	t.Helper()
	engine, err := embedded.OpenMemory()
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(engine)
	t.Cleanup(func() {
		server.Close()
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	})
	return server.URL
}

func scripts(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	return files
}

func title(file string) string { return strings.TrimSuffix(filepath.Base(file), ".txt") }

func TestTheEngineAnswersAsDynamoDBIsDocumentedTo(t *testing.T) {
	for _, file := range scripts(t) {
		t.Run(title(file), func(t *testing.T) {
			s := readScript(t, file)
			server := serveEngine(t)
			answers := make([]string, len(s.steps))
			for i, step := range s.steps {
				answers[i] = ask(t, server, step.operation, step.body)
				if answers[i] != step.want && !*update {
					t.Errorf("%s:%d: %s\n%s %.2000s\n got %s\nwant %s", file, step.wantAt+1, step.rule, step.operation, step.body, answers[i], step.want)
				}
			}
			if *update {
				s.write(t, answers)
			}
		})
	}
}
