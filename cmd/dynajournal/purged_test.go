package main

import (
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/testsize"
)

// usedAgain makes a journal of two persistence ids. The first one was purged after three events and
// then used again: its events have the numbers 5 and 6. A crashed process has left snapshots in the
// purged range.
func usedAgain(t *testing.T) {
	t.Helper()
	must(t, "append", "a", "--string", "x", "--string", "x", "--string", "x")
	must(t, "append", "b", "--string", "x")
	must(t, "purge", "a", "--yes")
	must(t, "append", "a", "--string", "y", "--string", "z")
	j, done := journalHere(t)
	defer done()
	if _, err := j.SaveSnapshot(t.Context(), dynajournal.SnapshotMetadata{PersistenceID: "a", SequenceNumber: 6}, "state"); err != nil {
		t.Fatal(err)
	}
	late, ok, err := j.LoadSnapshot(t.Context(), "a", dynajournal.SnapshotCriteria{})
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	for _, late.SequenceNumber = range []int64{2, 4} { // saved after the purge
		if _, err := j.CopySnapshot(t.Context(), late); err != nil {
			t.Fatal(err)
		}
	}
}

// recordsAt returns the history of a persistence id in a folder.
func recordsAt(t *testing.T, pid, folder string) []dynajournal.Record {
	t.Helper()
	t.Setenv("DYNAJOURNAL_DATA", folder)
	defer t.Setenv("DYNAJOURNAL_DATA", "")
	j, done := journalHere(t)
	defer done()
	var all []dynajournal.Record
	for r, err := range j.Records(t.Context(), pid, dynajournal.RecordsOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

// A persistence id that was purged and used again is the same in each copy: its numbers, the purge,
// and the snapshots since the purge.
func TestExport_PurgedID(t *testing.T) {
	testsize.NoRace(t, "it does one thing after the other")
	for name, copied := range map[string]func(t *testing.T, folder string){
		"export and import": func(t *testing.T, folder string) {
			t.Helper()
			file := filepath.Join(t.TempDir(), "f")
			sum := must(t, "export", "--all", file)[0]["checksum"]
			for range 2 {
				if got := must(t, "import", file, "--data", folder)[0]; got["checksum"] != sum || got["snapshots"] != 1.0 {
					t.Errorf("import: %v, want the checksum %v", got, sum)
				}
			}
			again := filepath.Join(t.TempDir(), "f")
			if got := must(t, "export", "--all", again, "--data", folder)[0]["checksum"]; got != sum {
				t.Errorf("the copy has the checksum %v, want %v", got, sum)
			}
		},
		"migrate": func(t *testing.T, folder string) {
			t.Helper()
			migrate := []string{
				"migrate", "--from-layout", "current", "--from-table", dynajournal.DefaultJournalTable,
				"--from-snapshot-table", dynajournal.DefaultSnapshotTable, "--to-data", folder,
			}
			must(t, migrate...)
			must(t, append(migrate, "--catch-up")...)
			if got := must(t, append(migrate, "--verify-only")...)[0]; got["persistence_ids"] != 2.0 || got["snapshots"] != 1.0 {
				t.Errorf("verify: %v", got)
			}
		},
	} {
		for _, shared := range []bool{false, true} {
			kind := map[bool]string{false: "native", true: "shared"}[shared]
			t.Run(name+" to a "+kind+" journal", func(t *testing.T) {
				clean(t)
				usedAgain(t)
				folder := t.TempDir()
				if shared {
					must(t, "tables", "create", "--shared-with-jvm", "--data", folder)
				}
				copied(t, folder)
				want := must(t, "events", "a")
				if got := must(t, "events", "a", "--data", folder); !reflect.DeepEqual(got, want) {
					t.Errorf("the events are %v, want %v", got, want)
				}
				if got := numbers(t, must(t, "snapshots", "a", "--data", folder), "sequence_nr"); !slices.Equal(got, []int64{6}) {
					t.Errorf("the snapshots are at %v, want 6 alone", got)
				}
				purged := map[bool]int64{false: 4, true: 0}[shared]
				if got := recordsAt(t, "a", folder)[0]; got.SequenceNumber != 5 || got.Purged != purged {
					t.Errorf("the low mark is %+v, want 5, purged up to %d", got, purged)
				}
				must(t, "verify", "--all", "--severity", "left-over", "--data", folder)
				if got := must(t, "append", "a", "--string", "x", "--data", folder)[0]["sequence_nr"]; got != 7.0 {
					t.Errorf("the next number is %v, want 7", got)
				}
			})
		}
	}
}

// A copy into an id that was purged in the target would reuse numbers of the purge. It is refused,
// and nothing is changed.
func TestImport_RefusesPurgedID(t *testing.T) {
	testsize.NoRace(t, "it does one thing after the other")
	for name, source := range map[string]func(t *testing.T){
		"a history from number 1": func(*testing.T) {},
		"a history that is deleted beyond the purge": func(t *testing.T) {
			t.Helper()
			must(t, "delete", "a", "--to", "5")
		},
	} {
		for _, used := range []bool{false, true} {
			if used {
				name += ", and the id is used again"
			}
			t.Run(name, func(t *testing.T) {
				clean(t)
				must(t, "append", "a", "--string", "1", "--string", "2", "--string", "3", "--string", "4", "--string", "5", "--string", "6")
				source(t)
				folder, file := t.TempDir(), filepath.Join(t.TempDir(), "f")
				must(t, "append", "a", "--string", "x", "--data", folder)
				must(t, "purge", "a", "--yes", "--data", folder)
				if used {
					must(t, "append", "a", "--string", "x", "--data", folder)
				}
				before := recordsAt(t, "a", folder)
				must(t, "export", "--all", file)
				for what, args := range map[string][]string{
					"import": {"import", file, "--data", folder},
					"migrate": {
						"migrate", "--from-layout", "current", "--from-table", dynajournal.DefaultJournalTable,
						"--to-data", folder,
					},
				} {
					if o := invoke(t.Context(), "", args...); o.status != statusFailed || !strings.Contains(o.err, "the target was purged up to 2") {
						t.Errorf("%s: %+v", what, o)
					}
				}
				o := invoke(t.Context(), "", "migrate", "--from-layout", "current", "--from-table", dynajournal.DefaultJournalTable,
					"--to-data", folder, "--verify-only")
				if o.status != statusFailed || !strings.Contains(o.err, "purged up to 2") {
					t.Errorf("verify: %+v", o)
				}
				if after := recordsAt(t, "a", folder); !reflect.DeepEqual(after, before) {
					t.Errorf("the history is %+v, was %+v", after, before)
				}
			})
		}
	}
}
