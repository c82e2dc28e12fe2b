package journaltest

import "fmt"

// gapCases test missing numbers in a recovery, and seals in replays.
func gapCases() []testCase {
	return []testCase{
		{name: "a gap is sealed before an event after it is handed out", table: true, run: sealedFirst},
		{name: "a gap over a boundary is sealed", table: true, run: sealedOverBoundary},
		{name: "a gap after a snapshot is sealed", table: true, run: sealedAfterSnapshot},
		{name: "a gap is sealed whatever is replayed", table: true, run: sealedWithoutReplay},
		{name: "a reader leaves a gap as it is", table: true, run: readerLeavesGap},
		{name: "an event in a gap that a seal meets is replayed", table: true, run: gapBefore},
		{name: "seals among singles and atomic writes do no harm", table: true, run: sealsInPlace},
		{name: "a rejected event of a JVM leaves a hole that is passed", table: true, run: rejectedAtBoundary},
	}
}

func sealedFirst(s *scene) {
	s.plantSingles("a", writerA, 1, 2, 5, 6)
	late := s.store.Table.single("a", 4, writerA)
	w, err := s.journal.Recover(s.Context(), "a", Replay{}, func(e Event) error {
		if e.SequenceNumber > 2 {
			s.wantSlots("a", aSeal, 3, 4)
			if s.lands(late) {
				s.Error("an event landed below what the recovery has handed out")
			}
		}
		return nil
	})
	if err != nil {
		s.Fatalf("Recover: %v", err)
	}
	s.wantNeverWhole("a", 3, 4)
	s.singles(w, 1)
	s.wantEvents(s.journal, "a", Window{}, 1, 2, 5, 6, 7)
	s.wantReplay(s.connect(), "a", Replay{}, 8, 1, 2, 5, 6, 7)
}

func sealedOverBoundary(s *scene) {
	s.plantSingles("a", writerA, span(1, 97)...)
	s.plantSingles("a", writerA, 303)
	s.plant(s.store.Table.highMark("a", 300))
	s.wantReplay(s.journal, "a", Replay{}, 304, append(span(1, 97), 303)...)
	s.wantSlots("a", aSeal, 98, 99, 100, 101, 199, 200, 299, 300, 302)
}

func sealedAfterSnapshot(s *scene) {
	s.plantSingles("a", writerA, 1, 3, 5, 7)
	s.wantReplay(s.journal, "a", Replay{After: 3}, 8, 5, 7)
	s.wantSlots("a", aSeal, 4, 6)
	s.wantReplay(s.journal, "a", Replay{After: 5}, 8, 7)
	s.plantSingles("b", writerA, append(span(1, 104), 107)...)
	s.plant(s.store.Table.highMark("b", 100))
	s.wantReplay(s.journal, "b", Replay{After: 104}, 108, 107)
	s.wantSlots("b", aSeal, 105, 106)
}

func sealedWithoutReplay(s *scene) {
	for i, r := range []Replay{{Limit: limit(0)}, {To: 1}, {Limit: limit(1)}} {
		pid := fmt.Sprintf("a%d", i)
		s.plantSingles(pid, writerA, 1, 3, 5)
		w, err := s.journal.Recover(s.Context(), pid, r, func(Event) error { return nil })
		if err != nil {
			s.Fatalf("Recover: %v", err)
		}
		s.wantSlots(pid, aSeal, 2, 4)
		if n := s.next(w); n != 6 {
			s.Errorf("the writer continues at %d, want 6", n)
		}
	}
}

func readerLeavesGap(s *scene) {
	s.plantSingles("a", writerA, 1, 3)
	s.wantEvents(s.journal, "a", Window{}, 1, 3)
	s.wantEvents(s.journal, "a", Window{From: 2}, 3)
	s.wantBounds(s.journal, "a", 0, 3)
	s.wantSlots("a", nothing, 2)
	if !s.lands(s.store.Table.single("a", 2, writerA)) {
		s.Error("an event can't land in a gap that only readers have seen")
	}
	s.wantEvents(s.journal, "a", Window{}, 1, 2, 3)
}

// gapBefore stores a missing member while a recovery hands out the events before it. The recovery
// must not decide by its first read of the gap.
func gapBefore(s *scene) {
	s.plantSingles("a", writerA, 1)
	s.plantBatch("a", writerA, 2, 4, 3)
	s.plantSingles("a", writerA, 5)
	var seen []int64
	w, err := s.journal.Recover(s.Context(), "a", Replay{}, func(e Event) error {
		if e.SequenceNumber == 1 && !s.lands(s.store.Table.member("a", 3, writerA, 2, 4)) {
			s.Error("the gap was sealed before the events before it were handed out: the case tests nothing")
		}
		s.checkPayload("a", e)
		seen = append(seen, e.SequenceNumber)
		return nil
	})
	if err != nil {
		s.Fatalf("Recover: %v", err)
	}
	if ranges(seen) != "1-5" {
		s.Errorf("the recovery replayed %s, want 1-5: the missing member landed before it was sealed", ranges(seen))
	}
	s.singles(w, 1)
	s.wantEvents(s.journal, "a", Window{}, span(1, 6)...)
}

func sealsInPlace(s *scene) {
	t := s.store.Table
	arrangements := []struct {
		name    string
		plant   func(pid string)
		next    int64
		visible []int64
	}{
		{"between singles", func(pid string) { s.plantSingles(pid, writerA, 1, 3) }, 4, []int64{1, 3}},
		{"first of all", func(pid string) { s.plantSingles(pid, writerA, 2) }, 3, []int64{2}},
		{"two in a row", func(pid string) { s.plantSingles(pid, writerA, 1, 4) }, 5, []int64{1, 4}},
		{"before an atomic write", func(pid string) { s.plantSingles(pid, writerA, 1); s.plantBatch(pid, writerA, 3, 5) }, 6, []int64{1, 3, 4, 5}},
		{"between atomic writes", func(pid string) { s.plantBatch(pid, writerA, 1, 3); s.plantBatch(pid, writerA, 5, 7) }, 8, []int64{1, 2, 3, 5, 6, 7}},
		{"in place of a first member", func(pid string) { s.plantBatch(pid, writerA, 1, 3, 1); s.plantSingles(pid, writerA, 4) }, 5, []int64{4}},
		{"in place of a middle member", func(pid string) { s.plantBatch(pid, writerA, 1, 3, 2); s.plantSingles(pid, writerA, 4) }, 5, []int64{4}},
		{"in place of a last member", func(pid string) { s.plantBatch(pid, writerA, 1, 3, 3); s.plantSingles(pid, writerA, 4) }, 5, []int64{4}},
		{"between halves of two", func(pid string) { s.plantBatch(pid, writerA, 1, 4, 3, 4); s.plantBatch(pid, writerB, 3, 6, 3) }, 7, nil},
		{"last of a partition", func(pid string) {
			s.plantSingles(pid, writerA, append(span(1, 98), 100)...)
			s.plant(t.highMark(pid, 100))
		}, 101, append(span(1, 98), 100)},
		{"first of a partition", func(pid string) { s.plantSingles(pid, writerA, append(span(1, 99), 101)...) }, 102, append(span(1, 99), 101)},
		{"at the end", func(pid string) { s.plantSingles(pid, writerA, 1, 2); s.plant(t.seal(pid, 3)) }, 4, []int64{1, 2}},
	}
	for _, a := range arrangements {
		a.plant(a.name)
		s.wantReplay(s.journal, a.name, Replay{}, a.next, a.visible...) // seals the gaps
		s.wantEvents(s.journal, a.name, Window{}, a.visible...)
		s.wantBounds(s.journal, a.name, 0, a.next-1)
		w := s.wantReplay(s.connect(), a.name, Replay{}, a.next, a.visible...)
		s.batch(w, 2)
		s.wantEvents(s.journal, a.name, Window{}, append(a.visible, a.next, a.next+1)...)
	}
}

// rejectedAtBoundary has the items that a JVM plug-in leaves after it has rejected event 100: no
// high mark until 200.
func rejectedAtBoundary(s *scene) {
	s.plantSingles("a", writerA, append(span(1, 99), 101, 102, 103)...)
	want := append(span(1, 99), 101, 102, 103)
	s.wantEvents(s.journal, "a", Window{}, want...)
	s.wantBounds(s.journal, "a", 0, 103)
	w := s.wantReplay(s.journal, "a", Replay{}, 104, want...)
	s.wantSlots("a", aSeal, 100)
	s.singles(w, 1)
	s.wantEvents(s.connect(), "a", Window{}, append(want, 104)...)
}
