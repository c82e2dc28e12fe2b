//go:build interop

package interop_test

import (
	"slices"
	"testing"

	"github.com/dynajournal/dynajournal"
)

// idsService returns a service with its own journal, so that persistence ids of other tests are not
// listed.
func idsService(tb testing.TB) *service {
	tb.Helper()
	s := newService(tb, dynajournal.Config{JournalTable: "ids", SnapshotTable: "ids-snapshot"}, dynajournal.TableOptions{SharedWithJVM: true})
	s.jvm = jvm(tb, "dynamodb-journal.journal-table=ids", "dynamodb-read-journal.journal-table=ids", "dynamodb-snapshot-store.snapshot-table=ids-snapshot")
	return s
}

// idsGo lists the persistence ids in Go, sorted.
func idsGo(tb testing.TB, j *dynajournal.Journal, opts dynajournal.IDsOptions) []string {
	tb.Helper()
	var ids []string
	for id, err := range j.CurrentPersistenceIDs(tb.Context(), opts) {
		if err != nil {
			tb.Fatalf("list the ids in Go: %v", err)
		}
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// idsJVM lists the persistence ids in the JVM, sorted.
func (s *service) idsJVM(tb testing.TB, by string) []string {
	tb.Helper()
	ids := s.jvm.do(tb, request{Op: "ids", By: by}).IDs
	slices.Sort(ids)
	return ids
}

func TestPersistenceIDsOfBothSidesInBothLists(t *testing.T) {
	s := idsService(t)
	j := s.open(t)
	pid := newPID(t)
	retained := []string{pid + "-0", pid + "|x", pid + "-P-1-0", pid + "-SL-ü 漢字", pid + "--"}
	all := []string{}
	for _, id := range retained {
		for _, side := range []string{"go:", "jvm:"} {
			all = append(all, side+id)
		}
		recoverGo(t, j, "go:"+id, 0).appendAll(t, true, texts("event", 3)...)
		s.writeJVM(t, "jvm:"+id, true, texts("event", 3)...)
	}
	recoverGo(t, j, "go:long", 0).appendAll(t, false, texts("event", 101)...)
	all = append(all, "go:long")
	recoverGo(t, j, "no events", 0)
	slices.Sort(all)

	check := func(what string, got, want []string) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("%s lists\n%q\nwant\n%q", what, got, want)
		}
	}
	check("Go by the index", idsGo(t, j, dynajournal.IDsOptions{}), all)
	check("Go by a scan", idsGo(t, j, dynajournal.IDsOptions{Scan: true}), all)
	check("the JVM by the index", s.idsJVM(t, "index"), all)
	check("the JVM by a scan", s.idsJVM(t, "scan"), all)

	// Go still lists ids with deleted events. The JVM does so as long as Go's tombstone is stored
	// at 1; a JVM's deletion leaves none.
	if _, err := recoverGo(t, j, "go:"+retained[0], 0).DeleteTo(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	s.startJVM(t, "jvm:"+retained[0])
	s.jvm.do(t, request{Op: "deleteTo", PID: "jvm:" + retained[0], To: new(int64(2))})
	s.stopJVM(t, "jvm:"+retained[0])
	withoutJVMs := slices.DeleteFunc(slices.Clone(all), func(id string) bool { return id == "jvm:"+retained[0] })
	check("Go by the index, after deletions,", idsGo(t, j, dynajournal.IDsOptions{}), all)
	check("Go by a scan, after deletions,", idsGo(t, j, dynajournal.IDsOptions{Scan: true}), all)
	check("the JVM by the index, after deletions,", s.idsJVM(t, "index"), withoutJVMs)
	check("the JVM by a scan, after deletions,", s.idsJVM(t, "scan"), withoutJVMs)

	// Ids that either side has purged are not listed.
	purgeGo(t, recoverGo(t, j, "jvm:"+retained[1], 0))
	s.jvm.do(t, request{Op: "purge", PID: "go:" + retained[1]})
	left := slices.DeleteFunc(slices.Clone(all), func(id string) bool { return id == "jvm:"+retained[1] || id == "go:"+retained[1] })
	check("Go by the index, after purges,", idsGo(t, j, dynajournal.IDsOptions{}), left)
	check("Go by a scan, after purges,", idsGo(t, j, dynajournal.IDsOptions{Scan: true}), left)
}

func purgeGo(tb testing.TB, r recovered) {
	tb.Helper()
	if _, err := r.Purge(tb.Context(), dynajournal.PurgeOptions{}); err != nil {
		tb.Fatalf("purge in Go: %v", err)
	}
}

func TestPurgeLeavesNothingForTheOtherSide(t *testing.T) {
	s := sharedService(t)
	j := s.open(t)
	byGo, byJVM := newPID(t), newPID(t)
	for _, pid := range []string{byGo, byJVM} {
		inGo := recoverGo(t, j, pid, 0)
		inGo.appendAll(t, false, texts("event", 105)...)
		inGo.appendAll(t, true, texts("event", 5)...)
		if _, err := inGo.DeleteTo(t.Context(), 107); err != nil {
			t.Fatal(err)
		}
		s.lose(t, pid, 109)
		recoverGo(t, j, pid, 0)
	}
	saveGo(t, j, byGo, 108, "state")

	purgeGo(t, recoverGo(t, j, byGo, 0))
	s.jvm.do(t, request{Op: "purge", PID: byJVM})
	for who, pid := range map[string]string{"Go": byGo, "the JVM": byJVM} {
		if started := s.startJVM(t, pid); started.Last != 0 || len(started.Events) > 0 || started.Snapshot != nil {
			t.Errorf("what %s has purged the JVM recovers as %+v, want nothing", who, started)
		}
		s.stopJVM(t, pid)
		bounds, err := j.Bounds(t.Context(), pid)
		if err != nil || bounds != (dynajournal.Bounds{}) {
			t.Errorf("what %s has purged has bounds %+v in Go (%v), want none", who, bounds, err)
		}
		for key := range s.journalItems(t, pid) {
			t.Errorf("%s has left the item %s", who, key)
		}
	}
	recoverGo(t, j, byGo, 0).appendAll(t, false, "a new life")
	checkSeen(t, "the JVM, after Go's purge,", seenJVM(s.replayJVM(t, byGo)), numbered(t, 1, "a new life"))
}
