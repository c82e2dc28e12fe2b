package journaltest

import (
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// markCases test marks that are lost, or that point to nothing.
func markCases() []testCase {
	return []testCase{
		{name: "events after a lost high mark are found", table: true, run: lostHighMark},
		{name: "a tail over several partitions without any high mark is found", table: true, run: tailChase},
		{name: "a high mark that points to nothing is searched downwards from", table: true, run: readBack},
		{name: "a high mark beside a low mark", table: true, run: bothMarks},
		{name: "an atomic write over a boundary sets the high mark", table: true, run: batchSetsMark},
		{name: "marks only move up", table: true, run: marksMoveUp},
	}
}

// wantMark checks the value of a mark; 0 means that there is no mark.
func (s *scene) wantMark(key item, want int64) {
	s.Helper()
	v, _ := s.stored(key)["seq"].(*types.AttributeValueMemberN)
	got := "0"
	if v != nil {
		got = v.Value
	}
	if got != fmt.Sprint(want) {
		s.Errorf("the mark %v is %s, want %d", key["par"].(*types.AttributeValueMemberS).Value, got, want)
	}
}

func lostHighMark(s *scene) {
	for _, n := range []int64{100, 103, 199, 205} {
		pid := fmt.Sprintf("a%d", n)
		s.written(pid, n)
		key := s.store.Table.markKey("SH", pid, n)
		s.lose(key)
		s.wantBounds(s.journal, pid, 0, n)
		s.wantEvents(s.journal, pid, Window{}, span(1, n)...)
		s.wantEvents(s.journal, pid, Window{From: n}, n)
		w := s.wantReplay(s.connect(), pid, Replay{}, n+1, span(1, n)...)
		s.wantMark(key, n/block*block) // a recovery puts it again
		s.singles(w, 1)
	}
}

func tailChase(s *scene) {
	for _, n := range []int64{199, 300} {
		pid := fmt.Sprintf("a%d", n)
		s.plantSingles(pid, writerA, span(1, n)...)
		s.wantBounds(s.journal, pid, 0, n)
		s.wantEvents(s.journal, pid, Window{From: 98}, span(98, n)...)
		s.wantReplay(s.connect(), pid, Replay{}, n+1, span(1, n)...)
	}
	// An atomic write ends in the next partition but one.
	s.plantSingles("b", writerA, span(1, 97)...)
	s.plantBatch("b", writerA, 98, 230)
	s.wantBounds(s.journal, "b", 0, 230)
	s.wantEvents(s.journal, "b", Window{}, span(1, 230)...)
	s.wantReplay(s.connect(), "b", Replay{}, 231, span(1, 230)...)
}

func readBack(s *scene) {
	for _, mark := range []int64{100, 200, 500} {
		pid := fmt.Sprintf("a%d", mark)
		s.plantSingles(pid, writerA, span(1, 50)...)
		s.plant(s.store.Table.highMark(pid, mark))
		s.wantBounds(s.journal, pid, 0, 50)
		s.wantEvents(s.journal, pid, Window{}, span(1, 50)...)
		w := s.wantReplay(s.connect(), pid, Replay{After: 50}, 51)
		s.singles(w, 1)
		s.wantReplay(s.connect(), pid, Replay{After: 20, To: 30}, 52, span(21, 30)...)
		s.wantBounds(s.journal, pid, 0, 51)
	}
	// Only the mark is stored.
	s.plant(s.store.Table.highMark("b", 300))
	s.wantBounds(s.journal, "b", 0, 0)
	s.wantEvents(s.journal, "b", Window{})
	s.wantReplay(s.connect(), "b", Replay{}, 1)
}

func bothMarks(s *scene) {
	t := s.store.Table
	for _, m := range []struct{ low, high, highest int64 }{{151, 100, 150}, {151, 200, 150}, {100, 100, 99},
		{101, 100, 100}, {301, 100, 300}} {
		pid := fmt.Sprintf("a-%d-%d", m.low, m.high)
		s.plant(t.lowMark(pid, m.low), t.highMark(pid, m.high))
		s.wantBounds(s.journal, pid, m.low, m.highest)
		s.wantEvents(s.journal, pid, Window{})
		w := s.wantReplay(s.journal, pid, Replay{}, m.highest+1)
		s.singles(w, 2)
		s.wantReplay(s.connect(), pid, Replay{}, m.highest+3, m.highest+1, m.highest+2)
	}
}

func batchSetsMark(s *scene) {
	for _, b := range []struct{ start, size, mark int64 }{{98, 1, 0}, {98, 2, 0}, {98, 3, 100}, {99, 2, 100},
		{100, 2, 100}, {100, 1, 100}, {98, 250, 300}} {
		pid := fmt.Sprintf("a-%d-%d", b.start, b.size)
		w := s.written(pid, b.start-1)
		s.batch(w, b.size)
		s.wantMark(s.store.Table.markKey("SH", pid, b.start+b.size-1), b.mark)
		s.wantBounds(s.connect(), pid, 0, b.start+b.size-1)
	}
}

// marksMoveUp has marks that are higher than the marks that a writer puts.
func marksMoveUp(s *scene) {
	t := s.store.Table
	w := s.written("a", 99)
	s.plant(t.highMark("a", t.Shards*block+block)) // the same item
	s.singles(w, 1)
	s.wantMark(t.markKey("SH", "a", 100), t.Shards*block+block)
	s.wantBounds(s.journal, "a", 0, 100)
	s.plant(t.ownLowMark("a", 80, 80))
	s.deleteTo(w, 50)
	s.wantMark(t.markKey("SL", "a", 0), 80)
	s.wantBounds(s.journal, "a", 80, 100)
}
