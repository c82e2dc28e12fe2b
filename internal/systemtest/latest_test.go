package systemtest

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/dynajournal/dynajournal"
)

var latest = dynajournal.RecoverOptions{Latest: true}

// A recovery with RecoverOptions.Latest costs the same at any length. If the newest number is the
// last of its partition, the next partition is also read: it may have events whose high mark is
// missing.
func TestCostOfAWriterOfTheLatestEvent(t *testing.T) {
	t.Parallel()
	s := setup(t, dynajournal.TableOptions{})
	w, last := recovered(t, s.journal, "a"), int64(0)
	for _, n := range []int64{1, 98, 99, 100, 101, 199, 200, 1000, 10_050} {
		for last < n {
			size := int(max(min(n-last-1, 9_000), 1)) // the last event is written alone
			result, err := w.Append(t.Context(), slices.Repeat([]any{"event"}, size)...)
			if err != nil {
				t.Fatal(err)
			}
			last = result.Last
		}
		want := dynajournal.Cost{Requests: 2, ReadUnits: 3}
		if n%modelBlock == modelBlock-1 {
			want = dynajournal.Cost{Requests: 3, ReadUnits: 4}
		}
		opts := dynajournal.RecoverOptions{Latest: true, Expect: &n}
		var err error
		if w, err = s.journal.Recover(t.Context(), "a", opts, nil); err != nil {
			t.Fatal(err)
		}
		if cost := w.RecoveryCost(); cost != want {
			t.Errorf("%d events: cost %+v, want %+v", n, cost, want)
		}
		wantNext(t, w, n+1)
	}
}

// For any newest item, a recovery with RecoverOptions.Latest finds the same last event and closes
// the same numbers as a complete recovery.
func TestWriterOfTheLatestEventDecidesAsARecovery(t *testing.T) {
	t.Parallel()
	part := func(last int64, b modelBatch, left ...int64) *planted {
		p := spanning(last)
		for _, seq := range left {
			p.plantEvent(seq, b, b.writer)
		}
		return p
	}
	seals := func(p *planted, at ...int64) *planted {
		for _, seq := range at {
			p.items[seq] = modelItem{}
		}
		return p
	}
	lows := func(p *planted, low int64) *planted {
		p.low, p.removed = modelLow{seq: low}, low
		p.lows = []modelLow{p.low}
		return p
	}
	for name, c := range map[string]struct {
		kind    string
		planted *planted
		last    int64
		sealed  []int64
	}{
		"nothing":                             {"native", spanning(0), 0, nil},
		"an event":                            {"native", spanning(3), 3, nil},
		"an atomic write":                     {"native", part(3, modelBatch{4, 5, modelWriters[0]}, 4, 5), 5, nil},
		"an atomic write across a boundary":   {"native", part(97, modelBatch{98, 101, modelWriters[0]}, 98, 99, 100, 101).withHighMarks(), 101, nil},
		"its later part":                      {"native", part(97, modelBatch{98, 101, modelWriters[0]}, 100, 101).withHighMarks(), 97, []int64{98, 99}},
		"a part of an atomic write":           {"native", part(3, modelBatch{4, 5, modelWriters[0]}, 5), 3, []int64{4}},
		"the beginning of an atomic write":    {"native", part(3, modelBatch{4, 5, modelWriters[0]}, 4), 3, nil},
		"a seal after a hole":                 {"native", seals(spanning(3), 5), 3, []int64{4}},
		"a seal":                              {"native", seals(spanning(3), 4), 3, nil},
		"an event below the low mark":         {"native", lows(spanning(3), 6), 5, nil},
		"the last number of a partition":      {"native", spanning(99), 99, nil},
		"an event without its high mark":      {"native", spanning(100), 100, nil},
		"an event after a hole, with a JVM":   {"shared", spanning(5, 4), 5, []int64{4}},
		"a high mark that leads to no events": {"native", func() *planted { p := spanning(98); p.highs = []int64{100}; return p }(), 98, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := setup(t, kinds[c.kind])
			putAll(t, s.table, c.planted.attributes("a", int64(s.journal.SequenceShards())))
			w, err := s.journal.Recover(t.Context(), "a", latest, func(dynajournal.Event) error {
				return errors.New("the handler was called")
			})
			if err != nil {
				t.Fatal(err)
			}
			if last, err := w.Last(t.Context()); err != nil || last != c.last {
				t.Errorf("Last = %d, %v; want %d", last, err, c.last)
			}
			listing, err := s.journal.List(t.Context(), "a")
			if err != nil {
				t.Fatal(err)
			}
			for _, seq := range c.sealed {
				if !slices.Contains(listing.Seals, seq) {
					t.Errorf("%d is not sealed", seq)
				}
			}
			wantNext(t, w, max(slices.Max(append(c.planted.numbers(), 0)), c.planted.low.seq-1)+1)
			if _, err := w.AppendAt(t.Context(), c.last, "next"); err != nil {
				t.Error(err)
			}
			wantNext(t, recovered(t, s.journal, "a"), max(slices.Max(append(c.planted.numbers(), 0)), c.planted.low.seq-1)+2)
		})
	}
}

// If two such writers save the same version, only one of them writes.
func TestWritersOfTheLatestEventAreFenced(t *testing.T) {
	t.Parallel()
	for _, n := range []int64{1, 99, 100} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			s := setup(t, dynajournal.TableOptions{})
			written(t, s.journal, "a", int(n))
			writers := make([]*dynajournal.Writer, 2)
			for i := range writers {
				var err error
				if writers[i], err = s.journal.Recover(t.Context(), "a", latest, nil); err != nil {
					t.Fatal(err)
				}
			}
			_, first := writers[0].AppendAt(t.Context(), n, "one")
			_, second := writers[1].AppendAt(t.Context(), n, "two")
			if first != nil || !errors.Is(second, dynajournal.ErrWriterConflict) {
				t.Errorf("AppendAt: %v and %v, want success and a conflict", first, second)
			}
		})
	}
}
