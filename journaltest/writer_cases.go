package journaltest

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// writerCases test two or more writers.
func writerCases() []testCase {
	return []testCase{
		{name: "of two writers the one that comes second gets a conflict", run: secondConflicts},
		{name: "a writer that lost stays out", run: loserStaysOut},
		{name: "a writer that lost recovers and continues", run: loserRecovers},
		{name: "an atomic write that meets another writer is never seen in part", atomic: true, run: batchMeetsSingle},
		{name: "writers that append at the same time never share a number", run: manyWriters},
		{name: "calls on one writer at the same time queue", run: callsQueue},
		{name: "a stale writer can't write where events were deleted", run: fencedAfterDeletion},
		{name: "a stale writer can't write after a purge", run: fencedAfterPurge},
	}
}

func secondConflicts(s *scene) {
	for _, n := range []int64{0, 3, 98, 99, 100} {
		pid := fmt.Sprintf("a%d", n)
		first := s.written(pid, n)
		second := s.recovered(s.connect(), pid)
		s.singles(second, 1)
		s.wantConflict(first, []byte("lost"))
		s.singles(second, 1)
		s.wantEvents(s.journal, pid, Window{}, span(1, n+2)...)
	}
}

func loserStaysOut(s *scene) {
	loser := s.written("a", 3)
	winner := s.recovered(s.connect(), "a")
	s.batch(winner, 2)
	s.wantConflict(loser, []byte("lost"))
	for range 2 {
		if first, last, err := loser.Append(s.Context(), []byte("lost")); err == nil {
			s.Errorf("a writer that lost wrote %d to %d", first, last)
		}
	}
	if numbers, err := loser.AppendEach(s.Context(), []byte("lost"), []byte("lost")); err == nil ||
		slices.Max(numbers) > 0 {
		s.Errorf("a writer that lost wrote %v, error %v", numbers, err)
	}
	s.wantReplay(s.connect(), "a", Replay{}, 6, 1, 2, 3, 4, 5)
}

func loserRecovers(s *scene) {
	loser := s.written("a", 3)
	winner := s.recovered(s.connect(), "a")
	s.singles(winner, 1)
	s.wantConflict(loser, []byte("lost"))
	again := s.wantReplay(s.journal, "a", Replay{After: 3}, 5, 4)
	s.batch(again, 3)
	s.wantConflict(winner, []byte("lost"))
	s.wantEvents(s.journal, "a", Window{}, span(1, 7)...)
}

// batchMeetsSingle lets an atomic write conflict with a single event at each of its places. The
// stored members must never be visible.
func batchMeetsSingle(s *scene) {
	for _, at := range []int64{1, 2, 3} {
		pid := fmt.Sprintf("a%d", at)
		loser := s.written(pid, 2)
		winner := s.recovered(s.connect(), pid)
		s.singles(winner, at)
		s.wantConflict(loser, []byte("lost"), []byte("lost"), []byte("lost"))
		s.wantEvents(s.journal, pid, Window{}, span(1, 2+at)...)
		var seen []int64
		w, err := s.connect().Recover(s.Context(), pid, Replay{}, func(e Event) error {
			s.checkPayload(pid, e)
			seen = append(seen, e.SequenceNumber)
			return nil
		})
		if err != nil {
			s.Fatalf("Recover: %v", err)
		}
		if want := span(1, 2+at); !slices.Equal(seen, want) {
			s.Errorf("Recover replayed %s, want %s", ranges(seen), ranges(want))
		}
		next := s.next(w)
		s.singles(w, 2)
		s.wantEvents(s.journal, pid, Window{}, append(span(1, 2+at), next, next+1)...)
	}
}

// contender appends singles and atomic writes until enough of them were acknowledged. It recovers
// whenever it loses.
type contender struct {
	*scene

	id      int
	journal Journal
	// acknowledged has the acknowledged events by sequence number.
	acknowledged map[int64]string
}

func (c *contender) run(ctx context.Context, pid string, writes int) error {
	var w Writer
	for done := 0; done < writes; {
		if w == nil {
			var err error
			if w, err = c.journal.Recover(ctx, pid, Replay{}, func(Event) error { return nil }); err != nil {
				return fmt.Errorf("contender %d: recover: %w", c.id, err)
			}
		}
		events := make([][]byte, c.atMost(1+done%3))
		for i := range events {
			events[i] = fmt.Appendf(nil, "%d/%d/%d of %d", c.id, done, i, len(events))
		}
		first, _, err := w.Append(ctx, events...)
		if err != nil {
			if !c.suite.IsConflict(err) {
				return fmt.Errorf("contender %d: append: %w", c.id, err)
			}
			w = nil
			continue
		}
		for i, e := range events {
			c.acknowledged[first+int64(i)] = string(e)
		}
		done++
	}
	return nil
}

func manyWriters(s *scene) {
	const contenders, writes = 4, 12
	var all [contenders]contender
	var group sync.WaitGroup
	for i := range all {
		all[i] = contender{s, i, s.connect(), map[int64]string{}}
		group.Go(func() {
			if err := all[i].run(s.Context(), "a", writes); err != nil {
				s.Error(err)
			}
		})
	}
	group.Wait()
	acknowledged := map[int64]string{}
	for i := range all {
		for seq, event := range all[i].acknowledged {
			if other, taken := acknowledged[seq]; taken {
				s.Errorf("number %d was acknowledged twice: to %q and to %q", seq, other, event)
			}
			acknowledged[seq] = event
		}
	}
	s.wantEachOnce(acknowledged)
}

// wantEachOnce checks that a replay returns exactly the acknowledged events: a conflict leaves
// nothing visible.
func (s *scene) wantEachOnce(acknowledged map[int64]string) {
	s.Helper()
	seen := 0
	for e, err := range s.journal.Events(s.Context(), "a", Window{}) {
		if err != nil {
			s.Fatalf("Events: %v", err)
		}
		seen++
		if want, ok := acknowledged[e.SequenceNumber]; !ok || want != string(e.Payload) {
			s.Errorf("event %d is %q, want the acknowledged %q", e.SequenceNumber, e.Payload, want)
		}
	}
	if seen != len(acknowledged) {
		s.Errorf("a replay returned %d events, want the %d acknowledged ones", seen, len(acknowledged))
	}
}

func callsQueue(s *scene) {
	const calls = 20
	w := s.recovered(s.journal, "a")
	var group sync.WaitGroup
	numbers := make([][2]int64, calls)
	for i := range numbers {
		group.Go(func() {
			events := make([][]byte, s.atMost(1+i%4))
			for k := range events {
				events[k] = fmt.Appendf(nil, "%d of call %d", k, i)
			}
			var err error
			if numbers[i][0], numbers[i][1], err = w.Append(s.Context(), events...); err != nil {
				s.Errorf("Append: %v", err)
			}
		})
	}
	group.Wait()
	slices.SortFunc(numbers, func(a, b [2]int64) int { return int(a[0] - b[0]) })
	for i, n := range numbers {
		if i > 0 && n[0] != numbers[i-1][1]+1 || i == 0 && n[0] != 1 {
			s.Errorf("a write got the numbers %d to %d, but the write before it ended at %d",
				n[0], n[1], numbers[max(i-1, 0)][1])
		}
	}
}

func fencedAfterDeletion(s *scene) {
	for _, n := range []int64{0, 3, 97} {
		for _, deleted := range []int64{1, 4} {
			pid := fmt.Sprintf("a-%d-%d", n, deleted)
			stale := s.written(pid, n)
			w := s.recovered(s.connect(), pid)
			s.singles(w, 4)
			s.deleteTo(w, n+deleted)
			s.wantConflict(stale, []byte("lost"))
			s.wantEvents(s.journal, pid, Window{}, span(n+deleted+1, n+4)...)
			s.wantReplay(s.connect(), pid, Replay{}, n+5, span(n+deleted+1, n+4)...)
		}
	}
}

func fencedAfterPurge(s *scene) {
	if s.suite.PurgeRestarts {
		s.Skip("a purge needs that no other writer lives, as the id begins again at 1")
	}
	stale := s.written("a", 3)
	purger := s.recovered(s.connect(), "a")
	s.singles(purger, 2)
	if err := purger.Purge(s.Context()); err != nil {
		s.Fatalf("Purge: %v", err)
	}
	s.wantConflict(stale, []byte("lost"))
	s.wantEvents(s.journal, "a", Window{})
}
