//go:build interop

package interop_test

import (
	"testing"

	"github.com/dynajournal/dynajournal"
)

// A writer in Go continues after a snapshot that is newer than the journal. Then the JVM takes over
// the entity.
func TestJVMTakesOverAnEntityWithASnapshotBeyondTheJournal(t *testing.T) {
	s := sharedService(t)
	j := s.open(t)
	for name, test := range map[string]struct {
		before   int
		snapshot int64
	}{
		"in the same block":       {3, 50},
		"in another block":        {3, 250},
		"of an empty journal":     {0, 250},
		"at the end of a block":   {3, 99},
		"at the beginning of one": {3, 100},
		"after a longer journal":  {105, 250},
	} {
		t.Run(name, func(t *testing.T) {
			pid := newPID(t)
			if test.before > 0 {
				recoverGo(t, j, pid, 0).appendAll(t, false, texts("lost", test.before)...)
			}
			saveGo(t, j, pid, test.snapshot, "state")
			loseJournal(t, j, pid, test.snapshot)
			recoverGo(t, j, pid, test.snapshot).appendAll(t, false, "go-1", "go-2")
			started := s.startJVM(t, pid)
			s.stopJVM(t, pid)
			checkStarted(t, started, test.snapshot, "state", test.snapshot+1, test.snapshot+2)
			if started.Last != test.snapshot+2 {
				t.Errorf("the JVM continues after %d, want %d", started.Last, test.snapshot+2)
			}
		})
	}
}

// The items of deleted events expire in any order. Whichever items are left, the JVM must not use
// their numbers again.
func TestJVM_ContinuesAfterPartlyExpiredDeletion(t *testing.T) {
	s := sharedService(t)
	j := s.open(t)
	for name, test := range map[string]struct {
		events  int
		expired []int64
	}{
		"none":            {7, nil},
		"all":             {7, []int64{1, 2, 3, 4, 5, 6, 7}},
		"the first":       {7, []int64{1}},
		"the last":        {7, []int64{7}},
		"all but one":     {7, []int64{1, 2, 3, 5, 6, 7}},
		"after a block":   {104, []int64{104}},
		"a whole block":   {104, []int64{100, 101, 102, 103, 104}},
		"at the boundary": {100, []int64{100}},
	} {
		t.Run(name, func(t *testing.T) {
			pid := newPID(t)
			inGo := recoverGo(t, j, pid, 0)
			inGo.appendAll(t, false, texts("event", test.events)...)
			if _, err := inGo.DeleteTo(t.Context(), int64(test.events)); err != nil {
				t.Fatal(err)
			}
			s.expire(t, pid, test.expired...)
			started := s.startJVM(t, pid)
			s.persistJVM(t, pid, false, "jvm")
			s.stopJVM(t, pid)
			if started.Last != int64(test.events) {
				t.Errorf("the JVM continues after %d, want %d", started.Last, test.events)
			}
			checkSeen(t, "Go", readGo(t, j, pid, dynajournal.Range{}), numbered(t, int64(test.events)+1, "jvm"))
		})
	}
}

// expire removes tombstones, as DynamoDB does when they expire. Other items stay.
func (s *service) expire(tb testing.TB, pid string, numbers ...int64) {
	tb.Helper()
	items := s.journalItems(tb, pid)
	for _, n := range numbers {
		if items[eventKey(pid, n)]["expires"] != nil {
			s.lose(tb, pid, n)
		}
	}
}
