package main

import (
	"strings"
	"testing"
)

// The command prints each check, and a summary as the last line.
func TestDoctor_ExitStatusAndSummary(t *testing.T) {
	clean(t)
	data := t.TempDir()
	for _, c := range []struct {
		args   string
		status int
		first  string // status and name of the first check
		err    string
	}{
		{"doctor", statusFailed, "error table.journal", "2 of 2 checks found an error"},
		{"tables create", statusDone, "", ""},
		{"doctor", statusDone, "warn backup.journal", ""},
		{"doctor --strict", statusFailed, "warn backup.journal", "warnings and 0 unknown checks"},
		{"doctor --role service --role projections", statusFailed, "error stream", "found an error"},
		{"doctor --role nobody", statusUsage, "", "--role"},
		{"tables create --projections --stream", statusDone, "", ""},
		{"tables update --stream", statusDone, "", ""},
		{"doctor --role service --role projections --regions eu-west-1", statusDone, "warn backup.journal", ""},
	} {
		o := invoke(t.Context(), "", append([]string{"--data", data, "--output", "json"}, strings.Fields(c.args)...)...)
		if o.status != c.status || !strings.Contains(o.err, c.err) {
			t.Errorf("%s ended with %d, want %d: %s", c.args, o.status, c.status, o.err)
		}
		if c.first == "" {
			continue
		}
		all := results(t, o.out)
		sum, _ := all[len(all)-1]["summary"].(map[string]any)
		if len(sum) != 4 {
			t.Errorf("%s: the last line is %v", c.args, all[len(all)-1])
		}
		if got := all[0]["status"].(string) + " " + all[0]["check"].(string); got != c.first {
			t.Errorf("%s: the first check is %q, want %q", c.args, got, c.first)
		}
		for _, check := range all[:len(all)-1] {
			if len(check) != 7 {
				t.Errorf("%s: a check has the keys of %v", c.args, check)
			}
		}
	}
	o := invoke(t.Context(), "", "--data", data, "--output", "text", "doctor")
	if !strings.Contains(o.out, "ok     table.journal  pekko-persistence\n") || !strings.HasSuffix(o.out, "unknown\n") {
		t.Errorf("the text is\n%s", o.out)
	}
}
