package main

import (
	"reflect"
	"strings"
	"testing"

	"github.com/dynajournal/dynajournal/internal/testsize"
)

func TestIDs(t *testing.T) {
	testsize.NoRace(t, "it does one thing after the other")
	for _, kind := range [][]string{nil, {"--shared-with-jvm"}} {
		clean(t)
		must(t, append([]string{"tables", "create"}, kind...)...)
		for _, pid := range []string{"b", "a", "a-2", "c"} {
			must(t, "append", pid, "--string", "x")
		}
		must(t, "delete", "c", "--to", "1")
		must(t, append([]string{"--journal-name", "other", "tables", "create"}, kind...)...)
		must(t, "--journal-name", "other", "append", "elsewhere", "--string", "x")
		for args, want := range map[string]string{
			"--sorted":                     "a a-2 b c",
			"--sorted --limit 2":           "a a-2",
			"--sorted --after a-2":         "b c",
			"--sorted --prefix a":          "a a-2",
			"--sorted --scan":              "a a-2 b c",
			"--sorted --scan --segments 3": "a a-2 b c",
			"--prefix d":                   "",
		} {
			var got []string
			for _, r := range must(t, append([]string{"ids"}, strings.Fields(args)...)...) {
				got = append(got, r["persistence_id"].(string))
			}
			if strings.Join(got, " ") != want {
				t.Errorf("%v: ids %s: %v, want %s", kind, args, got, want)
			}
		}
	}
}

func TestIDs_ContinueAfter(t *testing.T) {
	clean(t)
	for _, pid := range []string{"b", "a", "c"} {
		must(t, "append", pid, "--string", "x")
	}
	var got []any
	for after := []string(nil); ; {
		found := must(t, append([]string{"ids", "--limit", "1", "--scan"}, after...)...)
		if found == nil {
			break
		}
		got = append(got, found[0]["persistence_id"])
		after = []string{"--after", found[0]["persistence_id"].(string)}
	}
	seen := map[any]bool{}
	for _, pid := range got {
		seen[pid] = true
	}
	if len(got) != 3 || !reflect.DeepEqual(seen, map[any]bool{"a": true, "b": true, "c": true}) {
		t.Errorf("one after the other: %v", got)
	}
}

func TestIDsWithDetails(t *testing.T) {
	clean(t)
	must(t, "append", "a", "--string", "x", "--string", "y", "--string", "z")
	must(t, "append", "b", "--string", "x")
	must(t, "delete", "a", "--to", "1")
	must(t, "delete", "b", "--to", "1")
	found := must(t, "ids", "--details", "--sorted")
	if len(found) != 2 || keys(found[0]) != "events last_time persistence_id" || keys(found[1]) != "events persistence_id" {
		t.Fatalf("%v", found)
	}
	if found[0]["events"] != 2.0 || found[1]["events"] != 0.0 {
		t.Errorf("%v", found)
	}
	text := invoke(t.Context(), "", "ids", "--details", "--sorted", "--output", "text").out
	if lines := strings.Split(text, "\n"); !strings.HasPrefix(lines[0], "         2  20") || lines[1] != "         0  -                         b" {
		t.Errorf("%q", text)
	}
}
