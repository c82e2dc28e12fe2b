package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/testsize"
)

// asCommand makes the test binary act as the command, for tests that need processes.
const asCommand = "DYNAJOURNAL_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
	}
	testsize.RelaxCollector()
	os.Exit(m.Run())
}

// environment are the variables that the command reads.
var environment = []string{
	"DYNAJOURNAL_ENDPOINT", "AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL", "DYNAJOURNAL_DATA", "DYNAJOURNAL_CONFIG",
	"DYNAJOURNAL_JOURNAL_TABLE",
	"DYNAJOURNAL_SNAPSHOT_TABLE", "DYNAJOURNAL_JOURNAL_NAME", "DYNAJOURNAL_SEQUENCE_SHARDS", "AWS_REGION", "AWS_DEFAULT_REGION",
	"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_WEB_IDENTITY_TOKEN_FILE",
	"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI",
}

// clean unsets the user's settings, and sets the state folder to a folder of the test.
func clean(t *testing.T) {
	t.Helper()
	for _, name := range environment {
		t.Setenv(name, "")
	}
	t.Setenv("XDG_STATE_HOME", t.TempDir())
}

// outcome is the result of a command line.
type outcome struct {
	status   int
	out, err string
}

// invoke runs a command line in this process.
func invoke(ctx context.Context, stdin string, args ...string) outcome {
	var out, errs bytes.Buffer
	status := run(ctx, args, streams{strings.NewReader(stdin), &out, &errs})
	return outcome{status, out.String(), errs.String()}
}

// must runs a command line that has to succeed, and returns its results.
func must(t *testing.T, args ...string) []map[string]any {
	t.Helper()
	o := invoke(t.Context(), "", args...)
	if o.status != statusDone {
		t.Fatalf("%q ended with %d: %s", args, o.status, o.err)
	}
	return results(t, o.out)
}

// results returns the JSON objects of an output, one per line.
func results(t *testing.T, out string) []map[string]any {
	t.Helper()
	var found []map[string]any
	for line := range strings.Lines(out) {
		var r map[string]any
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%q is no JSON object: %v", line, err)
		}
		found = append(found, r)
	}
	return found
}

func keys(r map[string]any) string { return strings.Join(slices.Sorted(maps.Keys(r)), " ") }

// numbers returns the values of a key whose values are numbers.
func numbers(t *testing.T, found []map[string]any, key string) []int64 {
	t.Helper()
	var all []int64
	for _, r := range found {
		n, ok := r[key].(float64)
		if !ok {
			t.Fatalf("%s is %v", key, r[key])
		}
		all = append(all, int64(n))
	}
	return all
}

// journalHere opens the journal that the commands of a test use. No command can run until done is
// called.
func journalHere(t *testing.T) (j *dynajournal.Journal, done func()) {
	t.Helper()
	p, err := (&location{Layout: layoutCurrent}).open(t.Context(), t.Output())
	if err != nil {
		t.Fatal(err)
	}
	j, err = dynajournal.Open(t.Context(), p.config)
	if err != nil {
		t.Fatal(errors.Join(err, p.close()))
	}
	return j, func() {
		if err := errors.Join(j.Close(), p.close()); err != nil {
			t.Error(err)
		}
	}
}
