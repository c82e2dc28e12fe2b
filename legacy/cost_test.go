package legacy_test

import (
	"testing"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/legacy"
)

// TestCosts checks the costs of docs/formats.md, for events of a few bytes.
func TestCosts(t *testing.T) {
	t.Parallel()
	type cost = dynajournal.Cost
	c := func(requests int, reads, writes float64) cost {
		return cost{Requests: requests, ReadUnits: reads, WriteUnits: writes}
	}
	for _, tt := range []struct {
		layout                                                        legacy.Layout
		appendOne, recoverNone, recoverFive, recover250, remove, mark cost
	}{
		// A recovery reads 1000 marks in 10 requests, and the key after them. 250 events take 3
		// requests.
		{legacy.HashKey, c(2, 0, 2), c(11, 1001, 0), c(12, 1006, 0), c(14, 1251, 0), c(22, 1010, 20), c(31, 1010, 20)},
		{legacy.HashKeyUnprefixed, c(2, 0, 2), c(11, 1001, 0), c(12, 1006, 0), c(14, 1251, 0), c(22, 1010, 20),
			c(31, 1010, 20)},
		{legacy.Naive, c(2, 1, 1), c(1, 1, 0), c(2, 2, 0), c(2, 7, 0), c(2, 1, 10), cost{}},
		{legacy.NaiveProcessor, c(2, 1, 1), c(1, 1, 0), c(2, 2, 0), c(2, 8, 0), c(2, 1, 10), c(11, 1, 10)},
	} {
		t.Run(tt.layout.String(), func(t *testing.T) {
			t.Parallel()
			b := newFixture(t, tt.layout)
			j := b.open()
			check := func(what string, got, want cost) {
				t.Helper()
				if got != want {
					t.Errorf("%s: cost %+v, want %+v", what, got, want)
				}
			}
			recovery := func(pid string) cost {
				t.Helper()
				w, err := j.Recover(t.Context(), pid, dynajournal.RecoverOptions{},
					func(legacy.Event) error { return nil })
				if err != nil {
					t.Fatal(err)
				}
				return w.RecoveryCost()
			}
			check("recovery of a new id", recovery("a"), tt.recoverNone)
			w := b.recovered(j, "a")
			result, err := w.Append(t.Context(), []byte("event"))
			if err != nil {
				t.Fatal(err)
			}
			check("an event", result.Cost, tt.appendOne)
			b.write(w, 4)
			check("recovery of 5 events", recovery("a"), tt.recoverFive)
			b.write(w, 245)
			check("recovery of 250 events", recovery("a"), tt.recover250)
			removed, err := w.DeleteTo(t.Context(), 10, legacy.Permanent)
			if err != nil || removed.Deleted != 10 {
				t.Errorf("removal: %+v, %v", removed, err)
			}
			check("removal of 10 events", removed.Cost, tt.remove)
			if tt.layout == legacy.Naive {
				return
			}
			other := b.recovered(j, "b")
			b.write(other, 20)
			marked, err := other.DeleteTo(t.Context(), 10, legacy.Mark)
			if err != nil || marked.Deleted != 10 {
				t.Errorf("marking: %+v, %v", marked, err)
			}
			check("marking of 10 events", marked.Cost, tt.mark)
		})
	}
}
