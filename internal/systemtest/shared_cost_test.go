package systemtest

import (
	"testing"

	"github.com/dynajournal/dynajournal"
)

// In a shared journal, a deletion sends one request for each number in the block of the highest
// number, and one request for 25 numbers before it. The units equal those in a native journal.
func TestCostOfADeletionInASharedJournal(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		events int
		to     int64
		// again says that the test deletes a second time, after a further event.
		again bool
		want  spent
	}{
		// The low marks are read twice and the last event once. The low mark is written before and
		// after; the first one is new in the index.
		"of 10 of 20":    {20, 10, false, spent{3 + 2 + 10, 21, 3 + 10}},
		"of all of 20":   {20, 20, false, spent{3 + 2 + 20, 21, 3 + 20}},
		"of 100 of 250":  {250, 100, false, spent{3 + 2 + 4, 21, 3 + 100}},
		"of all of 105":  {105, 105, false, spent{3 + 2 + 4 + 6, 21, 3 + 105}},
		"of one further": {20, 20, true, spent{3 + 2 + 2, 21, 2 + 2}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTurns(t, 10)
			m := s.truth("a")
			w := m.recover("at first")
			m.append(w, c.events, false)
			result, err := w.DeleteTo(t.Context(), c.to)
			if err == nil && c.again {
				m.append(w, 1, false)
				result, err = w.DeleteTo(t.Context(), m.top)
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := (spent{int64(result.Cost.Requests), result.Cost.ReadUnits, result.Cost.WriteUnits}); got != c.want {
				t.Errorf("cost %+v, want %+v", got, c.want)
			}
			if want := map[bool]int64{false: c.to, true: 1}[c.again]; result.Removed != want {
				t.Errorf("%d numbers were removed, want %d", result.Removed, want)
			}
			if b, err := s.journal.Bounds(t.Context(), "a"); err != nil || b != (dynajournal.Bounds{Lowest: result.Lowest, Highest: m.top}) {
				t.Errorf("bounds %+v, %v", b, err)
			}
		})
	}
}
