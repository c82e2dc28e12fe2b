package systemtest

import (
	"testing"

	"github.com/dynajournal/dynajournal"
)

// A live query that ends within an atomic write returns the members up to its end as soon as the
// write is complete, whichever members were stored last.
func TestLiveQueryThatEndsWithinAnAtomicWrite(t *testing.T) {
	t.Parallel()
	within, over := modelBatch{2, 5, modelWriters[0]}, modelBatch{98, 103, modelWriters[0]}
	for name, c := range map[string]struct {
		batch           modelBatch
		to, first, last int64 // the end of the query, and the members that are stored late
		before, then    string
	}{
		"the member before":               {within, 3, 2, 2, "1", "1-3"},
		"the last number wanted":          {within, 3, 3, 3, "1", "1-3"},
		"the member after":                {within, 3, 4, 4, "1", "1-3"},
		"the members after":               {within, 3, 4, 5, "1", "1-3"},
		"the last member":                 {within, 3, 5, 5, "1", "1-3"},
		"all members":                     {within, 3, 2, 5, "1", "1-3"},
		"a member in the next partition":  {over, 99, 101, 101, "1-97", "1-99"},
		"the members in the next":         {over, 99, 100, 103, "1-97", "1-99"},
		"the member before the partition": {over, 98, 99, 99, "1-97", "1-98"},
		"the last one in the next":        {over, 98, 103, 103, "1-97", "1-98"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inABubble(t, func(t *testing.T, j *dynajournal.Journal, s *planting, _ *pollsHook) {
				s.events(1, c.batch.start-1)
				s.members(c.batch.start, c.first-1, c.batch)
				s.members(c.last+1, c.batch.last, c.batch)
				if c.batch.last >= modelBlock {
					s.highMark(modelBlock)
				}
				f := followRange(t, j, "a", 0, c.to)
				if got := f.after(1); got != c.before {
					t.Errorf("before, it has given %q, want %q", got, c.before)
				}
				s.members(c.first, c.last, c.batch)
				if got := f.after(5); got != c.then {
					t.Errorf("it has given %q, want %q", got, c.then)
				}
			})
		})
	}
}
