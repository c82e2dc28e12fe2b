package journaltest

import (
	"bytes"
	"fmt"
	"math"
)

// limitCases test the smallest and the largest sizes and sequence numbers.
func limitCases() []testCase {
	return []testCase{
		{name: "events of 0 bytes", run: emptyEvents},
		{name: "events of the size limit, and one byte more is rejected and leaves no hole", sized: true,
			run: largestEvents},
		{name: "an atomic write with an event over the limit is rejected whole", atomic: true, sized: true,
			run: rejectedWhole},
		{name: "an event over the limit among others is left out alone", sized: true, run: rejectedAlone},
		{name: "the last sequence number", table: true, run: lastNumber},
		{name: "deletion of the last sequence number", table: true, run: lastNumberDeleted},
	}
}

func emptyEvents(s *scene) {
	w := s.recovered(s.journal, "a")
	if _, _, err := w.Append(s.Context(), []byte{}); err != nil {
		s.Fatalf("Append of an event of 0 bytes: %v", err)
	}
	if _, err := w.AppendEach(s.Context(), []byte{}, []byte("x")); err != nil {
		s.Fatalf("AppendEach of events of 0 bytes: %v", err)
	}
	s.wantSizes("a", 0, 0, 1)
	if s.suite.NoAtomicWrites != "" {
		return
	}
	if _, _, err := w.Append(s.Context(), []byte{}, []byte("x"), []byte{}); err != nil {
		s.Fatalf("Append of events of 0 bytes: %v", err)
	}
	s.wantSizes("a", 0, 0, 1, 0, 1, 0)
}

// wantSizes checks the sizes of all events, which follow each other from 1 on.
func (s *scene) wantSizes(pid string, sizes ...int) {
	s.Helper()
	i := 0
	for e, err := range s.journal.Events(s.Context(), pid, Window{}) {
		if err != nil {
			s.Fatalf("Events: %v", err)
		}
		if i >= len(sizes) || e.SequenceNumber != int64(i+1) || len(e.Payload) != sizes[i] {
			s.Fatalf("event %d, number %d in the list, has %d bytes, want %v", e.SequenceNumber, i+1, len(e.Payload), sizes)
		}
		i++
	}
	if i != len(sizes) {
		s.Errorf("there are %d events, want %d", i, len(sizes))
	}
}

func sized(n int) []byte { return bytes.Repeat([]byte{'x'}, n) }

func (s *scene) wantRejected(w Writer, events ...[]byte) {
	s.Helper()
	first, last, err := w.Append(s.Context(), events...)
	if err == nil {
		s.Fatalf("Append of too large events wrote %d to %d", first, last)
	}
	if !s.suite.IsRejected(err) {
		s.Fatalf("Append of too large events failed with %v, want a rejection", err)
	}
}

func largestEvents(s *scene) {
	for _, pid := range []string{"a", "a longer persistence id, with ünïcöde"} {
		w := s.recovered(s.journal, pid)
		var sizes []int
		for seq := int64(1); seq <= 3; seq++ {
			most := s.suite.LargestEvent(pid, seq)
			s.wantRejected(w, sized(most+1))
			if n := s.next(w); n != seq {
				s.Fatalf("after a rejection the writer continues at %d, want %d", n, seq)
			}
			if _, _, err := w.Append(s.Context(), sized(most)); err != nil {
				s.Fatalf("Append of an event of the size limit, %d bytes, at %d: %v", most, seq, err)
			}
			sizes = append(sizes, most)
		}
		s.wantSizes(pid, sizes...)
		s.wantBounds(s.connect(), pid, 0, 3)
	}
}

func rejectedWhole(s *scene) {
	w := s.written("a", 1)
	large := sized(s.suite.LargestEvent("a", 2) + 1)
	s.wantRejected(w, payload(2), large, payload(4))
	s.wantRejected(w, large, payload(3))
	s.wantRejected(w, payload(2), large)
	s.batch(w, 3)
	s.wantReplay(s.connect(), "a", Replay{}, 5, 1, 2, 3, 4)
}

func rejectedAlone(s *scene) {
	w := s.written("a", 1)
	large := sized(s.suite.LargestEvent("a", 3) + 1)
	numbers, err := w.AppendEach(s.Context(), payload(2), large, payload(3))
	if !s.suite.IsRejected(err) || fmt.Sprint(numbers) != "[2 0 3]" {
		s.Errorf("AppendEach gave the numbers %v and %v, want 2, none, 3 and a rejection", numbers, err)
	}
	s.wantReplay(s.connect(), "a", Replay{}, 4, 1, 2, 3)
}

// nearTheEnd plants an id whose sequence numbers are all deleted except the last n.
func nearTheEnd(s *scene, pid string, n int64) Writer {
	s.Helper()
	first := s.suite.MaxSequenceNumber - n + 1
	s.plant(s.store.Table.lowMark(pid, first), s.store.Table.highMark(pid, first-1))
	s.wantBounds(s.journal, pid, first, first-1)
	return s.wantReplay(s.journal, pid, Replay{}, first)
}

// allGone checks that a writer has no number left.
func (s *scene) allGone(w Writer) {
	s.Helper()
	for n := range 2 {
		if first, last, err := w.Append(s.Context(), payloads(0, int64(n+1))...); err == nil {
			s.Errorf("Append after the last sequence number wrote %d to %d", first, last)
		}
	}
}

func lastNumber(s *scene) {
	top := s.suite.MaxSequenceNumber
	for _, n := range []int64{1, 2, 5, 120} {
		pid := fmt.Sprintf("a%d", n)
		w := nearTheEnd(s, pid, n)
		s.singles(w, n-1)
		if first, last, err := w.Append(s.Context(), payload(top), payload(0)); err == nil {
			s.Errorf("an atomic write that ends beyond the last sequence number wrote %d to %d", first, last)
		}
		s.batch(w, 1)
		s.allGone(w)
		want := span(top-n+1, top)
		s.wantBounds(s.journal, pid, top-n+1, top)
		s.wantEvents(s.journal, pid, Window{}, want...)
		s.wantEvents(s.journal, pid, Window{From: top}, top)
		s.wantEvents(s.journal, pid, Window{From: top, To: math.MaxInt64}, top)
		s.allGone(s.wantReplay(s.connect(), pid, Replay{}, top+1, want...))
		s.allGone(s.wantReplay(s.connect(), pid, Replay{After: top}, top+1))
	}
	w := nearTheEnd(s, "batch", 4)
	s.batch(w, 4)
	s.wantReplay(s.connect(), "batch", Replay{}, top+1, span(top-3, top)...)
}

func lastNumberDeleted(s *scene) {
	top := s.suite.MaxSequenceNumber
	w := nearTheEnd(s, "a", 3)
	s.singles(w, 3)
	s.deleteTo(w, top-1)
	s.wantEvents(s.journal, "a", Window{}, top)
	s.deleteTo(w, math.MaxInt64)
	s.wantEvents(s.journal, "a", Window{})
	s.wantBounds(s.connect(), "a", top+1, top)
	s.allGone(s.wantReplay(s.connect(), "a", Replay{}, top+1))
}
