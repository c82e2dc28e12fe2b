package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/testsize"
	"github.com/dynajournal/dynajournal/legacy"
)

// history writes ids of several kinds at the default location.
func history(t *testing.T) {
	t.Helper()
	must(t, "append", "a", "--string", "x", "--string", "y", "--bytes-base64", "AP8=")
	must(t, "append", "b", "--string", "x", "--string", "y", "--atomic")
	must(t, "delete", "b", "--to", "1")
	must(t, "append", "c", "--string", "x")
	must(t, "snapshot", "save", "a", "--seq", "2", "--string", "state")
}

// sameAt checks that events, bounds and snapshots of an id are the same at two locations.
func sameAt(t *testing.T, pid string, from, to []string) {
	t.Helper()
	for _, args := range [][]string{{"events", pid}, {"highest", pid}, {"snapshots", pid}} {
		want, got := must(t, append(args, from...)...), must(t, append(args, to...)...)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", args, got, want)
		}
	}
}

func TestImport_RestoresExport(t *testing.T) {
	clean(t)
	history(t)
	file, other := filepath.Join(t.TempDir(), "all.journal"), []string{"--data", t.TempDir()}
	exported := must(t, "export", "--all", file)
	sum := exported[0]["checksum"]
	want := map[string]any{"persistence_ids": 3.0, "events": 5.0, "snapshots": 1.0, "checksum": sum}
	if len(exported) != 1 || !reflect.DeepEqual(exported[0], want) || sum == "" {
		t.Errorf("export: %v, want %v", exported, want)
	}
	for again := range 2 { // again changes nothing
		want := map[string]any{
			"persistence_ids": 3.0, "events": 5.0, "snapshots": 1.0, "checksum": sum,
			"written": 5.0, "already_there": 0.0, "snapshots_written": 1.0, "refused": 0.0,
		}
		if again > 0 {
			want["written"], want["already_there"], want["snapshots_written"] = 0.0, 5.0, 0.0
		}
		if got := must(t, append(other, "import", file)...); len(got) != 1 || !reflect.DeepEqual(got[0], want) {
			t.Errorf("import: %v, want %v", got, want)
		}
	}
	for _, pid := range []string{"a", "b", "c"} {
		sameAt(t, pid, nil, other)
	}
	must(t, append(other, "verify", "--all")...)
	copied := filepath.Join(t.TempDir(), "copied")
	if got := must(t, append(other, "export", "--all", copied)...)[0]["checksum"]; got != sum {
		t.Errorf("the copy has the checksum %v, want %v", got, sum)
	}
	if o := invoke(t.Context(), "", "export", "--all", file); o.status != statusFailed ||
		!strings.Contains(o.err, "already exists: give another name") {
		t.Errorf("export over a file: %+v", o)
	}
	must(t, append(other, "append", "c", "--string", "only here")...)
	o := invoke(t.Context(), "", append(other, "import", file)...)
	if o.status != statusFailed || !strings.Contains(o.err, "1 persistence ids failed") ||
		!strings.Contains(o.err, `"c", sequence number 2`) ||
		!strings.Contains(o.err, `refused: "c": `) || results(t, o.out)[0]["refused"] != 1.0 || results(t, o.out)[0]["events"] != 4.0 {
		t.Errorf("import over other content: %+v", o)
	}
	some := filepath.Join(t.TempDir(), "some.journal")
	if got := must(t, "export", "a", "never", some); got[0]["persistence_ids"] != 2.0 || got[0]["events"] != 3.0 {
		t.Errorf("export of some: %v", got)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(some), "*.partial")); left != nil {
		t.Errorf("%q are left", left)
	}
}

// Persistence ids that do not fit into memory are written while they are read.
func TestImport_LargePersistenceID(t *testing.T) {
	testsize.NeedsLong(t, "its events are large")
	testsize.NoRace(t, "it does one thing after the other")
	clean(t)
	large := fmt.Sprintf("%q", strings.Repeat("z", 300_000))
	for range 5 {
		if o := invoke(t.Context(), large, "append", "big", "--json", "-"); o.status != statusDone {
			t.Fatal(o.err)
		}
	}
	if o := invoke(t.Context(), large, "snapshot", "save", "big", "--seq", "5", "--json", "-"); o.status != statusDone {
		t.Fatal(o.err)
	}
	file, other := filepath.Join(t.TempDir(), "f"), []string{"--data", t.TempDir()}
	must(t, "export", "--all", file)
	if got := must(t, append(other, "import", file)...); got[0]["events"] != 5.0 || got[0]["snapshots"] != 1.0 {
		t.Errorf("%v", got)
	}
	sameAt(t, "big", nil, other)
	must(t, append(other, "append", "other", "--string", "x")...)
	must(t, append(other, "purge", "big", "--yes", "--now")...)
	must(t, append(other, "append", "big", "--string", "x")...)
	if o := invoke(t.Context(), "", append(other, "import", file)...); o.status != statusFailed ||
		!strings.Contains(o.err, `"big", sequence number 1`) {
		t.Errorf("import over other content: %+v", o)
	}
}

// A history of eight events, of which the first five are deleted, is copied to an id with other
// events. The id has more or fewer events than were deleted.
func TestImport_KeepsOtherEvents(t *testing.T) {
	testsize.NoRace(t, "it does one thing after the other")
	for name, n := range map[string]int{"below what is deleted": 3, "beyond what is deleted": 7} {
		t.Run(name, func(t *testing.T) {
			clean(t)
			appended := func(n int, place ...string) {
				args := append([]string{"append", "a"}, place...)
				for range n {
					args = append(args, "--string", "x")
				}
				must(t, args...)
			}
			appended(8)
			must(t, "delete", "a", "--to", "5")
			must(t, "append", "b", "--string", "x")
			folder := t.TempDir()
			appended(n, "--data", folder)
			file := filepath.Join(t.TempDir(), "f")
			must(t, "export", "--all", file)
			before := must(t, "events", "a", "--data", folder)
			for what, args := range map[string][]string{
				"import": {"import", file, "--data", folder},
				"migrate": {"migrate", "--from-layout", "current", "--from-table", "pekko-persistence", "--to-data",
					folder},
				"verify": {"migrate", "--from-layout", "current", "--from-table", "pekko-persistence", "--to-data",
					folder, "--verify-only"},
			} {
				o := invoke(t.Context(), "", args...)
				if o.status != statusFailed || !strings.Contains(o.err, "a") {
					t.Errorf("%s: %+v", what, o)
				}
			}
			if after := must(t, "events", "a", "--data", folder); !reflect.DeepEqual(after, before) {
				t.Errorf("the events are %v, were %v", after, before)
			}
			if got := must(t, "list", "a", "--data", folder)[0]; !reflect.DeepEqual(got["tombstones"], []any{}) ||
				!reflect.DeepEqual(got["low_marks"], []any{}) {
				t.Errorf("the items are %v", got)
			}
			if got := must(t, "events", "b", "--data", folder); len(got) != 1 {
				t.Errorf("the others are not copied: %v", got)
			}
		})
	}
}

// Verified means equal. Each difference exits with status 1, and prints a line with the id and the
// number.
func TestMigrate_VerifyOnlyFailsOnDifference(t *testing.T) {
	testsize.NeedsLong(t, "it copies six times; a test of the migration has the same cases")
	testsize.NoRace(t, "it does one thing after the other")
	for name, c := range map[string]struct {
		change func(t *testing.T, target string)
		want   string
	}{
		"a last event that is missing": {func(t *testing.T,
			_ string) {
			t.Helper()
			must(t, "append", "a", "--string", "new")
		}, "different: a at 4: the source has event 4 "},
		"an id that is missing": {func(t *testing.T,
			_ string) {
			t.Helper()
			must(t, "append", "new", "--string", "x")
		}, "different: new at 1: the source has event 1 "},
		"a purge": {func(t *testing.T, target string) {
			t.Helper()
			must(t, "purge", "c", "--yes", "--now", "--data", target)
		}, "different: c at 1: the source has event 1 "},
		"an event besides": {func(t *testing.T, target string) {
			t.Helper()
			must(t, "append", "c", "--string", "x", "--data", target)
		}, "different: c at 2: the source has nothing, the target event 2 "},
		"an id besides": {func(t *testing.T, target string) {
			t.Helper()
			must(t, "append", "z", "--string", "x", "--data", target)
		}, "different: z at 1: the source has nothing, the target event 1 "},
		"a deletion": {func(t *testing.T, target string) {
			t.Helper()
			must(t, "delete", "a", "--to", "1", "--data", target)
		}, "different: a at 1: the source has event 1 "},
	} {
		t.Run(name, func(t *testing.T) {
			clean(t)
			history(t)
			target := t.TempDir()
			args := []string{"migrate", "--from-layout", "current", "--from-table", "pekko-persistence",
				"--to-data", target}
			must(t, args...)
			args = append(args, "--verify-only")
			must(t, args...)
			c.change(t, target)
			if o := invoke(t.Context(), "", args...); o.status != statusFailed || !strings.Contains(o.err, c.want) {
				t.Errorf("%+v, want %q", o, c.want)
			}
		})
	}
	t.Run("an empty target", func(t *testing.T) {
		clean(t)
		history(t)
		target := t.TempDir()
		must(t, "tables", "create", "--data", target)
		o := invoke(t.Context(), "", "migrate", "--from-layout", "current", "--from-table", "pekko-persistence",
			"--to-data", target, "--verify-only")
		for _, want := range []string{"different: a at 1: ", "different: b at 2: the source has a low mark of 2",
			"different: c at 1: "} {
			if o.status != statusFailed || !strings.Contains(o.err, want) {
				t.Errorf("%+v, want %q", o, want)
			}
		}
	})
}

func TestImport_RefusesDamagedArchive(t *testing.T) {
	clean(t)
	history(t)
	file := filepath.Join(t.TempDir(), "f")
	must(t, "export", "--all", file)
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	damaged := bytes.Clone(whole)
	damaged[len(damaged)/2] ^= 1
	for name, c := range map[string]struct {
		content []byte
		want    string
	}{
		"cut short":      {whole[:len(whole)-1], "the archive is cut short: in the block at byte"},
		"damaged":        {damaged, "the archive is damaged: in the block at byte 16"},
		"something else": {[]byte("{}"), "it is not an archive of dynajournal"},
		"empty":          {nil, "it is not an archive of dynajournal"},
	} {
		if err := os.WriteFile(file, c.content, 0o600); err != nil {
			t.Fatal(err)
		}
		o := invoke(t.Context(), "", "import", file, "--data", t.TempDir())
		if o.status != statusFailed || !strings.Contains(o.err, c.want) || strings.Count(o.err, "\n") > 2 {
			t.Errorf("%s: %+v, want %q", name, o, c.want)
		}
	}
	if o := invoke(t.Context(), "", "import", filepath.Join(t.TempDir(), "none")); o.status != statusFailed ||
		!strings.Contains(o.err, "no such file") {
		t.Errorf("%+v", o)
	}
}

// An unfinished export is continued, but only with content of the same journal.
func TestExport_ContinuesUnfinished(t *testing.T) {
	clean(t)
	history(t)
	folder := t.TempDir()
	file := filepath.Join(folder, "f")
	w := &location{Layout: layoutCurrent}
	if _, err := w.resolve(); err != nil {
		t.Fatal(err)
	}
	partial := w.partial(file, nil)
	whole := filepath.Join(folder, "whole")
	must(t, "export", "--all", whole)
	content, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	// The file is as if the export had been killed just before the end.
	if err := os.WriteFile(partial, content, 0o600); err != nil {
		t.Fatal(err)
	}
	must(t, "append", "d", "--string", "new")
	if got := must(t, "export", "--all", file); got[0]["persistence_ids"] != 4.0 || got[0]["events"] != 6.0 ||
		got[0]["snapshots"] != 1.0 {
		t.Errorf("%v, want the three that are in it, and the new one", got)
	}
	if _, err := os.Stat(partial); !os.IsNotExist(err) {
		t.Errorf("the part is left: %v", err)
	}
	if got := must(t, "import", file, "--data", t.TempDir()); got[0]["persistence_ids"] != 4.0 {
		t.Errorf("%v", got)
	}
}

// The error names an unfinished part that another release has left, because the user did not choose
// the name of the part.
func TestExport_NamesPartThatCannotBeContinued(t *testing.T) {
	clean(t)
	history(t)
	file := filepath.Join(t.TempDir(), "f")
	w := &location{Layout: layoutCurrent}
	if _, err := w.resolve(); err != nil {
		t.Fatal(err)
	}
	partial := w.partial(file, nil)
	newer := append([]byte("DYNAJRNL"), 5, 0, 0, 0)
	newer = binary.LittleEndian.AppendUint32(newer, crc32.Checksum(newer, crc32.MakeTable(crc32.Castagnoli)))
	if err := os.WriteFile(partial, newer, 0o600); err != nil {
		t.Fatal(err)
	}
	o := invoke(t.Context(), "", "export", "--all", file)
	if o.status != statusFailed || !strings.Contains(o.err, partial) ||
		!strings.Contains(o.err, "another format version") {
		t.Errorf("%+v, want that %s is of another version", o, partial)
	}
	if left, err := os.ReadFile(partial); err != nil || !bytes.Equal(left, newer) {
		t.Errorf("the part has become %q, %v", left, err)
	}
}

func TestMigrateToAnotherLocation(t *testing.T) {
	testsize.NoRace(t, "it does one thing after the other")
	clean(t)
	history(t)
	target := t.TempDir()
	args := []string{
		"migrate", "--from-layout", "current", "--from-table", "pekko-persistence", "--from-snapshot-table", "pekko-persistence-snapshot", "--to-data", target,
	}
	want := map[string]any{"persistence_ids": 3.0, "events": 5.0, "snapshots": 1.0}
	for range 2 {
		if got := must(t, args...); len(got) != 1 || !reflect.DeepEqual(got[0], want) {
			t.Errorf("%v, want %v", got, want)
		}
	}
	for _, pid := range []string{"a", "b", "c"} {
		sameAt(t, pid, nil, []string{"--data", target})
	}
	must(t, "append", "c", "--string", "new")
	o := invoke(t.Context(), "", append(args, "--catch-up")...)
	if o.status != statusDone || !strings.Contains(o.err, "of which 1 were new") ||
		!strings.Contains(o.err, "compared: 3 persistence ids, 6 events and 1 snapshots are the same") {
		t.Errorf("catching up: %+v", o)
	}
	must(t, "append", "a", "--string", "there", "--data", target)
	o = invoke(t.Context(), "", args...)
	if o.status != statusFailed || !strings.Contains(o.err, "failed: a: ") ||
		!strings.Contains(o.err, "sequence number 4") {
		t.Errorf("over other content: %+v", o)
	}
	o = invoke(t.Context(), "", append(args, "--verify-only")...)
	if o.status != statusFailed || !strings.Contains(o.err, "different: a at 4: the source has nothing") {
		t.Errorf("a difference: %+v", o)
	}
}

func TestMigrateKeepsItsStateInAFile(t *testing.T) {
	clean(t)
	history(t)
	state := filepath.Join(t.TempDir(), "state")
	args := []string{"migrate", "--from-layout", "current", "--from-table", "pekko-persistence", "--to-data",
		t.TempDir(), "--state", state}
	must(t, args...)
	o := invoke(t.Context(), "", args...)
	if o.status != statusDone || !strings.Contains(o.err, "skipped 3 persistence ids") {
		t.Errorf("%+v", o)
	}
	other := append(append([]string{}, args...), "--journal-name", "other", "--from-journal-name",
		dynajournal.DefaultJournalName)
	if o := invoke(t.Context(), "", other...); o.status != statusFailed ||
		!strings.Contains(o.err, "another migration") {
		t.Errorf("%+v", o)
	}
}

// legacyTable makes a table of a legacy layout, with all features that the current layout lacks.
func legacyTable(t *testing.T, layout legacy.Layout, table string) {
	t.Helper()
	p, err := (&location{Layout: layoutCurrent}).open(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.close() }()
	config := legacy.Config{Layout: layout, Journal: p.config}
	config.Journal.JournalTable = table
	if err := legacy.CreateTable(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	j, err := legacy.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = j.Close() }()
	write := func(pid string, n int) *legacy.Writer {
		w, err := j.Recover(t.Context(), pid, dynajournal.RecoverOptions{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			if _, err := w.Append(t.Context(), fmt.Sprintf("event-%d", i+1)); err != nil {
				t.Fatal(err)
			}
		}
		return w
	}
	w := write("marked", 7)
	if layout != legacy.Naive {
		if _, err := w.Confirm(t.Context(), 6, "channel"); err != nil {
			t.Fatal(err)
		}
		if _, err := w.DeleteTo(t.Context(), 2, legacy.Mark); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := write("removed", 120).DeleteTo(t.Context(), 110, legacy.Permanent); err != nil {
		t.Fatal(err)
	}
	write("plain", 3)
	if layout == legacy.HashKey {
		item := map[string]types.AttributeValue{
			"key":     &types.AttributeValueMemberS{Value: "journal-P-plain-2"},
			"payload": &types.AttributeValueMemberB{Value: []byte("no message")},
		}
		if _, err := dynamodb.NewFromConfig(p.config.AWS).PutItem(t.Context(),
			&dynamodb.PutItemInput{TableName: &table, Item: item}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestMigrateFromEachLegacyLayout(t *testing.T) {
	testsize.NoRace(t, "it does one thing after the other")
	for _, layout := range legacy.Layouts()[:testsize.Of(2, len(legacy.Layouts()))] {
		t.Run(layout.String(), func(t *testing.T) {
			clean(t)
			const table = "old"
			legacyTable(t, layout, table)
			before := scanned(t, table)
			notes := filepath.Join(t.TempDir(), "notes")
			args := []string{"migrate", "--from-layout", layout.String(), "--from-table", table, "--marked-deleted",
				"tombstones", "--notes", notes}
			o := invoke(t.Context(), "", args...)
			if o.status != statusDone {
				t.Fatalf("%+v", o)
			}
			marks := layout != legacy.Naive
			events := 7 + 10 + 3
			if marks {
				events -= 2
			}
			if got := results(t, o.out)[0]; got["persistence_ids"] != 3.0 || got["events"] != float64(events) {
				t.Errorf("%v, want 3 ids with %d events", got, events)
			}
			if strings.Contains(o.err, "2 events were marked as deleted") != marks ||
				strings.Contains(o.err, "1 events had 1 confirmations") != marks {
				t.Errorf("it says %s", o.err)
			}
			if noted, _ := os.ReadFile(notes); marks && strings.Count(string(noted), `"marked_deleted":true`) != 2 {
				t.Errorf("noted %s", noted)
			}
			low := 0.0
			if marks {
				low = 3
			}
			if got := must(t, "highest", "marked")[0]; got["lowest"] != low || got["highest"] != 7.0 {
				t.Errorf("marked: %v", got)
			}
			if got := must(t, "list", "marked")[0]["tombstones"]; marks && !reflect.DeepEqual(got, []any{1.0, 2.0}) {
				t.Errorf("tombstones %v", got)
			}
			if got := must(t, "highest", "removed")[0]; got["lowest"] != 111.0 || got["highest"] != 120.0 {
				t.Errorf("removed: %v", got)
			}
			if layout == legacy.HashKey {
				if got := must(t, "events", "plain")[1]; got["serializer_id"] != 7.0 ||
					got["payload_base64"] != "bm8gbWVzc2FnZQ==" {
					t.Errorf("an event that can't be read is %v", got)
				}
			}
			if o := invoke(t.Context(), "", append(args, "--catch-up")...); o.status != statusDone ||
				!strings.Contains(o.err, "of which 0 were new") {
				t.Errorf("again: %+v", o)
			}
			if after := scanned(t, table); !reflect.DeepEqual(after, before) {
				t.Error("the source has changed")
			}
			if got := must(t, "append", "removed", "--string", "next")[0]["sequence_nr"]; got != 121.0 {
				t.Errorf("the next number is %v", got)
			}
		})
	}
}

// scanned returns all items of a table.
func scanned(t *testing.T, table string) []map[string]types.AttributeValue {
	t.Helper()
	var all []map[string]types.AttributeValue
	touch(t, func(c *dynamodb.Client) error {
		page, err := c.Scan(t.Context(), &dynamodb.ScanInput{TableName: &table})
		if err == nil {
			all = page.Items
		}
		return err
	})
	return all
}

func TestMigrateInPlace(t *testing.T) {
	clean(t)
	p, err := (&location{Layout: layoutCurrent}).open(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	config := p.config
	config.OldEventFormat = true
	if err := dynajournal.CreateTables(t.Context(), config, dynajournal.TableOptions{SharedWithJVM: true}); err != nil {
		t.Fatal(err)
	}
	j, err := dynajournal.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	w, err := j.Recover(t.Context(), "a", dynajournal.RecoverOptions{}, nil)
	if err == nil {
		_, err = w.Append(t.Context(), "x", "y")
	}
	if err != nil {
		t.Fatal(err)
	}
	_, _ = j.Close(), p.close()
	want := must(t, "events", "a")
	args := []string{"migrate", "--from-layout", "pay", "--from-table", "pekko-persistence"}
	for _, n := range []float64{2, 0} {
		if got := must(t, args...); got[0]["persistence_ids"] != 1.0 || got[0]["events"] != n {
			t.Errorf("%v, want %v events", got, n)
		}
	}
	if got := must(t, "events", "a"); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for _, item := range scanned(t, "pekko-persistence") {
		if _, ok := item["pay"]; ok {
			t.Errorf("%v is as it was", item)
		}
	}
}

func TestMigrate_ReportsFailures(t *testing.T) {
	testsize.NoRace(t, "it does one thing after the other")
	clean(t)
	history(t)
	legacyTable(t, legacy.HashKey, "old")
	for name, c := range map[string]struct {
		args   []string
		status int
		want   string
	}{
		"no layout": {[]string{"--from-table", "old"}, statusUsage, "--from-layout"},
		"no table":  {[]string{"--from-layout", "naive"}, statusUsage, "--from-table"},
		"an unknown layout": {[]string{"--from-layout", "x", "--from-table", "old"}, statusUsage,
			"--from-layout"},
		"another layout": {[]string{"--from-layout", "naive", "--from-table", "old"}, statusFailed,
			"it looks like --layout hash-key"},
		"an older one as today's": {[]string{"--from-layout", "current", "--from-table", "old"}, statusFailed,
			"it looks like --from-layout hash-key"},
		"today's as an older one": {[]string{"--from-layout", "hash-key", "--from-table", "pekko-persistence"},
			statusFailed, "it looks like --layout current"},
		"a table that is not there": {[]string{"--from-layout", "naive", "--from-table", "none"}, statusFailed,
			"dynajournal: migrate: the source: "},
		"itself": {[]string{"--from-layout", "current", "--from-table", "pekko-persistence"},
			statusUsage, "are the same journal"},
		"some and all": {[]string{"a", "--all", "--from-layout", "naive", "--from-table", "old"},
			statusUsage, "or --all"},
		"a negative bound": {[]string{"--from-layout", "naive", "--from-table", "old", "--read-units",
			"-1"}, statusUsage, "must not be negative"},
		"two targets": {[]string{"--from-layout", "naive", "--from-table", "old", "--to-data", "x",
			"--to-aws"}, statusUsage, "can't be used together"},
		"comparing and catching up": {[]string{"--from-layout", "naive", "--from-table", "old", "--verify-only",
			"--catch-up"}, statusUsage, "--verify-only"},
	} {
		o := invoke(t.Context(), "", append([]string{"migrate"}, c.args...)...)
		if o.status != c.status || !strings.Contains(o.err, c.want) || !strings.HasPrefix(o.err, "dynajournal: ") ||
			strings.Count(o.err, "\n") != 1 || o.out != "" {
			t.Errorf("%s: %+v, want %d and %q", name, o, c.status, c.want)
		}
	}
}

// TestMigrate_ContinuesAfterSIGKILL repeats a migration on a folder, and kills each run, until one
// run is complete.
func TestMigrate_ContinuesAfterSIGKILL(t *testing.T) {
	testsize.NeedsLong(t, "TestExport_ContinuesAfterSIGKILL kills the command, too")
	clean(t)
	ids := testsize.Of(8, 20)
	for i := range ids {
		var args []string
		for n := range 30 {
			args = append(args, "--string", fmt.Sprint(i, " ", n))
		}
		must(t, append([]string{"append", fmt.Sprint("id-", i)}, args...)...)
	}
	target := t.TempDir()
	kills := 0
	for wait := 60 * time.Millisecond; ; wait += wait / testsize.Of[time.Duration](1, 4) {
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		command := exec.CommandContext(ctx, os.Args[0], "migrate", "--from-layout", "current", "--from-table",
			"pekko-persistence", "--to-data", target)
		command.Env = append(os.Environ(), asCommand+"=1")
		out, err := command.CombinedOutput()
		killed := ctx.Err() != nil
		cancel()
		if err == nil {
			break
		}
		if !killed {
			t.Fatalf("%v: %s", err, out)
		}
		kills++
	}
	t.Logf("killed %d times", kills)
	for i := range ids {
		sameAt(t, fmt.Sprint("id-", i), nil, []string{"--data", target})
	}
	must(t, "verify", "--all", "--data", target)
}
