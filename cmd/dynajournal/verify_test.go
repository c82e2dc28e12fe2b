package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// loseItem removes an item of the journal table.
func loseItem(t *testing.T, par, num string) {
	t.Helper()
	touch(t, func(c *dynamodb.Client) error {
		_, err := c.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: new("pekko-persistence"), Key: map[string]types.AttributeValue{
			"par": &types.AttributeValueMemberS{Value: par},
			"num": &types.AttributeValueMemberN{Value: num},
		}})
		return err
	})
}

// appendMany appends events to a persistence id.
func appendMany(t *testing.T, pid string, count int) {
	t.Helper()
	must(t, append([]string{"append", pid}, strings.Split(strings.Repeat("--string=x ", count), " ")[:count]...)...)
}

const findingKeys = "detail kind persistence_id repairable sequence_nr severity"

func TestVerifyFailsWhereSomethingIsFound(t *testing.T) {
	clean(t)
	appendMany(t, "a", 100)
	appendMany(t, "b", 5)
	appendMany(t, "c", 5)
	loseItem(t, "journal-SH-a-0", "0")
	loseItem(t, "journal-P-b-0", "3")
	for args, want := range map[string]string{
		"":                           "a missing-high-mark, b hole",
		"--all":                      "a missing-high-mark, b hole",
		"--all --read-units 1000000": "a missing-high-mark, b hole",
		"--all --parallel 1":         "a missing-high-mark, b hole",
		"a b c":                      "a missing-high-mark, b hole",
		"b":                          "b hole",
		"c":                          "",
		"c never-written":            "",
	} {
		o := invoke(t.Context(), "", append([]string{"verify"}, strings.Fields(args)...)...)
		found := map[string]string{}
		for _, r := range results(t, o.out) {
			if keys(r) != findingKeys || r["detail"] == "" {
				t.Errorf("verify %s: %v", args, r)
			}
			if found[r["persistence_id"].(string)] != "" {
				t.Errorf("verify %s: twice: %v", args, r)
			}
			found[r["persistence_id"].(string)] = r["kind"].(string)
		}
		var got []string
		for _, pid := range []string{"a", "b", "c"} {
			if found[pid] != "" {
				got = append(got, pid+" "+found[pid])
			}
		}
		status, message := statusFailed, "dynajournal: verify: found "
		if want == "" {
			status, message = statusDone, "found nothing"
		}
		if strings.Join(got, ", ") != want || o.status != status || strings.Count(o.err, "\n") != 1 ||
			!strings.Contains(o.err, message) {
			t.Errorf("verify %s: %v, want %s; status %d, %q", args, got, want, o.status, o.err)
		}
	}
}

func TestRepairReportsWhatItRepaired(t *testing.T) {
	clean(t)
	appendMany(t, "a", 100)
	appendMany(t, "b", 5)
	loseItem(t, "journal-SH-a-0", "0")
	loseItem(t, "journal-P-b-0", "3")
	one := func(status int, args ...string) map[string]any {
		t.Helper()
		o := invoke(t.Context(), "", args...)
		found := results(t, o.out)
		if o.status != status || len(found) != 1 ||
			keys(found[0]) != "detail kind persistence_id repairable repaired sequence_nr severity" {
			t.Fatalf("%q: %+v", args, o)
		}
		return found[0]
	}
	if r := one(statusFailed, "repair", "a", "--dry-run"); r["repairable"] != true || r["repaired"] != false {
		t.Errorf("dry: %v", r)
	}
	if o := invoke(t.Context(), "", "verify", "a"); o.status != statusFailed {
		t.Errorf("a dry run has repaired: %+v", o)
	}
	if r := one(statusDone, "repair", "a"); r["repairable"] != true || r["repaired"] != true {
		t.Errorf("repair: %v", r)
	}
	if r := one(statusFailed, "repair", "--all"); r["persistence_id"] != "b" || r["repairable"] != false ||
		r["repaired"] != false {
		t.Errorf("what is left: %v", r)
	}
	if o := invoke(t.Context(), "", "repair", "a", "never-written"); o.status != statusDone || o.out != "" ||
		o.err != "checked 2 persistence ids, repaired 0 findings\n" {
		t.Errorf("nothing to repair: %+v", o)
	}
}

func TestExport_MissingEvent(t *testing.T) {
	clean(t)
	appendMany(t, "b", 5)
	loseItem(t, "journal-P-b-0", "3")
	o := invoke(t.Context(), "", "events", "b")
	if o.status != statusFailed || len(results(t, o.out)) != 2 || !strings.Contains(o.err, "an event is missing") {
		t.Errorf("events: %+v", o)
	}
	if found := must(t, "events", "b", "--skip-missing"); len(found) != 4 {
		t.Errorf("events --skip-missing: %v", found)
	}
	file := filepath.Join(t.TempDir(), "f")
	if o := invoke(t.Context(), "", "export", "b", file); o.status != statusFailed || !strings.Contains(o.err, "an event is missing") {
		t.Errorf("export: %+v", o)
	}
	if found := must(t, "export", "b", file+"2", "--skip-missing"); found[0]["events"] != 4.0 {
		t.Errorf("export --skip-missing: %v", found)
	}
	if o := invoke(t.Context(), "", "repair", "b", "--seal-missing"); o.status != statusDone {
		t.Errorf("repair: %+v", o)
	}
	if found := must(t, "events", "b"); len(found) != 4 {
		t.Errorf("events after the repair: %v", found)
	}
	appendMany(t, "c", 3)
	loseItem(t, "journal-P-c-0", "2")
	must(t, "purge", "c", "--yes")
}

func TestFindingsAsText(t *testing.T) {
	clean(t)
	appendMany(t, "b", 5)
	loseItem(t, "journal-P-b-0", "3")
	o := invoke(t.Context(), "", "verify", "b", "--output", "text")
	if !strings.HasPrefix(o.out, "b: hole at 3: ") || !strings.HasSuffix(o.out, "(data-loss, repairable by flag)\n") {
		t.Errorf("%q", o.out)
	}
}
