package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/legacy"
)

// putItem puts an item of strings and numbers. A value of digits is a number.
func putItem(t *testing.T, table string, item map[string]string) {
	t.Helper()
	stored := map[string]types.AttributeValue{}
	for name, v := range item {
		stored[name] = &types.AttributeValueMemberS{Value: v}
		switch {
		case name == "event":
			stored[name] = &types.AttributeValueMemberB{Value: []byte(v)}
		case strings.Trim(v, "0123456789") == "":
			stored[name] = &types.AttributeValueMemberN{Value: v}
		}
	}
	touch(t, func(c *dynamodb.Client) error {
		_, err := c.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: stored})
		return err
	})
}

// An item that a flag removes is written to the archive first, and can be put back from it.
func TestRepairArchivesWhatItRemoves(t *testing.T) {
	clean(t)
	appendMany(t, "a", 5)
	must(t, "delete", "a", "--to", "3")
	putItem(t, "pekko-persistence", map[string]string{
		"par": "journal-P-a-0", "num": "2", "persistence_id": "a", "seq": "2", "event": "x", "writer_uuid": "w", "ev_ser_id": "20",
	})
	file := filepath.Join(t.TempDir(), "removed")
	for _, args := range [][]string{{"repair", "a", "--remove-orphans"}, {"repair", "a", "--archive", file},
		{"repair", "a", "--remove-incomplete"}} {
		if o := invoke(t.Context(), "", args...); o.status != statusUsage || !strings.Contains(o.err, "archive") {
			t.Errorf("%q: %+v", args, o)
		}
	}
	if o := invoke(t.Context(), "", "repair", "a"); o.status != statusFailed ||
		!strings.Contains(o.out, "only by `repair --remove-orphans`") {
		t.Errorf("unasked: %+v", o)
	}
	o := invoke(t.Context(), "", "repair", "a", "--remove-orphans", "--archive", file, "--dry-run")
	if r := results(t, o.out); o.status != statusFailed || len(r) != 1 || r[0]["repairable"] != true ||
		r[0]["repaired"] != false {
		t.Errorf("dry: %+v", o)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("a dry run has made the archive")
	}
	if r := must(t, "repair", "a", "--remove-orphans", "--archive", file); len(r) != 1 || r[0]["repaired"] != true {
		t.Errorf("repair: %v", r)
	}
	must(t, "verify", "a")
	if o := invoke(t.Context(), "", "repair", "a", "--remove-orphans", "--archive",
		file); o.status != statusFailed || !strings.Contains(o.err, "exists") {
		t.Errorf("over an archive that is there: %+v", o)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var line struct {
		Table, Kind   string
		PersistenceID string `json:"persistence_id"`
		SequenceNr    int64  `json:"sequence_nr"`
		Item          map[string]map[string]string
	}
	if err := json.Unmarshal(text, &line); err != nil {
		t.Fatal(err)
	}
	if line.Table != "pekko-persistence" || line.PersistenceID != "a" || line.SequenceNr != 2 ||
		line.Kind != "orphan-below-low-mark" ||
		line.Item["event"]["B"] != "eA==" || line.Item["num"]["N"] != "2" || line.Item["par"]["S"] != "journal-P-a-0" {
		t.Errorf("archived %s", text)
	}
	empty := filepath.Join(t.TempDir(), "removed")
	must(t, "repair", "a", "--remove-orphans", "--archive", empty)
	if _, err := os.Stat(empty); err == nil {
		t.Error("an empty archive is left")
	}
}

// A snapshot that has lost a part is an error in each command that would show it, and a finding of
// verify.
func TestDamagedSnapshotIsNamedByEachCommand(t *testing.T) {
	clean(t)
	appendMany(t, "a", 5)
	must(t, "snapshot", "save", "a", "--seq", "2", "--string", "older")
	putItem(t, "pekko-persistence-snapshot", map[string]string{
		"par": "journal-P-a", "seq": "10000000000000000005", "split_version": "1", "split_ts": "1", "split_token": "7", "split_parts": "2",
		"split_bytes": "9", "split_sha256": "text", "ser_id": "20",
	})
	archive := filepath.Join(t.TempDir(), "archive")
	for args, shown := range map[string]int{
		"snapshot load a": 0, "snapshots a": 1, "verify a": 1, "repair a": 1, "export a " + archive: 1,
	} {
		o := invoke(t.Context(), "", append(strings.Fields(args), "--output", "json")...)
		if o.status != statusFailed || len(results(t, o.out)) != shown || !strings.Contains(o.out+o.err, "damaged") {
			t.Errorf("%s: %+v", args, o)
		}
	}
	if r := must(t, "snapshot", "load", "a", "--max-seq", "4"); len(r) != 1 || r[0]["payload"] != "older" {
		t.Errorf("below it: %v", r)
	}
	must(t, "snapshot", "delete", "a", "--min-seq", "5")
	must(t, "verify", "a")
}

func TestLegacyLayoutsAreNotVerified(t *testing.T) {
	for _, layout := range legacy.Layouts() {
		clean(t)
		on := []string{"--layout", layout.String(), "--journal-table", "old"}
		must(t, append([]string{"tables", "create"}, on...)...)
		for _, command := range []string{"verify", "repair"} {
			o := invoke(t.Context(), "", append([]string{command, "a"}, on...)...)
			if o.status != statusUsage || !strings.Contains(o.err, layout.String()) {
				t.Errorf("%s of layout %s: %+v", command, layout, o)
			}
		}
	}
}
