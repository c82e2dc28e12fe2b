package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/testsize"
)

// needing makes a journal of two persistence ids. Of the 6 events of the first one, the events up
// to 4 were deleted because of a snapshot at 5.
func needing(t *testing.T) {
	t.Helper()
	must(t, "tables", "create")
	for range 6 {
		must(t, "append", "a", "--string", "x")
	}
	must(t, "append", "b", "--string", "x")
	j, done := journalHere(t)
	defer done()
	saved := dynajournal.SnapshotMetadata{PersistenceID: "a", SequenceNumber: 5}
	if _, err := j.SaveSnapshot(t.Context(), saved, "xxxxx"); err != nil {
		t.Fatal(err)
	}
	w, err := j.Recover(t.Context(), "a", dynajournal.RecoverOptions{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.DeleteCovered(t.Context(), 4); err != nil {
		t.Fatal(err)
	}
}

// A copy without snapshots is refused for ids that need their snapshot, unless --without-snapshots
// is set.
func TestMigrate_RefusesIDsWithoutNeededSnapshot(t *testing.T) {
	testsize.NoRace(t, "it does one thing after the other")
	clean(t)
	needing(t)
	migrate := []string{"migrate", "--from-layout", "current", "--from-table", dynajournal.DefaultJournalTable}
	target := []string{"--to-data", t.TempDir()}
	o := invoke(t.Context(), "", append(migrate, target...)...)
	if o.status != statusFailed || !strings.Contains(o.err, "failed: a: ") || !strings.Contains(o.err, "deleted because a snapshot has") {
		t.Errorf("%+v", o)
	}
	if got := must(t, "ids", "--data", target[1]); len(got) != 1 || got[0]["persistence_id"] != "b" {
		t.Errorf("copied were %v, want b alone", got)
	}
	with := append(migrate, "--from-snapshot-table", dynajournal.DefaultSnapshotTable)
	if got := must(t, append(with, target...)...)[0]; got["persistence_ids"] != 2.0 || got["snapshots"] != 1.0 {
		t.Errorf("with snapshots: %v", got)
	}
	must(t, append(append(with, target...), "--verify-only")...)
	must(t, append(migrate, target...)...) // the target has the snapshot

	without := []string{"--without-snapshots", "--to-data", t.TempDir()}
	if got := must(t, append(migrate, without...)...)[0]; got["persistence_ids"] != 2.0 || got["snapshots"] != 0.0 {
		t.Errorf("without snapshots: %v", got)
	}
	if o := invoke(t.Context(), "", append(with, without...)...); o.status != statusUsage {
		t.Errorf("both flags: %+v", o)
	}
	if o := invoke(t.Context(), "", "verify", "a", "--data", without[2]); o.status != statusDone {
		t.Errorf("verify: %+v", o)
	}
}

// An archive contains the snapshot that a persistence id needs. An import of an archive without it
// fails, and so does verify.
func TestImport_FailsWithoutNeededSnapshot(t *testing.T) {
	clean(t)
	needing(t)
	folder := t.TempDir()
	whole, lacking := filepath.Join(folder, "whole"), filepath.Join(folder, "lacking")
	must(t, "export", "--all", whole)
	must(t, "snapshot", "delete", "a")
	if o := invoke(t.Context(), "", "export", "--all", lacking); o.status != statusFailed ||
		!strings.Contains(o.err, "deleted because a snapshot has") {
		t.Errorf("export: %+v", o)
	}
	imported := []string{"--data", t.TempDir()}
	if o := invoke(t.Context(), "", append([]string{"import", lacking}, imported...)...); o.status != statusFailed ||
		!strings.Contains(o.err, "different: \"a\": ") || !strings.Contains(o.err, "deleted because a snapshot has") {
		t.Errorf("import: %+v", o)
	}
	if o := invoke(t.Context(), "", append([]string{"verify", "--all"}, imported...)...); o.status != statusFailed ||
		!strings.Contains(o.out, "snapshot-missing") {
		t.Errorf("verify: %+v", o)
	}
	must(t, append([]string{"import", whole}, imported...)...)
	must(t, append([]string{"verify", "--all"}, imported...)...)
}
