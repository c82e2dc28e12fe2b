package main

import (
	"os"
	"path/filepath"
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

// A first run tries everything on the engine, and writes a report that has no secrets.
func TestDoctor_FirstRun(t *testing.T) {
	clean(t)
	report := filepath.Join(t.TempDir(), "report.txt")
	all := must(t, "--memory", "--output", "json", "doctor", "--first-run", "--report", report)
	sum, _ := all[len(all)-1]["summary"].(map[string]any)
	if len(all) < 15 || sum["error"] != 0.0 || sum["unknown"] != 0.0 {
		t.Errorf("the first run has %d results: %v", len(all), sum)
	}
	text, err := os.ReadFile(report)
	if err != nil || strings.Count(string(text), "\n") != len(all)+1 || !strings.HasPrefix(string(text), "dynajournal ") {
		t.Errorf("the report is %q, %v", text, err)
	}
	o := invoke(t.Context(), "", "--memory", "doctor", "--first-run", "--report", report)
	if o.status != statusFailed || !strings.Contains(o.err, "create the report") {
		t.Errorf("with a file that exists it ended with %d: %s", o.status, o.err)
	}
	if o := invoke(t.Context(), "", "--memory", "doctor", "--report", report); o.status != statusUsage {
		t.Errorf("--report alone ended with %d: %s", o.status, o.err)
	}
}

func TestDoctor_ReportWithoutSecrets(t *testing.T) {
	const text = "arn:aws:dynamodb:eu-west-1:123456789012:table/x, key AKIAIOSFODNN7EXAMPLE, 1234567890123 units"
	if got, want := withoutSecrets(text), "arn:aws:dynamodb:eu-west-1:…:table/x, key …, 1234567890123 units"; got != want {
		t.Errorf("the text is %q, want %q", got, want)
	}
}
