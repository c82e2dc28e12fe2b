package journaltest

import (
	"fmt"
	"math"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// deletionCases test purges, and deletions of this project and of a JVM, complete or interrupted.
func deletionCases() []testCase {
	return []testCase{
		{name: "deletion keeps the highest number", run: deletionRetainsHighest},
		{name: "deletion up to each side of a boundary", run: deletionAtBoundaries},
		{name: "deletion again, lower, and beyond the highest", run: deletionAgain},
		{name: "deletion of nothing", run: deletionOfNothing},
		{name: "deletion of a thousand events", run: deletionOfMany},
		{name: "an emptied entity continues", run: emptied},
		{name: "deletion into an atomic write leaves its rest", atomic: true, run: deletionIntoBatch},
		{name: "deletion into an atomic write twice leaves its rest", atomic: true, run: deletionIntoBatchTwice},
		{name: "deletion into an incomplete atomic write leaves nothing of it", atomic: true, table: true,
			run: deletionIntoIncomplete},
		{name: "deletion makes tombstones of all, holes included", table: true, run: tombstones},
		{name: "a deletion that crashed has deleted, and is finished by the next", table: true, run: crashedDeletion},
		{name: "a deletion that crashed inside an atomic write leaves its rest", table: true, run: crashedInsideBatch},
		{name: "a deletion of a JVM that crashed has deleted", table: true, run: crashedJVM},
		{name: "a deletion of a JVM inside an atomic write leaves its rest", table: true, run: jvmInsideBatch},
		{name: "the cut of the highest low mark counts", table: true, run: highestCutCounts},
		{name: "purge leaves nothing to replay, and the id can be used again", run: purge},
		{name: "purge of an id that was never written", run: purgeOfNothing},
	}
}

func deletionRetainsHighest(s *scene) {
	w := s.written("a", 5)
	s.deleteTo(w, 3)
	s.wantBounds(s.journal, "a", 4, 5)
	s.wantReplay(s.connect(), "a", Replay{}, 6, 4, 5)
	s.deleteTo(s.recovered(s.connect(), "a"), 5)
	s.wantBounds(s.connect(), "a", 6, 5)
	s.wantEvents(s.connect(), "a", Window{})
	s.wantReplay(s.connect(), "a", Replay{}, 6)
}

func deletionAtBoundaries(s *scene) {
	for _, steps := range [][]int64{{1, 50, 98, 99, 100, 101, 150, 199, 200, 204}, {99, 204}, {100}, {200}} {
		pid, top := fmt.Sprint("a", steps), int64(205)
		w := s.written(pid, top)
		for _, to := range steps {
			s.deleteTo(w, to)
			s.wantEvents(s.journal, pid, Window{}, span(to+1, top)...)
			s.wantEvents(s.journal, pid, Window{To: to})
			s.wantEvents(s.journal, pid, Window{From: to, To: to + 1}, to+1)
			s.wantBounds(s.journal, pid, to+1, top)
			s.singles(w, 1)
			top++
			w = s.wantReplay(s.connect(), pid, Replay{}, top+1, span(to+1, top)...)
		}
	}
}

func deletionAgain(s *scene) {
	w := s.written("a", 5)
	for _, step := range []struct{ to, lowest int64 }{{3, 4}, {3, 4}, {2, 4}, {4, 5}, {15, 6}, {math.MaxInt64, 6},
		{1, 6}} {
		s.deleteTo(w, step.to)
		s.wantBounds(s.journal, "a", step.lowest, 5)
		s.wantEvents(s.journal, "a", Window{}, span(step.lowest, 5)...)
	}
	s.singles(w, 1)
	s.wantEvents(s.connect(), "a", Window{}, 6)
}

func deletionOfNothing(s *scene) {
	w := s.recovered(s.journal, "a")
	s.deleteTo(w, 0)
	s.deleteTo(w, math.MaxInt64)
	s.wantBounds(s.journal, "a", 0, 0)
	s.singles(w, 2)
	s.deleteTo(w, 0)
	s.wantEvents(s.connect(), "a", Window{}, 1, 2)
}

func deletionOfMany(s *scene) {
	const top = 1050
	w := s.written("a", top)
	s.deleteTo(w, top-2)
	s.wantEvents(s.connect(), "a", Window{}, top-1, top)
	s.wantBounds(s.connect(), "a", top-1, top)
	s.wantReplay(s.connect(), "a", Replay{}, top+1, top-1, top)
	if s.store.Table != nil && !s.suite.PurgeRestarts {
		s.wantSlots("a", tombstone, 1, 99, 100, 101, 999, 1000, 1001, 1002, top-2)
	}
}

func emptied(s *scene) {
	for _, n := range []int64{1, 99, 100, 101, 205} {
		pid := fmt.Sprintf("a%d", n)
		w := s.written(pid, n)
		s.deleteTo(w, math.MaxInt64)
		s.wantEvents(s.journal, pid, Window{})
		s.wantBounds(s.journal, pid, n+1, n)
		again := s.wantReplay(s.connect(), pid, Replay{}, n+1)
		s.singles(again, 1)
		s.batch(again, 3)
		s.wantBounds(s.connect(), pid, n+1, n+4)
		s.wantReplay(s.connect(), pid, Replay{}, n+5, span(n+1, n+4)...)
	}
}

func deletionIntoBatch(s *scene) {
	for _, b := range []struct{ start, size int64 }{{3, 4}, {1, 2}, {98, 4}, {50, 260}} {
		top := b.start + b.size // one single after it
		for _, to := range slices.Compact([]int64{b.start, b.start + b.size/2 - 1, b.start + b.size - 2}) {
			pid := fmt.Sprintf("a-%d-%d-%d", b.start, b.size, to)
			w := s.written(pid, b.start-1)
			s.batch(w, b.size)
			s.singles(w, 1)
			s.deleteTo(w, to)
			s.wantEvents(s.journal, pid, Window{}, span(to+1, top)...)
			s.wantEvents(s.journal, pid, Window{From: to + 1, To: to + 1}, to+1)
			s.wantEvents(s.journal, pid, Window{To: top - 1}, span(to+1, top-1)...)
			again := s.wantReplay(s.connect(), pid, Replay{}, top+1, span(to+1, top)...)
			s.singles(again, 1)
			s.wantEvents(s.journal, pid, Window{}, span(to+1, top+1)...)
		}
	}
}

func deletionIntoBatchTwice(s *scene) {
	w := s.written("a", 2)
	s.batch(w, 4)
	s.batch(w, 4)
	for _, to := range []int64{3, 5, 6, 7, 9} {
		s.deleteTo(s.recovered(s.connect(), "a"), to)
		s.wantEvents(s.journal, "a", Window{}, span(to+1, 10)...)
		s.wantBounds(s.journal, "a", to+1, 10)
	}
}

// deletionIntoIncomplete deletes a prefix that ends inside an incomplete atomic write. This write
// was never visible, so its rest must not become visible.
func deletionIntoIncomplete(s *scene) {
	for _, missing := range []int64{3, 4} {
		pid := fmt.Sprintf("a%d", missing)
		s.plantSingles(pid, writerA, 1, 2)
		s.plantBatch(pid, writerA, 3, 6, missing)
		s.plantSingles(pid, writerA, 7)
		w := s.wantReplay(s.journal, pid, Replay{}, 8, 1, 2, 7)
		s.deleteTo(w, 5)
		s.wantEvents(s.journal, pid, Window{}, 7)
		s.wantReplay(s.connect(), pid, Replay{}, 8, 7)
	}
}

func tombstones(s *scene) {
	s.plantSingles("a", writerA, 1, 2, 4)
	s.plantBatch("a", writerA, 5, 8, 6)
	s.plantSingles("a", writerA, 9)
	w := s.recovered(s.journal, "a")
	s.deleteTo(w, 7)
	s.wantSlots("a", tombstone, span(1, 7)...)
	s.wantNeverWhole("a", span(1, 7)...)
	s.wantSlots("a", anEvent, 8, 9)
	s.wantEvents(s.connect(), "a", Window{}, 9)
}

// crashedDeletion has a low mark, and a removal that was interrupted.
func crashedDeletion(s *scene) {
	t := s.store.Table
	for _, removed := range []int64{1, 2, 4} {
		pid := fmt.Sprintf("a%d", removed)
		s.plantSingles(pid, writerA, span(1, 6)...)
		s.plant(t.ownLowMark(pid, 5, removed))
		s.wantEvents(s.journal, pid, Window{}, 5, 6)
		s.wantEvents(s.journal, pid, Window{To: 4})
		s.wantBounds(s.journal, pid, 5, 6)
		w := s.wantReplay(s.connect(), pid, Replay{}, 7, 5, 6)
		s.deleteTo(w, 2) // deletes no further events, but finishes the removal
		s.wantSlots(pid, tombstone, span(removed, 4)...)
		s.wantSlots(pid, anEvent, 5, 6)
		s.wantEvents(s.journal, pid, Window{}, 5, 6)
		mark := s.stored(t.markKey("SL", pid, 5))
		if v, ok := mark["removed"].(*types.AttributeValueMemberN); !ok || v.Value != "5" {
			s.Errorf("the low mark records a removal up to %v, want 5", mark["removed"])
		}
	}
}

func crashedInsideBatch(s *scene) {
	t := s.store.Table
	s.plantSingles("whole", writerA, 1, 2, 7)
	s.plantBatch("whole", writerA, 3, 6)
	s.plant(withCut(t.ownLowMark("whole", 5, 1), writerA, 3, 6))
	s.wantEvents(s.journal, "whole", Window{}, 5, 6, 7)
	s.lose(t.eventKey("whole", 3)) // regardless of how much of it is removed
	s.wantEvents(s.journal, "whole", Window{}, 5, 6, 7)
	s.wantReplay(s.connect(), "whole", Replay{}, 8, 5, 6, 7)
	s.wantReplay(s.connect(), "whole", Replay{To: 5}, 8)

	// The cut belongs to another atomic write than the stored one.
	for i, mark := range []func(pid string) item{
		func(pid string) item { return t.ownLowMark(pid, 5, 5) },
		func(pid string) item { return withCut(t.ownLowMark(pid, 5, 5), writerB, 3, 6) },
		func(pid string) item { return withCut(t.ownLowMark(pid, 5, 5), writerA, 4, 6) },
		func(pid string) item { return withCut(t.ownLowMark(pid, 5, 5), writerA, 3, 5) },
	} {
		pid := fmt.Sprintf("other-%d", i)
		s.plantBatch(pid, writerA, 3, 6, 3, 4)
		s.plantSingles(pid, writerA, 7)
		s.plant(mark(pid))
		s.wantEvents(s.journal, pid, Window{}, 7)
		s.wantReplay(s.connect(), pid, Replay{}, 8, 7)
	}

	// The cut does not replace a missing member above it.
	s.plantBatch("hole", writerA, 3, 6, 3, 4, 5)
	s.plantSingles("hole", writerA, 7)
	s.plant(withCut(t.ownLowMark("hole", 5, 5), writerA, 3, 6))
	s.wantEvents(s.journal, "hole", Window{}, 7)
	s.wantReplay(s.connect(), "hole", Replay{}, 8, 7)
}

func crashedJVM(s *scene) {
	t := s.store.Table
	s.plantSingles("a", writerA, span(1, 6)...)
	s.plant(t.lowMark("a", 5))
	s.wantEvents(s.journal, "a", Window{}, 5, 6)
	s.wantBounds(s.journal, "a", 5, 6)
	w := s.wantReplay(s.connect(), "a", Replay{}, 7, 5, 6)
	s.singles(w, 1)
	s.deleteTo(w, 6)
	s.wantEvents(s.connect(), "a", Window{}, 7)

	// Everything is deleted, and only the mark is left.
	s.plant(t.lowMark("b", 13))
	s.wantEvents(s.journal, "b", Window{})
	s.wantBounds(s.journal, "b", 13, 12)
	s.wantReplay(s.connect(), "b", Replay{}, 13)
}

func jvmInsideBatch(s *scene) {
	t := s.store.Table
	s.plantBatch("whole", writerA, 3, 6, 3, 4)
	s.plantSingles("whole", writerA, 7)
	s.plant(t.lowMark("whole", 5))
	s.wantEvents(s.journal, "whole", Window{}, 5, 6, 7)
	s.wantReplay(s.connect(), "whole", Replay{}, 8, 5, 6, 7)
	w := s.recovered(s.connect(), "whole")
	s.deleteTo(w, 5)
	s.wantEvents(s.journal, "whole", Window{}, 6, 7)

	for _, missing := range []int64{5, 6} {
		pid := fmt.Sprintf("missing-%d", missing)
		s.plantBatch(pid, writerA, 3, 6, 3, 4, missing)
		s.plantSingles(pid, writerA, 7)
		s.plant(t.lowMark(pid, 5))
		s.wantEvents(s.journal, pid, Window{}, 7)
		s.wantReplay(s.connect(), pid, Replay{}, 8, 7)
	}
}

func highestCutCounts(s *scene) {
	t := s.store.Table
	if t.Shards < 2 {
		s.Skip("there is one low mark only")
	}
	s.plantBatch("a", writerA, 98, 104, 98, 99, 100, 101)
	s.plantSingles("a", writerA, 105)
	s.plant(t.highMark("a", 100), withCut(t.ownLowMark("a", 99, 99), writerB, 90, 120),
		withCut(t.ownLowMark("a", 102, 102), writerA, 98, 104))
	s.wantEvents(s.journal, "a", Window{}, 102, 103, 104, 105)
	s.plantBatch("b", writerA, 98, 104, 98, 99, 100, 101)
	s.plantSingles("b", writerA, 105)
	s.plant(t.highMark("b", 100), withCut(t.ownLowMark("b", 99, 99), writerA, 98, 104), t.ownLowMark("b", 102, 102))
	s.wantEvents(s.journal, "b", Window{}, 105)
	s.wantReplay(s.connect(), "b", Replay{}, 106, 105)
	s.wantBounds(s.connect(), "b", 102, 105)
}

func purge(s *scene) {
	for _, n := range []int64{1, 5, 100, 205} {
		pid := fmt.Sprintf("a%d", n)
		w := s.written(pid, n)
		s.deleteTo(w, n/2)
		if err := w.Purge(s.Context()); err != nil {
			s.Fatalf("Purge: %v", err)
		}
		s.wantEvents(s.journal, pid, Window{})
		bounds, err := s.journal.Bounds(s.Context(), pid)
		if err != nil {
			s.Fatalf("Bounds: %v", err)
		}
		next := bounds.Highest + 1 // a purge may take a number itself
		if s.suite.PurgeRestarts {
			next = 1
			s.wantBounds(s.journal, pid, 0, 0)
		} else if next <= n {
			s.Errorf("after the purge of %d events the next is %d", n, next)
		}
		again := s.wantReplay(s.connect(), pid, Replay{}, next)
		s.singles(again, 2)
		s.batch(again, 2)
		s.wantReplay(s.connect(), pid, Replay{}, next+4, span(next, next+3)...)
		if err := s.recovered(s.connect(), pid).Purge(s.Context()); err != nil {
			s.Fatalf("second Purge: %v", err)
		}
		s.wantEvents(s.journal, pid, Window{})
	}
}

func purgeOfNothing(s *scene) {
	if err := s.recovered(s.journal, "a").Purge(s.Context()); err != nil {
		s.Fatalf("Purge: %v", err)
	}
	w := s.wantReplay(s.connect(), "a", Replay{}, 1)
	s.singles(w, 1)
	s.wantEvents(s.journal, "a", Window{}, 1)
}
