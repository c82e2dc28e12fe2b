package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// putAsAJVM puts an event as the plug-in does.
func putAsAJVM(t *testing.T, pid string, seq int) {
	t.Helper()
	text := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
	number := func(n int) types.AttributeValue { return &types.AttributeValueMemberN{Value: fmt.Sprint(n)} }
	touch(t, func(c *dynamodb.Client) error {
		_, err := c.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: new("pekko-persistence"), Item: map[string]types.AttributeValue{
			"par": text(fmt.Sprintf("journal-P-%s-%d", pid, seq/100)), "num": number(seq % 100),
			"persistence_id": text(pid), "seq": number(seq), "writer_uuid": text("w"), "ev_ser_id": number(20), "ev_ser_manifest": text("S"),
			"event": &types.AttributeValueMemberB{Value: []byte("x")},
		}})
		return err
	})
}

// Commands over all ids succeed despite an id that is too long to be written by Go.
func TestLongID_StopsNoCommand(t *testing.T) {
	clean(t)
	must(t, "tables", "create", "--shared-with-jvm")
	long := strings.Repeat("l", 2030)
	for _, pid := range []string{"a", long, "z"} {
		putAsAJVM(t, pid, 1)
		putAsAJVM(t, pid, 2)
	}
	if got := must(t, "ids", "--sorted"); len(got) != 3 || got[1]["persistence_id"] != long {
		t.Errorf("%d ids are listed", len(got))
	}
	for _, command := range []string{"events", "list", "highest", "snapshots", "verify"} {
		must(t, command, long)
	}
	must(t, "verify", "--all")
	file := filepath.Join(t.TempDir(), "all.journal")
	exported := must(t, "export", "--all", file)
	want := map[string]any{"persistence_ids": 3.0, "events": 6.0, "snapshots": 0.0, "checksum": exported[0]["checksum"]}
	if !reflect.DeepEqual(exported, []map[string]any{want}) {
		t.Errorf("export: %v, want %v", exported, want)
	}
	o := invoke(t.Context(), "", "--data", t.TempDir(), "import", file)
	if o.status != statusFailed || !strings.Contains(o.err, `refused: "ll`) {
		t.Errorf("import ended with %d: %.200s", o.status, o.err)
	}
	if got := results(t, o.out); len(got) != 1 || got[0]["persistence_ids"] != 2.0 || got[0]["refused"] != 1.0 {
		t.Errorf("import: %v", got)
	}
	o = invoke(t.Context(), "", "repair", "--all")
	if got := results(t, o.out); o.status != statusFailed || len(got) != 1 || got[0]["kind"] != "unchecked" ||
		got[0]["persistence_id"] != long {
		t.Errorf("repair --all ended with %d: %.200s %.200s", o.status, o.out, o.err)
	}
	o = invoke(t.Context(), "", "append", long, "--string", "x")
	if o.status != statusUsage {
		t.Errorf("append ended with %d: %.200s", o.status, o.err)
	}
}

// Naming an id whose key is too long to be stored is wrong usage: no archive is created.
func TestExport_RefusesIDWithoutKey(t *testing.T) {
	clean(t)
	must(t, "tables", "create")
	file := filepath.Join(t.TempDir(), "one.journal")
	o := invoke(t.Context(), "", "export", strings.Repeat("l", 2040), file)
	if _, err := os.Lstat(file); o.status != statusUsage || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("export ended with %d: %.200s, the file: %v", o.status, o.err, err)
	}
}

// Some ids can't be processed: a mark can't be read, or more numbers are missing than a writer can
// leave. Commands over all ids name them, and process the other ids.
func TestUnreadableID_StopsNoCommand(t *testing.T) {
	clean(t)
	must(t, "tables", "create", "--shared-with-jvm")
	for _, pid := range []string{"a", "broken", "z"} {
		putAsAJVM(t, pid, 1)
	}
	touch(t, func(c *dynamodb.Client) error {
		_, err := c.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: new("pekko-persistence"), Item: map[string]types.AttributeValue{
			"par": &types.AttributeValueMemberS{Value: "journal-SH-broken-1"}, "num": &types.AttributeValueMemberN{Value: "0"},
			"seq": &types.AttributeValueMemberS{Value: "no number"},
		}})
		return err
	})
	putAsAJVM(t, "hole", 1)
	putAsAJVM(t, "hole", 1<<21)
	touch(t, func(c *dynamodb.Client) error {
		_, err := c.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: new("pekko-persistence"), Item: map[string]types.AttributeValue{
			"par": &types.AttributeValueMemberS{Value: fmt.Sprintf("journal-SH-hole-%d",
				1<<21/100%10)}, "num": &types.AttributeValueMemberN{Value: "0"},
			"seq": &types.AttributeValueMemberN{Value: fmt.Sprint(1 << 21 / 100 * 100)},
		}})
		return err
	})
	o := invoke(t.Context(), "", "export", "--all", filepath.Join(t.TempDir(), "all.journal"))
	if got := results(t, o.out); o.status != statusFailed || len(got) != 1 || got[0]["persistence_ids"] != 2.0 ||
		strings.Count(o.err, "left out: ") != 2 {
		t.Errorf("export ended with %d: %s %.300s", o.status, o.out, o.err)
	}
	o = invoke(t.Context(), "", "verify", "--all")
	if got := results(t, o.out); o.status != statusFailed || len(got) < 2 {
		t.Errorf("verify ended with %d: %s %.300s", o.status, o.out, o.err)
	}
}
