package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Text that is not UTF-8 would become replacement characters, so that two persistence ids or
// journals could become one.
func TestRun_RefusesTextThatIsNotUTF8(t *testing.T) {
	clean(t)
	must(t, "append", "a", "--string", "x")
	const bad = "\xff"
	file := filepath.Join(t.TempDir(), "f")
	for _, args := range [][]string{
		{"append", bad, "--string", "x"},
		{"append", "a", "--string", bad},
		{"append", "a", "--json", "-", "--manifest", bad},
		{"events", bad},
		{"highest", bad},
		{"list", bad},
		{"ids", "--prefix", bad},
		{"ids", "--after", bad},
		{"ids", "--journal-name", bad},
		{"ids", "--journal-table=" + bad},
		{"ids", "--snapshot-table", bad},
		{"tail", bad},
		{"delete", bad, "--to", "1"},
		{"confirm", "a", "--layout", "hash-key", "--seq", "1", "--channel", bad},
		{"purge", bad, "--yes"},
		{"verify", bad},
		{"repair", bad},
		{"snapshots", bad},
		{"snapshot", "load", bad},
		{"snapshot", "save", bad, "--seq", "1", "--string", "x"},
		{"snapshot", "delete", bad},
		{"export", bad, file},
		{"migrate", bad, "--from-layout", "current", "--from-table", "t"},
		{"migrate", "--from-layout", "current", "--from-table", bad},
		{"migrate", "--from-layout", "current", "--from-table", "t", "--from-journal-name", bad},
		{"tables", "create", "--journal-name", bad},
	} {
		o := invoke(t.Context(), `{}`, args...)
		if o.status != statusUsage || !strings.Contains(o.err, "is not valid UTF-8") || o.out != "" {
			t.Errorf("%q: %+v", args, o)
		}
	}
	if o := invoke(t.Context(), "\"\xff\"", "append", "a", "--json", "-"); o.status != statusUsage ||
		!strings.Contains(o.err, "is not valid UTF-8") {
		t.Errorf("a JSON value: %+v", o)
	}
	for _, name := range []string{"DYNAJOURNAL_JOURNAL_NAME", "DYNAJOURNAL_JOURNAL_TABLE",
		"DYNAJOURNAL_SNAPSHOT_TABLE"} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, "a"+bad)
			if o := invoke(t.Context(), "", "ids"); o.status != statusUsage ||
				!strings.Contains(o.err, "is not valid UTF-8") {
				t.Errorf("%+v", o)
			}
		})
	}
	state := filepath.Join(t.TempDir(), "state")
	target := t.TempDir()
	migrate := []string{"migrate", "--from-layout", "current", "--from-table", "pekko-persistence", "--to-data",
		target, "--state", state}
	must(t, migrate...)
	content, err := os.ReadFile(state)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(state, append(content, "{\"persistence_id\":\"\xff\",\"highest\":1}\n"...),
		0o600); err != nil {
		t.Fatal(err)
	}
	if o := invoke(t.Context(), "", migrate...); o.status != statusFailed ||
		!strings.Contains(o.err, "not the state of a migration") {
		t.Errorf("a state file: %+v", o)
	}
	if got := must(t, "ids"); len(got) != 1 {
		t.Errorf("the ids are %v", got)
	}
}
