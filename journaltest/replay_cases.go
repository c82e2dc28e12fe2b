package journaltest

import (
	"errors"
	"fmt"
	"strings"
)

// replayCases test replays of single events and of an undamaged journal.
func replayCases() []testCase {
	window := func(w Window, want ...int64) func(*scene) {
		return func(s *scene) {
			s.written("a", 5)
			s.wantEvents(s.journal, "a", w, want...)
			s.wantReplay(s.connect(), "a", Replay{After: max(w.From, 1) - 1, To: w.To, Limit: w.Limit}, 6, want...)
		}
	}
	deleted := func(w Window, want ...int64) func(*scene) {
		return func(s *scene) {
			s.deleteTo(s.written("a", 5), 3)
			s.wantEvents(s.journal, "a", w, want...)
			s.wantReplay(s.connect(), "a", Replay{After: max(w.From, 1) - 1, To: w.To, Limit: w.Limit}, 6, want...)
		}
	}
	return []testCase{
		{name: "replay all events", run: window(Window{}, 1, 2, 3, 4, 5)},
		{name: "replay from a lower bound", run: window(Window{From: 3}, 3, 4, 5)},
		{name: "replay to an upper bound", run: window(Window{To: 3}, 1, 2, 3)},
		{name: "replay to an upper bound beyond the highest", run: window(Window{To: 1 << 62}, 1, 2, 3, 4, 5)},
		{name: "replay a number of events", run: window(Window{Limit: limit(3)}, 1, 2, 3)},
		{name: "replay more events than there are", run: window(Window{Limit: limit(99)}, 1, 2, 3, 4, 5)},
		{name: "replay between both bounds", run: window(Window{From: 2, To: 3}, 2, 3)},
		{name: "replay between both bounds a number of events",
			run: window(Window{From: 2, To: 5, Limit: limit(2)}, 2, 3)},
		{name: "replay a single event where the bounds are equal", run: window(Window{From: 2, To: 2}, 2)},
		{name: "replay a single event where the count is 1", run: window(Window{From: 2, To: 4, Limit: limit(1)}, 2)},
		{name: "replay nothing where the count is 0", run: window(Window{From: 2, To: 4, Limit: limit(0)})},
		{name: "replay nothing where the lower bound is above the upper", run: window(Window{From: 3, To: 2})},
		{name: "replay nothing of an id that was never written", run: neverWritten},
		{name: "replay nothing of a deleted range", run: deleted(Window{From: 1, To: 3})},
		{name: "replay after a deleted prefix", run: deleted(Window{}, 4, 5)},
		{name: "replay after a deleted prefix from inside it", run: deleted(Window{From: 2}, 4, 5)},
		{name: "replay after a deleted prefix from after it", run: deleted(Window{From: 5}, 5)},
		{name: "replay after a deleted prefix to an upper bound", run: deleted(Window{To: 4}, 4)},
		{name: "replay after a deleted prefix, a number of events", run: deleted(Window{Limit: limit(1)}, 4)},
		{name: "replay after a deleted prefix with all bounds",
			run: deleted(Window{From: 2, To: 5, Limit: limit(1)}, 4)},
		{name: "a reader stops when its loop is left", run: readerStops},
		{name: "a recovery ends with its handler's error", run: handlerFails},
		{name: "a recovery after a number continues after the highest", run: afterNumber},
		{name: "a recovery after more than the journal has fails and changes nothing", run: afterEnd},
		{name: "a recovery after a snapshot continues after the highest", run: afterSnapshot},
		{name: "a snapshot that is newer than the journal is taken for the truth", run: newerSnapshot},
		{name: "persistence ids don't mix", run: idsDontMix},
		{name: "persistence ids with dashes, bars, unicode and of 1,000 bytes", run: oddIDs},
		{name: "every length from 1 to 1,050 events", run: everyLength},
	}
}

func neverWritten(s *scene) {
	s.written("another", 3)
	s.wantEvents(s.journal, "a", Window{})
	s.wantBounds(s.journal, "a", 0, 0)
	s.wantReplay(s.journal, "a", Replay{}, 1)
	s.wantEvents(s.journal, "a", Window{})
	s.wantBounds(s.journal, "a", 0, 0)
}

func readerStops(s *scene) {
	s.written("a", 250)
	for e, err := range s.journal.Events(s.Context(), "a", Window{From: 5}) {
		if err != nil {
			s.Fatalf("Events: %v", err)
		}
		if e.SequenceNumber == 120 {
			break
		}
	}
	s.wantEvents(s.journal, "a", Window{From: 249}, 249, 250)
}

func handlerFails(s *scene) {
	s.written("a", 5)
	var seen []int64
	w, err := s.journal.Recover(s.Context(), "a", Replay{}, func(e Event) error {
		seen = append(seen, e.SequenceNumber)
		if e.SequenceNumber == 3 {
			return errStop
		}
		return nil
	})
	if !errors.Is(err, errStop) || w != nil {
		s.Errorf("Recover returned writer %v and %v, want none and the handler's error", w, err)
	}
	if ranges(seen) != "1-3" {
		s.Errorf("the handler saw %s, want 1-3", ranges(seen))
	}
}

func afterNumber(s *scene) { replayAfter(s, "a", func(n int64) Replay { return Replay{After: n} }) }

func afterSnapshot(s *scene) {
	replayAfter(s, "a", func(n int64) Replay { return Replay{Snapshot: n} })
	replayAfter(s, "b", func(n int64) Replay { return Replay{After: n, Snapshot: n} })
}

// replayAfter replays the events after a number that the journal has. Its ids start with prefix.
func replayAfter(s *scene, prefix string, replay func(int64) Replay) {
	for _, n := range []int64{1, 99, 100, 101, 205} {
		pid := fmt.Sprint(prefix, n)
		s.written(pid, n)
		s.wantReplay(s.connect(), pid, replay(n-1), n+1, n)
		w := s.wantReplay(s.connect(), pid, replay(n), n+1)
		s.batch(w, 2)
		s.wantReplay(s.connect(), pid, replay(n), n+3, n+1, n+2)
	}
}

// afterEnd recovers after numbers above the highest one. Only a snapshot can know such numbers.
func afterEnd(s *scene) {
	for _, n := range []int64{0, 3, 99, 100} {
		pid := fmt.Sprintf("a%d", n)
		w := s.written(pid, n)
		for _, after := range []int64{n + 1, n + 4, n + 150} {
			_, err := s.connect().Recover(s.Context(), pid, Replay{After: after}, func(Event) error { return nil })
			if !s.suite.IsVersion(err) {
				s.Errorf("Recover(%s) after %d of %d events: %v, want a version error", name(pid), after, n, err)
			}
		}
		s.singles(w, 1) // the earlier writer continues
		s.wantReplay(s.connect(), pid, Replay{}, n+2, span(1, n+1)...)
	}
}

func newerSnapshot(s *scene) {
	for _, snapshot := range []int64{1, 7, 99, 100, 250} {
		for _, stored := range []int64{0, 3, 100} {
			if stored >= snapshot {
				continue
			}
			pid := fmt.Sprintf("a-%d-%d", stored, snapshot)
			stale := s.written(pid, stored)
			w := s.wantReplay(s.connect(), pid, Replay{Snapshot: snapshot, JournalLost: true}, snapshot+1)
			s.wantConflict(stale, payload(stored+1))
			s.singles(w, 2)
			s.wantReplay(s.connect(), pid, Replay{Snapshot: snapshot}, snapshot+3, snapshot+1, snapshot+2)
			s.wantEvents(s.journal, pid, Window{}, snapshot+1, snapshot+2)
			s.wantBounds(s.journal, pid, snapshot+1, snapshot+2)
		}
	}
}

// idsDontMix has ids whose keys are prefixes of each other, or look like each other.
func idsDontMix(s *scene) {
	for _, pids := range [][]string{{"x", "x-0", "x-0-0", "x-1", "0", "-", "x-", "-x"},
		{"P-x", "SL-x", "SH-x-0", "META", "x-META", "journal-P-x"}} {
		for i, pid := range pids {
			s.written(pid, int64(i+1))
		}
		for i, pid := range pids {
			s.wantEvents(s.journal, pid, Window{}, span(1, int64(i+1))...)
			s.wantBounds(s.journal, pid, 0, int64(i+1))
		}
	}
}

func oddIDs(s *scene) {
	for _, pid := range []string{
		"order-1", "order-1-0", "a-b-c-", "-lead", "user|42", "Order|", "|", "ünïcöde 漢字 😀", "sp ace/slash%25",
		`quo"te\`, "\x00\n\t", "e\u0301",
		strings.Repeat("L", 1000), strings.Repeat("漢", 333) + "x",
	} {
		w := s.written(pid, 2)
		s.batch(w, 2)
		s.deleteTo(w, 1)
		s.wantEvents(s.connect(), pid, Window{}, 2, 3, 4)
		s.wantBounds(s.connect(), pid, 2, 4)
		s.wantReplay(s.connect(), pid, Replay{}, 5, 2, 3, 4)
	}
}

// everyLength reads a journal while it grows to 1,050 events. Near the ends of partitions it reads
// after each event.
func everyLength(s *scene) {
	const most, about = 1050, 2
	w := s.recovered(s.journal, "a")
	for n := int64(1); n <= most; n++ {
		s.singles(w, 1)
		r := n % block
		if r > about && r < block-about && n != most {
			continue
		}
		s.wantBounds(s.journal, "a", 0, n)
		s.wantEvents(s.journal, "a", Window{From: n - 1}, span(max(n-1, 1), n)...)
		if r == 0 || r == block-1 {
			s.wantEvents(s.journal, "a", Window{}, span(1, n)...)
			w = s.wantReplay(s.journal, "a", Replay{}, n+1, span(1, n)...)
		}
	}
}
