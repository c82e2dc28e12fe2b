// Package conformance_test tests the engine from outside, over HTTP and in JSON, against DynamoDB's
// documentation.
package conformance_test

import (
	"flag"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dynajournal/dynajournal/embedded"
)

// update writes the engine's responses into the scripts. They must be reviewed.
var update = flag.Bool("update", false, "write the engine's responses into the scripts")

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

func TestEngine_RespondsAsDocumented(t *testing.T) {
	for _, file := range scripts(t) {
		t.Run(title(file), func(t *testing.T) {
			s := readScript(t, file)
			server := serveEngine(t)
			responses := make([]string, len(s.steps))
			for i, step := range s.steps {
				responses[i] = ask(t, server, step.operation, step.body)
				if responses[i] != step.want && !*update {
					t.Errorf("%s:%d: %s\n%s %.2000s\n got %s\nwant %s", file, step.wantAt+1, step.rule, step.operation, step.body, responses[i], step.want)
				}
			}
			if *update {
				s.write(t, responses)
			}
		})
	}
}
