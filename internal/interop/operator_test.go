//go:build interop

package interop_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/dynajournal/dynajournal"
)

// Only the JVM uses the service. An operator deletes events with the command while the entity is
// stopped. After that the entity must continue, and must be able to delete.
func TestOperatorDeletesTheEventsOfAJVMService(t *testing.T) {
	eachChosen(t, func(t *testing.T, s *service) {
		j := s.open(t)
		for name, test := range map[string]struct {
			before []operation
			to     int64
		}{
			"10 of 20":            {[]operation{{singles: 20}}, 10},
			"20 of 20":            {[]operation{{singles: 20}}, 20},
			"more than there are": {[]operation{{singles: 120}}, 1000},
			"99 of 120":           {[]operation{{singles: 99}, {batch: 21}}, 99},
			"up to its snapshot":  {[]operation{{singles: 20}, {save: true}, {singles: 5}}, 20},
			"after its own":       {[]operation{{singles: 20}, {deleteTo: 10}}, 15},
		} {
			t.Run(name, func(t *testing.T) {
				u := newTurns(t, s, j)
				u.byJVM(test.before...)
				u.commandDelete(test.to)
				u.byJVM(operation{singles: 5}, operation{restart: true}, operation{deleteTo: all}, operation{restart: true}, operation{singles: 1})
				u.commandDelete(u.highest - 1)
				u.byJVM(operation{batch: 2}, operation{deleteTo: u.highest})
				u.byJVM(operation{singles: 1})
				u.byGo()
			})
		}
	})
}

// A running entity that neither writes nor deletes meanwhile must also continue.
func TestOperatorDeletesTheEventsOfAnEntityThatRuns(t *testing.T) {
	eachChosen(t, func(t *testing.T, s *service) {
		for _, to := range []int64{10, 20} {
			t.Run(fmt.Sprintf("%d of 20", to), func(t *testing.T) {
				u := newTurns(t, s, s.open(t))
				s.startJVM(t, u.pid)
				persist := func(values ...any) {
					t.Helper()
					s.persistJVM(t, u.pid, false, values...)
					u.stored(false, values)
					u.check()
				}
				persist(texts("before", 20)...)
				u.commandDelete(to)
				persist(texts("after", 5)...)
				s.deleteJVM(t, u.pid, u.highest)
				u.deletedTo(u.highest)
				u.check()
				s.stopJVM(t, u.pid)
				u.byJVM(operation{singles: 1}, operation{restart: true})
			})
		}
	})
}

// commandDelete deletes with the command.
func (u *turns) commandDelete(to int64) {
	u.Helper()
	u.did("an operator deletes to %d", to)
	command(u, "delete", "--to", fmt.Sprint(to), u.pid)
	u.deletedTo(to)
	u.check()
}

// An entity of a native journal is copied into the shared journal, where a JVM takes it over.
func TestNumbersGoOnAfterACopyFromANativeJournal(t *testing.T) {
	source := newService(t, dynajournal.Config{JournalTable: "copied", SnapshotTable: "copied-snapshot"}, dynajournal.TableOptions{})
	from := source.open(t)
	lives := map[string][]operation{
		"a part deleted":  {{singles: 30}, {deleteTo: 10}},
		"all deleted":     {{singles: 30}, {deleteTo: all}},
		"deleted to 100":  {{singles: 120}, {deleteTo: 100}},
		"inside a batch":  {{singles: 95}, {batch: 10}, {deleteTo: 98}},
		"with a snapshot": {{singles: 130}, {save: true}, {deleteTo: 120}, {singles: 5}},
	}
	eachChosen(t, func(t *testing.T, s *service) {
		into := s.open(t)
		for name, life := range lives {
			for _, way := range []string{"migrate", "export and import"} {
				t.Run(name+", by "+way, func(t *testing.T) {
					u := newTurns(t, nil, from)
					u.byGo(life...)
					switch way {
					case "migrate":
						command(t, "migrate", "--from-layout", "current", "--from-table", "copied", "--from-snapshot-table", "copied-snapshot", u.pid)
					default:
						file := filepath.Join(t.TempDir(), "export")
						command(t, "--journal-table", "copied", "--snapshot-table", "copied-snapshot", "export", u.pid, file)
						command(t, "import", file)
					}
					u.did("it is copied into the shared journal")
					u.s, u.j = s, into
					u.check()
					u.goesOn(false)
				})
			}
		}
	})
}

// An entity of a JVM is exported, purged and imported again. Its numbers must continue.
func TestNumbersGoOnAfterAnExportAndImport(t *testing.T) {
	eachChosen(t, func(t *testing.T, s *service) {
		j := s.open(t)
		for name, life := range map[string][]operation{
			"a part deleted": {{singles: 30}, {deleteTo: 10}},
			"all deleted":    {{singles: 30}, {deleteTo: all}},
			"over a block":   {{singles: 120}, {deleteTo: 99}},
			"a cut batch":    {{singles: 95}, {batch: 10}, {deleteTo: 98}},
			"with snapshots": {{singles: 130}, {save: true}, {deleteTo: 120}, {singles: 5}},
		} {
			t.Run(name, func(t *testing.T) {
				u := newTurns(t, s, j)
				u.byJVM(life...)
				u.byGo(operation{singles: 2}, operation{deleteTo: u.deleted + 1})
				file := filepath.Join(t.TempDir(), "export")
				command(t, "export", u.pid, file)
				command(t, "purge", "--yes", u.pid)
				command(t, "import", file)
				u.did("it is exported, purged and imported")
				u.check()
				u.goesOn(false)
			})
		}
	})
}
