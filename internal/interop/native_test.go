//go:build interop

package interop_test

import (
	"fmt"
	"iter"
	"slices"
	"testing"

	"github.com/dynajournal/dynajournal"
)

// nativeService returns a service with a native journal, snapshots in the given table, and a JVM
// with the given number of shards.
func nativeService(tb testing.TB, snapshotTable string, shards int) *service {
	tb.Helper()
	s := newService(tb, dynajournal.Config{JournalTable: "native", SnapshotTable: snapshotTable}, dynajournal.TableOptions{})
	s.jvm = jvm(tb, "dynamodb-journal.journal-table=native", "dynamodb-read-journal.journal-table=native",
		"dynamodb-snapshot-store.snapshot-table="+snapshotTable, fmt.Sprintf("dynamodb-journal.sequence-shards=%d",
			shards))
	return s
}

// sharedSnapshots creates a snapshot table with the index that the JVM needs.
func sharedSnapshots(tb testing.TB) string {
	tb.Helper()
	sharedService(tb)
	return dynajournal.DefaultSnapshotTable
}

func TestNativeJournalIsOpenedByAJVMWithOneShard(t *testing.T) {
	s := nativeService(t, sharedSnapshots(t), 1)
	j := s.open(t)
	if !j.Native() || j.SequenceShards() != 1 {
		t.Fatalf("the journal has %d shards and is native: %t", j.SequenceShards(), j.Native())
	}
	for name, life := range map[string][]step{
		"written":         {{singles: 97}, {batch: 6}, {singles: 102}},
		"deleted":         {{singles: 205}, {deleteTo: 150}, {singles: 2}},
		"all deleted":     {{singles: 120}, {deleteTo: 120}},
		"deleted, longer": {{singles: 120}, {deleteTo: 120}, {batch: 90}},
	} {
		t.Run(name, func(t *testing.T) {
			s.checkParity(t, j, s.raise(t, j, life...), allWindows(1, 98, 99, 100, 101, 103, 151, 205))
		})
	}
}

func TestNativeJournalListsIDsOfAJVMByAScanOnly(t *testing.T) {
	s := nativeService(t, sharedSnapshots(t), 1)
	j := s.open(t)
	byGo, byJVM := newPID(t), newPID(t)
	recoverGo(t, j, byGo, 0).appendAll(t, false, "event")
	s.writeJVM(t, byJVM, false, "event")

	if ids := idsGo(t, j, dynajournal.IDsOptions{}); !slices.Contains(ids, byGo) || slices.Contains(ids, byJVM) {
		t.Errorf("by its index Go lists %q, want %q among them and not %q, which has no entry", ids, byGo, byJVM)
	}
	for side, ids := range map[string][]string{"Go": idsGo(t, j, dynajournal.IDsOptions{Scan: true}), "the JVM": s.idsJVM(t, "scan")} {
		if !slices.Contains(ids, byGo) || !slices.Contains(ids, byJVM) {
			t.Errorf("by a scan %s lists %q, want %q and %q among them", side, ids, byGo, byJVM)
		}
	}
	findings(t, j.Repair(t.Context(), byJVM, dynajournal.VerifyOptions{}))
	if ids := idsGo(t, j, dynajournal.IDsOptions{}); !slices.Contains(ids, byJVM) {
		t.Errorf("after a repair Go lists %q by its index, want %q among them", ids, byJVM)
	}
	if answer := s.jvm.ask(t, request{Op: "ids", By: "index"}); answer.Failure == "" {
		t.Errorf("the JVM lists ids by an index that a native journal does not have: %q", answer.IDs)
	}
}

func TestNativeSnapshotTableIsReadByAJVMWithBoundsOnly(t *testing.T) {
	s := nativeService(t, "native-snapshot", 1)
	j, pid := s.open(t), newPID(t)
	recoverGo(t, j, pid, 0).appendAll(t, false, texts("event", 3)...)
	saveGo(t, j, pid, 2, "state")
	if started := s.jvm.ask(t, request{Op: "start", PID: pid}); started.Failure == "" {
		t.Errorf("a persistent actor starts without the snapshot table's index: %+v", started)
	}
	loaded := s.jvm.do(t, request{Op: "load", PID: pid, MaxSeq: new(int64(3))})
	if loaded.Seq == nil || *loaded.Seq != 2 {
		t.Errorf("up to 3 the JVM loads %+v, want the snapshot at 2", loaded)
	}
}

// A journal that a JVM has created has no header: only its configuration contains the number of
// shards and the journal's name.
func TestJournalWithoutAHeaderTakesShardsAndNameFromTheConfiguration(t *testing.T) {
	sharedService(t)
	s := newService(t, dynajournal.Config{}, dynajournal.TableOptions{SharedWithJVM: true})
	s.config.JournalName, s.config.SequenceShards = "orders", 7
	s.jvm = jvm(t, "dynamodb-journal.journal-name=orders", "dynamodb-journal.sequence-shards=7")
	j := s.open(t)
	life := []step{{singles: 97}, {batch: 6}, {singles: 102}, {deleteTo: 150}, {singles: 1}}
	s.checkParity(t, j, s.raise(t, j, life...), allWindows(1, 150, 151, 199, 200, 206))

	wrong := s.open(t, func(c *dynajournal.Config) { c.SequenceShards = 0 })
	if wrong.SequenceShards() != dynajournal.DefaultSequenceShards {
		t.Errorf("without a header and a number Go takes %d shards, want the plug-in's default", wrong.SequenceShards())
	}
}

// A JVM with 10 shards has these effects in a journal with one, of which docs/jvm.md warns.
func TestJVMWithTenShardsHidesItsMarksFromAJournalWithOne(t *testing.T) {
	s := nativeService(t, sharedSnapshots(t), dynajournal.DefaultSequenceShards)
	j := s.open(t)
	highest := func(pid string) int64 {
		t.Helper()
		bounds, err := j.Bounds(t.Context(), pid)
		if err != nil {
			t.Fatal(err)
		}
		return bounds.Highest
	}

	t.Run("it reads what Go wrote, and Go follows full blocks without marks", func(t *testing.T) {
		pid := newPID(t)
		recoverGo(t, j, pid, 0).appendAll(t, false, texts("go", 105)...)
		if started := s.startJVM(t, pid); started.Last != 105 {
			t.Fatalf("the JVM continues after %d, want 105", started.Last)
		}
		s.persistJVM(t, pid, false, texts("jvm", 200)...)
		s.stopJVM(t, pid)
		if got := highest(pid); got != 305 {
			t.Errorf("Go finds the highest number %d, want 305", got)
		}
	})
	t.Run("a hole at the end of a block hides what follows", func(t *testing.T) {
		pid := newPID(t)
		s.writeJVM(t, pid, false, texts("jvm", 105)...)
		s.lose(t, pid, 99)
		if got := highest(pid); got != 98 {
			t.Errorf("Go finds the highest number %d, want 98: it does not see the mark", got)
		}
	})
	t.Run("after its deletion of a whole block nothing seems to be there", func(t *testing.T) {
		pid := newPID(t)
		s.startJVM(t, pid)
		s.persistJVM(t, pid, false, texts("jvm", 105)...)
		s.jvm.do(t, request{Op: "deleteTo", PID: pid, To: new(int64(102))})
		s.stopJVM(t, pid)
		if got := highest(pid); got != 0 {
			t.Errorf("Go finds the highest number %d, want 0: it sees neither mark", got)
		}
		if kinds := findings(t, j.Verify(t.Context(), pid, dynajournal.VerifyOptions{})); !slices.Contains(kinds, dynajournal.FindingWrongShards) {
			t.Errorf("verify finds %q, want wrong shards among it", kinds)
		}
	})
}

// findings returns the kinds of the findings of verify or repair.
func findings(tb testing.TB, found iter.Seq2[dynajournal.Finding, error]) []dynajournal.FindingKind {
	tb.Helper()
	var kinds []dynajournal.FindingKind
	for f, err := range found {
		if err != nil {
			tb.Fatalf("verify: %v", err)
		}
		kinds = append(kinds, f.Kind)
	}
	return kinds
}
