package journaltest

import (
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"sync"
)

// readEventsCases test queries for existing events.
func readEventsCases() []readCase {
	return []readCase{
		{name: "events between two numbers", run: currentEvents},
		{name: "events of an atomic write that is not whole are not there", table: true, run: currentEventsOfParts},
		{name: "wrong arguments of a query for events are refused", run: wrongEvents},
	}
}

// liveEventsCases test queries for events that are written during the query.
func liveEventsCases() []readCase {
	return []readCase{
		{name: "a live query gives the events that are there, then new ones", run: liveEvents},
		{name: "a live query ends after the last event wanted", run: liveEventsTo},
		{name: "a live query gives an atomic write when it is whole", table: true, run: liveBatch},
		{name: "a live query passes over holes", table: true, run: liveHoles},
		{name: "a live query passes over what was deleted", run: liveDeleted},
		{name: "live queries while writers contend skip nothing and repeat nothing", run: liveAmongWriters},
		{name: "a live query can be left, and ends with its context", run: liveLeft},
	}
}

func (s *readScene) wantCurrent(pid string, from, to int64, want ...int64) {
	s.Helper()
	var got []int64
	for e, err := range s.read.CurrentEvents(s.Context(), pid, from, to) {
		if err != nil {
			s.Fatalf("CurrentEvents(%s, %d, %d): after %s: %v", name(pid), from, to, ranges(got), err)
		}
		s.checkPayload(pid, e)
		got = append(got, e.SequenceNumber)
	}
	if !slices.Equal(got, want) {
		s.Errorf("CurrentEvents(%s, %d, %d) returned %s, want %s", name(pid), from, to, ranges(got), ranges(want))
	}
}

func currentEvents(s *readScene) {
	w := s.written("a", 97)
	s.batch(w, 6)
	s.singles(w, 102)
	s.wantCurrent("a", 0, 0, span(1, 205)...)
	s.wantCurrent("a", 1, math.MaxInt64, span(1, 205)...)
	s.wantCurrent("a", 98, 103, span(98, 103)...)
	s.wantCurrent("a", 99, 101, span(99, 101)...)
	s.wantCurrent("a", 100, 100, 100)
	s.wantCurrent("a", 205, 0, 205)
	s.wantCurrent("a", 206, 0)
	s.wantCurrent("a", 5, 4)
	s.wantCurrent("nobody", 0, 0)
	s.deleteTo(w, 100)
	s.wantCurrent("a", 0, 102, 101, 102)
	s.wantCurrent("a", 0, 100)
	s.deleteTo(w, 205)
	s.wantCurrent("a", 0, 0)
}

func currentEventsOfParts(s *readScene) {
	s.plantSingles("a", writerA, 1, 2)
	s.plantBatch("a", writerA, 3, 6, 4)
	s.wantCurrent("a", 0, 0, 1, 2)
	s.wantCurrent("a", 5, 6)
	s.plant(s.store.Table.member("a", 4, writerA, 3, 6))
	s.wantCurrent("a", 0, 0, span(1, 6)...)
	s.wantCurrent("a", 5, 6, 5, 6)
}

func wrongEvents(s *readScene) {
	s.written("a", 3)
	for _, window := range [][2]int64{{-1, 0}, {0, -1}, {5, -1}, {math.MinInt64, math.MinInt64}} {
		what := fmt.Sprintf("events from %d to %d", window[0], window[1])
		refused(s, what, func(ctx context.Context) iter.Seq2[Event, error] {
			return s.read.CurrentEvents(ctx, "a", window[0], window[1])
		})
		refused(s, what+", live", func(ctx context.Context) iter.Seq2[Event, error] {
			return s.read.Events(ctx, "a", window[0], window[1])
		})
	}
	for _, pid := range []string{"", "\xff"} {
		refused(s, fmt.Sprintf("events of id %q",
			pid), func(ctx context.Context) iter.Seq2[Event, error] { return s.read.CurrentEvents(ctx, pid, 0, 0) })
		refused(s, fmt.Sprintf("events of id %q, live",
			pid), func(ctx context.Context) iter.Seq2[Event, error] { return s.read.Events(ctx, pid, 0, 0) })
		refused(s, fmt.Sprintf("events of id %q in an empty window, live",
			pid), func(ctx context.Context) iter.Seq2[Event, error] { return s.read.Events(ctx, pid, 2, 1) })
	}
}

// follow runs a live query of events.
func (s *readScene) follow(pid string, from, to int64) *live[Event] {
	s.Helper()
	return start(s, func(ctx context.Context) iter.Seq2[Event, error] { return s.read.Events(ctx, pid, from, to) })
}

// wantGiven checks the numbers and payloads of events.
func (s *readScene) wantGiven(pid string, got []Event, want ...int64) {
	s.Helper()
	var numbers []int64
	for _, e := range got {
		s.checkPayload(pid, e)
		numbers = append(numbers, e.SequenceNumber)
	}
	if !slices.Equal(numbers, want) {
		s.Errorf("a live query of %s gave %s, want %s", name(pid), ranges(numbers), ranges(want))
	}
}

func liveEvents(s *readScene) {
	w := s.written("a", 3)
	all, later, ahead := s.follow("a", 0, 0), s.follow("a", 3, 0), s.follow("a", 103, 0)
	none := s.follow("b", 0, 0)
	s.wantGiven("a", all.await(s, 3), 1, 2, 3)
	s.singles(w, 95)
	s.wantGiven("a", all.await(s, 98), span(1, 98)...)
	s.batch(w, 5) // across the boundary
	s.wantGiven("a", all.await(s, 103), span(1, 103)...)
	s.wantGiven("a", later.await(s, 101), span(3, 103)...)
	s.wantGiven("a", ahead.await(s, 1), 103)
	s.batch(w, 300)
	s.wantGiven("a", all.await(s, 403), span(1, 403)...)
	s.written("b", 2)
	s.wantGiven("b", none.await(s, 2), 1, 2)
	for _, q := range []*live[Event]{all, later, ahead, none} {
		q.ended(s)
	}
	s.wantGiven("a", all.ended(s), span(1, 403)...)
}

func liveEventsTo(s *readScene) {
	w := s.written("a", 3)
	there, cut := s.follow("a", 2, 3), s.follow("a", 0, 5)
	empty := s.follow("a", 5, 4)
	for _, q := range []*live[Event]{there, empty} {
		<-q.done
	}
	found, err := there.soFar()
	if s.wantGiven("a", found, 2, 3); err != nil {
		s.Errorf("a query that has all it wants ended with %v", err)
	}
	if found, err := empty.soFar(); len(found) != 0 || err != nil {
		s.Errorf("a query of an empty window gave %d events, error %v", len(found), err)
	}
	s.wantGiven("a", cut.await(s, 3), 1, 2, 3)
	s.batch(w, 4)
	<-cut.done
	found, err = cut.soFar()
	if s.wantGiven("a", found, span(1, 5)...); err != nil {
		s.Errorf("a query that has all it wants ended with %v", err)
	}
}

// liveBatch stores the members of an atomic write one by one, in every order.
func liveBatch(s *readScene) {
	t := s.store.Table
	for i, order := range [][]int64{{3, 4, 5}, {5, 4, 3}, {4, 3, 5}, {3, 5, 4}} {
		pid := fmt.Sprintf("a%d", i)
		// When this query returns an event, the other query has also polled.
		other := fmt.Sprintf("b%d", i)
		s.plantSingles(pid, writerA, 1, 2)
		q := s.follow(pid, 0, 0)
		q.await(s, 2)
		for _, seq := range order[:2] {
			s.plant(t.member(pid, seq, writerA, 3, 5))
			for range 2 {
				s.polled(other)
			}
		}
		if found, err := q.soFar(); len(found) != 2 || err != nil {
			s.Errorf("before the atomic write is complete, the query gave %d events, error %v", len(found), err)
		}
		s.plant(t.member(pid, order[2], writerA, 3, 5))
		s.wantGiven(pid, q.await(s, 5), span(1, 5)...)
		s.plantSingles(pid, writerA, 6)
		s.wantGiven(pid, q.await(s, 6), span(1, 6)...)
		q.ended(s)
	}
}

// polled waits until another live query has found an event, which takes one poll.
func (s *readScene) polled(pid string) {
	s.Helper()
	b, err := s.journal.Bounds(s.Context(), pid)
	if err != nil {
		s.Fatalf("Bounds: %v", err)
	}
	q := s.follow(pid, b.Highest+1, 0)
	s.singles(s.recovered(s.journal, pid), 1)
	q.await(s, 1)
	q.ended(s)
}

func liveHoles(s *readScene) {
	t := s.store.Table
	s.plantSingles("a", writerA, 1, 2)
	q := s.follow("a", 0, 0)
	q.await(s, 2)
	// A rejected event left 3 unused. A crash cut an atomic write from 5 on, and the next writer
	// sealed it.
	s.plant(t.seal("a", 6), t.member("a", 5, writerA, 5, 7), t.member("a", 7, writerA, 5, 7), t.single("a", 4, writerA),
		t.single("a", 8, writerB))
	s.wantGiven("a", q.await(s, 4), 1, 2, 4, 8)
	w := s.recovered(s.journal, "a")
	s.singles(w, 3)
	s.wantGiven("a", q.await(s, 7), 1, 2, 4, 8, 9, 10, 11)
	q.ended(s)
}

func liveDeleted(s *readScene) {
	follower := s.follow("b", 1, 0)
	w := s.written("b", 1)
	follower.await(s, 1)
	s.deleteTo(w, 1)
	s.singles(w, 1)
	s.wantGiven("b", follower.await(s, 2), 1, 2)
	follower.ended(s)
	s.deleteTo(w, 2)
	late := s.follow("b", 1, 0)
	s.singles(w, 1)
	s.wantGiven("b", late.await(s, 1), 3)
	late.ended(s)
}

// liveAmongWriters follows an id that several writers compete for.
func liveAmongWriters(s *readScene) {
	const contenders, writes, readers = 3, 15, 3
	queries := make([]*live[Event], readers)
	for i := range queries {
		queries[i] = s.follow("a", 0, 0)
	}
	var all [contenders]contender
	var group sync.WaitGroup
	for i := range all {
		all[i] = contender{s.scene, i, s.store.Connect(s.T, DefaultName).Journal, map[int64]string{}}
		group.Go(func() {
			if err := all[i].run(s.Context(), "a", writes); err != nil {
				s.Error(err)
			}
		})
	}
	group.Wait()
	if s.Failed() {
		return
	}
	var want []Event
	for e, err := range s.read.CurrentEvents(s.Context(), "a", 0, 0) {
		if err != nil {
			s.Fatalf("CurrentEvents: %v", err)
		}
		want = append(want, e)
	}
	for _, c := range all {
		for seq, event := range c.acknowledged {
			if !slices.ContainsFunc(want,
				func(e Event) bool { return e.SequenceNumber == seq && string(e.Payload) == event }) {
				s.Errorf("event %d was acknowledged, but is missing", seq)
			}
		}
	}
	for _, q := range queries {
		q.await(s, len(want))
		got := q.ended(s)
		if !slices.EqualFunc(got, want, func(a, b Event) bool {
			return a.SequenceNumber == b.SequenceNumber && string(a.Payload) == string(b.Payload)
		}) {
			s.Errorf("a live query gave %d events, want the %d current ones", len(got), len(want))
		}
	}
}

func liveLeft(s *readScene) {
	s.written("a", 5)
	n := 0
	for _, err := range s.read.Events(s.Context(), "a", 0, 0) {
		if err != nil {
			s.Fatalf("Events: %v", err)
		}
		if n++; n == 3 {
			break
		}
	}
	q := s.follow("nobody", 0, 0)
	if found := q.ended(s); len(found) != 0 {
		s.Errorf("an id without events gave %d events", len(found))
	}
}
