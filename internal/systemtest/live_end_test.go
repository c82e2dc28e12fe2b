package systemtest

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dynajournal/dynajournal"
)

// A live query ends after its last number, even if no event is stored there and none can come.
func TestLiveQueryEndsAfterANumberWithoutAnEvent(t *testing.T) {
	t.Parallel()
	batch := modelBatch{2, 5, modelWriters[0]}
	sealed := func(seq int64) func(*planted) { return func(p *planted) { p.items[seq] = modelItem{} } }
	for name, c := range map[string]struct {
		prepare func(s *planting)
		to      int64
		want    string
	}{
		"a seal":                        {func(s *planting) { s.events(1, 1); s.put(sealed(2)); s.events(3, 3) }, 2, "1"},
		"a seal at the end":             {func(s *planting) { s.events(1, 1); s.put(sealed(2)) }, 2, "1"},
		"a seal within an atomic write": {func(s *planting) { s.events(1, 1); s.members(2, 2, batch); s.put(sealed(3)) }, 3, "1"},
		"numbers that are deleted":      {func(s *planting) { s.put(func(p *planted) { p.lows = []modelLow{{seq: 4}} }); s.events(4, 4) }, 3, ""},
		"all numbers that are deleted":  {func(s *planting) { s.put(func(p *planted) { p.lows = []modelLow{{seq: 4}} }) }, 3, ""},
		"an atomic write with a seal":   {func(s *planting) { s.events(1, 1); s.members(2, 2, batch); s.put(sealed(3)); s.members(4, 5, batch) }, 5, "1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inABubble(t, func(t *testing.T, j *dynajournal.Journal, s *planting, _ *pollsHook) {
				c.prepare(s)
				var got []int64
				ended := false
				var query sync.WaitGroup
				ctx := t.Context()
				query.Go(func() {
					for e, err := range j.EventsByPersistenceID(ctx, "a", 0, c.to, dynajournal.Poll{}) {
						if err != nil {
							return
						}
						got = append(got, e.SequenceNumber)
					}
					ended = true
				})
				time.Sleep(time.Minute)
				synctest.Wait()
				if !ended {
					t.Errorf("it goes on")
				}
				_ = j.Close()
				query.Wait()
				if text := numbersText(got); text != c.want {
					t.Errorf("it gave %q, want %q", text, c.want)
				}
			})
		})
	}
}

// A live query of a shared journal also ends if it has waited for a number in vain. A number that
// arrives is passed to the hook, even if the query ends with it.
func TestLiveQueryEndsAfterANumberThatItHasWaitedFor(t *testing.T) {
	t.Parallel()
	batch := modelBatch{2, 5, modelWriters[0]}
	for name, c := range map[string]struct {
		to     int64
		before func(a *awaiting)
		late   func(a *awaiting) // nil if nothing comes
		want   string
		hole   string
	}{
		"an event that never comes": {2, func(a *awaiting) { a.events(1, 1); a.events(3, 3) }, nil, "1", "2-2 passed after 1m0s"},
		"an event that comes":       {2, func(a *awaiting) { a.events(1, 1); a.events(3, 3) }, func(a *awaiting) { a.events(2, 2) }, "1-2", "2-2 came after 3"},
		"a member that never comes": {3, func(a *awaiting) { a.events(1, 1); a.members(2, 3, batch); a.members(5, 5, batch) }, nil, "1", "4-4 passed after 1m0s"},
		"a later member that comes": {3, func(a *awaiting) { a.events(1, 1); a.members(2, 3, batch); a.members(5, 5, batch) }, func(a *awaiting) { a.members(4, 4, batch) }, "1-3", "4-4 came after 3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inASharedBubble(t, func(t *testing.T, a *awaiting) {
				c.before(a)
				var got []int64
				ended := false
				var query sync.WaitGroup
				ctx := t.Context()
				query.Go(func() {
					for e, err := range a.journal.EventsByPersistenceID(ctx, "a", 0, c.to, dynajournal.Poll{}) {
						if err != nil {
							return
						}
						got = append(got, e.SequenceNumber)
					}
					ended = true
				})
				time.Sleep(30*time.Second + 1)
				if c.late != nil {
					c.late(a)
				}
				time.Sleep(time.Minute)
				synctest.Wait()
				if !ended {
					t.Errorf("it goes on")
				}
				_ = a.journal.Close()
				query.Wait()
				if text, hole := numbersText(got), a.hook.seen(); text != c.want || !strings.HasPrefix(hole, c.hole) {
					t.Errorf("it gave %q, want %q, and the hook was told %q", text, c.want, hole)
				}
			})
		})
	}
}
