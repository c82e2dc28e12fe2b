package journaltest

import "fmt"

// batchCases test atomic writes, undamaged and damaged, and windows that cut them.
func batchCases() []testCase {
	var cases []testCase
	for _, start := range []int64{1, 50, 98, 99, 100, 101, 198} {
		cases = append(cases, testCase{name: fmt.Sprintf("atomic writes of every size from %d on", start), atomic: true,
			run: func(s *scene) {
				for _, size := range []int64{2, 25, 26, 99, 100, 101, 260} {
					batchOf(s, fmt.Sprintf("a%d", size), start, size)
				}
			}})
	}
	return append(cases,
		testCase{name: "atomic writes one after the other are not merged", atomic: true, run: neighbours},
		testCase{name: "an atomic write of one event", atomic: true, run: batchOfOne},
		testCase{name: "an atomic write without its first member is not there", atomic: true, table: true,
			run: missingMember(3, 3, 5)},
		testCase{name: "an atomic write without a middle member is not there", atomic: true, table: true,
			run: missingMember(4, 3, 5)},
		testCase{name: "an atomic write without its last member is not there", atomic: true, table: true,
			run: missingMember(5, 3, 5)},
		testCase{name: "an atomic write over a boundary without a member is not there", atomic: true, table: true,
			run: func(s *scene) {
				for _, missing := range []int64{95, 99, 100, 200, 204} {
					missingFrom(s, fmt.Sprintf("a%d", missing), missing, 95, 204)
				}
			}},
		testCase{name: "an atomic write at the end without its last member is not there", atomic: true, table: true,
			run: missingAtTheEnd},
		testCase{name: "an atomic write of which only the last member is stored is not visible", atomic: true,
			table: true, run: onlyTheLast},
		testCase{name: "parts of atomic writes of two writers are not merged", atomic: true, table: true,
			run: twoHalves},
	)
}

// batchOf writes singles, an atomic write and a single, and reads them through windows that contain
// the atomic write or cut it.
func batchOf(s *scene, pid string, start, size int64) {
	s.Helper()
	w := s.written(pid, start-1)
	s.batch(w, size)
	last := start + size - 1
	s.wantBounds(s.journal, pid, 0, last)
	s.singles(w, 1)
	top := last + 1
	s.wantBounds(s.journal, pid, 0, top)

	// Events returns the part of an atomic write that is in the window.
	s.wantEvents(s.journal, pid, Window{}, span(1, top)...)
	middle := start + size/2
	for _, from := range []int64{start + 1, last} {
		s.wantEvents(s.journal, pid, Window{From: from}, span(from, top)...)
		s.wantEvents(s.journal, pid, Window{From: from, Limit: limit(1)}, from)
	}
	for _, to := range []int64{start, last - 1} {
		s.wantEvents(s.journal, pid, Window{To: to}, span(1, to)...)
		s.wantEvents(s.journal, pid, Window{From: start, Limit: new(to - start + 1)}, span(start, to)...)
	}
	s.wantEvents(s.journal, pid, Window{From: middle, To: middle}, middle)
	s.wantEvents(s.journal, pid, Window{From: start + 1, To: last - 1}, span(start+1, last-1)...)

	// Recover stops before an atomic write that its limits cut, but its writer continues after the
	// highest number.
	j := s.connect()
	s.wantReplay(j, pid, Replay{}, top+1, span(1, top)...)
	s.wantReplay(j, pid, Replay{To: last - 1}, top+1, span(1, start-1)...)
	s.wantReplay(j, pid, Replay{To: last}, top+1, span(1, last)...)
	s.wantReplay(j, pid, Replay{Limit: new(start)}, top+1, span(1, start-1)...)
	s.wantReplay(j, pid, Replay{Limit: new(last - 1)}, top+1, span(1, start-1)...)
	s.wantReplay(j, pid, Replay{Limit: new(last)}, top+1, span(1, last)...)
	s.wantReplay(j, pid, Replay{After: middle}, top+1, span(middle+1, top)...)
	s.wantReplay(j, pid, Replay{After: last}, top+1, top)
}

func neighbours(s *scene) {
	w := s.recovered(s.journal, "a")
	for _, size := range []int64{3, 2, 2, 3, 1, 90, 3} {
		s.batch(w, size)
	}
	const top = 104
	s.wantEvents(s.journal, "a", Window{}, span(1, top)...)
	s.wantReplay(s.connect(), "a", Replay{To: 6}, top+1, 1, 2, 3, 4, 5)
	s.wantReplay(s.connect(), "a", Replay{Limit: limit(9)}, top+1, 1, 2, 3, 4, 5, 6, 7)
	s.wantReplay(s.connect(), "a", Replay{To: 102}, top+1, span(1, 101)...)
}

func batchOfOne(s *scene) {
	w := s.recovered(s.journal, "a")
	s.batch(w, 1)
	s.batch(w, 1)
	s.wantEvents(s.journal, "a", Window{}, 1, 2)
	s.wantReplay(s.connect(), "a", Replay{To: 1}, 3, 1)
}

func missingMember(missing, first, last int64) func(*scene) {
	return func(s *scene) { missingFrom(s, "a", missing, first, last) }
}

// missingFrom writes singles, an atomic write from first to last, and two singles, and deletes a
// member.
func missingFrom(s *scene, pid string, missing, first, last int64) {
	s.Helper()
	w := s.written(pid, first-1)
	s.batch(w, last-first+1)
	s.singles(w, 2)
	lost := s.stored(s.store.Table.eventKey(pid, missing))
	s.lose(s.store.Table.eventKey(pid, missing))
	want := append(span(1, first-1), last+1, last+2)

	s.wantEvents(s.journal, pid, Window{}, want...)
	s.wantEvents(s.journal, pid, Window{From: first, To: last})
	s.wantEvents(s.journal, pid, Window{From: last}, last+1, last+2)
	s.wantEvents(s.journal, pid, Window{From: last, Limit: limit(1)}, last+1)
	s.wantEvents(s.journal, pid, Window{From: first + 1, To: first + 1})
	s.wantSlots(pid, nothing, missing)
	s.wantReplay(s.connect(), pid, Replay{}, last+3, want...)
	s.wantSlots(pid, aSeal, missing)
	if s.lands(lost) {
		s.Errorf("a member of an atomic write landed after a recovery that did not see it")
	}
	s.wantEvents(s.journal, pid, Window{}, want...)
}

// missingAtTheEnd has an atomic write without its last member, and nothing after it. The next
// writer takes the number of that member, unless its recovery seals the number.
func missingAtTheEnd(s *scene) {
	for _, first := range []int64{3, 97, 98, 99, 100} {
		pid := fmt.Sprintf("a%d", first)
		w := s.written(pid, first-1)
		s.batch(w, 4)
		lost := s.stored(s.store.Table.eventKey(pid, first+3))
		s.lose(s.store.Table.eventKey(pid, first+3))
		s.wantEvents(s.journal, pid, Window{}, span(1, first-1)...)
		s.wantBounds(s.journal, pid, 0, first+2)
		next, after := first+3, nothing
		if s.suite.ClosesIncompleteEnd {
			next, after = first+4, aSeal
		}
		again := s.wantReplay(s.connect(), pid, Replay{}, next, span(1, first-1)...)
		s.wantSlots(pid, after, first+3)
		s.singles(again, 1)
		if s.lands(lost) {
			s.Errorf("the last member of an atomic write landed after a writer had continued")
		}
		s.wantEvents(s.journal, pid, Window{}, append(span(1, first-1), next)...)
	}
}

// onlyTheLast has an atomic write across whole partitions. Only its last member is stored.
func onlyTheLast(s *scene) {
	w := s.written("a", 99)
	s.batch(w, 3)
	s.lose(s.store.Table.eventKey("a", 100), s.store.Table.eventKey("a", 101))
	s.wantEvents(s.journal, "a", Window{}, span(1, 99)...)
	s.wantBounds(s.journal, "a", 0, 102)
	again := s.wantReplay(s.connect(), "a", Replay{}, 103, span(1, 99)...)
	s.wantSlots("a", aSeal, 100, 101)
	s.singles(again, 1)
	s.wantEvents(s.journal, "a", Window{}, append(span(1, 99), 103)...)
}

func twoHalves(s *scene) {
	t := s.store.Table
	// The first half is from one writer. The second half is from another writer, with the same
	// place and size.
	s.plant(t.member("a", 1, writerA, 1, 4), t.member("a", 2, writerA, 1, 4), t.member("a", 3, writerB, 1, 4),
		t.member("a", 4, writerB, 1, 4))
	s.wantEvents(s.journal, "a", Window{})
	// An atomic write of the same writer has replaced the end of another atomic write.
	s.plant(t.member("b", 1, writerA, 1, 4), t.member("b", 2, writerA, 1, 4), t.member("b", 3, writerA, 3, 4),
		t.member("b", 4, writerA, 3, 4))
	s.wantEvents(s.journal, "b", Window{}, 3, 4)
	// Two atomic writes of the same size are adjacent, each without its first member.
	s.plantBatch("c", writerA, 2, 4, 2)
	s.plantBatch("c", writerA, 5, 7, 5)
	s.plantSingles("c", writerA, 1, 8)
	s.wantEvents(s.journal, "c", Window{}, 1, 8)
	s.wantEvents(s.journal, "c", Window{From: 4}, 8)
	// The atomic write of one writer is in the middle of an atomic write of another.
	s.plantBatch("d", writerA, 1, 5, 2, 3)
	s.plantBatch("d", writerB, 2, 3)
	s.wantEvents(s.journal, "d", Window{}, 2, 3)
	s.wantReplay(s.connect(), "d", Replay{}, 6, 2, 3)
}
