package projection_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/internal/testsize"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/projection/tags"
)

// Two processes add to one lane in turn: neither knows the entries that the other has added.
func TestTwoProcessesAddToALane(t *testing.T) {
	t.Parallel()
	b := tagging(t, 1)
	config := fast()
	one, _ := b.index(b.Journal(), config, projection.OnlyIDs("a"))
	config.Name = "other"
	two, _ := b.index(b.Journal(), config, projection.OnlyIDs("b"))
	var all []string
	for i := range 4 {
		b.write("a", withTags("x", "red"))
		one.Trigger("a")
		b.await("group/tags", "a", int64(i+1))
		b.write("b", withTags("x", "red"))
		two.Trigger("b")
		b.await("other/tags", "b", int64(i+1))
		all = append(all, fmt.Sprint("a ", i+1), fmt.Sprint("b ", i+1))
	}
	found, _ := collect(t, b.openTagIndex(b.journal, tagsTable).CurrentEventsByTag(t.Context(), "red", tags.Offset{}))
	want(t, "red", found, all...)
}

// A process is killed when it has added entries, and before it has stored the offset. The next one
// handles the events again.
func TestEntriesOfAKilledProcessAreNotRepeated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := tagging(t, 1)
		b.write("a", withTags("x", "red"), withTags("y", "red"), "z", withTags("u", "red"))
		gate := b.gate("")
		var added atomic.Int64
		j := b.Journal(gate.install, func(c *dynajournal.Config) {
			c.Retries = -1
			c.Hooks = []dynajournal.Hook{{OnRequest: func(_ context.Context, r dynajournal.Request) {
				if r.Operation == "PutItem" && r.Table == tagsTable && added.Add(1) == 3 {
					gate.dead.Store(true)
				}
			}}}
		})
		_, stop := b.index(j, fast())
		until(t, "the process dies", gate.dead.Load)
		stop()
		if n := len(b.tagItems(tagsTable)); n != 3 {
			t.Fatalf("it has added %d entries", n)
		}
		b.write("a", withTags("v", "red"))
		config := fast()
		config.ClaimTimeout = 100 * time.Millisecond
		b.index(b.Journal(), config)
		b.await("group/tags", "a", 5)
		if n := len(b.tagItems(tagsTable)); n != 4 {
			t.Errorf("there are %d entries", n)
		}
		want(t, "red", b.byTag("red"), "a 1", "a 2", "a 4", "a 5")
	})
}

// The response of a put is lost, and the put is sent again: it finds its number taken by itself.
func TestLostResponseOfAnEntryAddsItOnce(t *testing.T) {
	t.Parallel()
	b := tagging(t, 1)
	b.write("a", withTags("x", "red"), withTags("y", "red"))
	remove, err := b.Engine.Inject(embedded.Fault{
		Effect: embedded.EffectInternalError, Applied: true, Operation: "PutItem", Table: tagsTable, Nth: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer remove()
	b.index(b.journal, fast())
	b.await("group/tags", "a", 2)
	if n := len(b.tagItems(tagsTable)); n != 2 {
		t.Errorf("there are %d entries", n)
	}
	want(t, "red", b.byTag("red"), "a 1", "a 2")
}

// heard has the events that a live reader has returned.
type heard struct {
	mu  sync.Mutex
	all []string
	of  map[string][]int64
}

func (h *heard) listen(ctx context.Context, index *tags.Index, from tags.Offset) (over chan error) {
	over = make(chan error, 1)
	go func() {
		poll := dynajournal.Poll{Shortest: 10 * time.Millisecond, Longest: time.Second}
		for e, err := range index.EventsByTag(ctx, "red", from, poll) {
			if err != nil {
				over <- err
				return
			}
			h.mu.Lock()
			h.all = append(h.all, fmt.Sprint(e.PersistenceID, " ", e.SequenceNumber))
			h.of[e.PersistenceID] = append(h.of[e.PersistenceID], e.SequenceNumber)
			h.mu.Unlock()
		}
		over <- nil
	}()
	return over
}

// Processes add to an index, are killed and start again, while writers continue and responses are
// lost. A reader reads from the start, and misses nothing.
func TestReaderMissesNothingOfProcessesThatAreKilled(t *testing.T) {
	testsize.NeedsLong(t, "it kills processes many times")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const ids, rounds = 6, 6
		b := tagging(t, 2)
		remove, err := b.Engine.Inject(embedded.Fault{
			Effect: embedded.EffectInternalError, Applied: true, Table: tagsTable, Probability: 0.05,
		})
		if err != nil {
			t.Fatal(err)
		}
		h := &heard{of: map[string][]int64{}}
		ctx, cancel := context.WithCancel(t.Context())
		over := h.listen(ctx, b.openTagIndex(b.Journal(), tagsTable), tags.Offset{})
		config := fast()
		config.ClaimTimeout = 200 * time.Millisecond
		config.Source = projection.Sweep(projection.SweepOptions{Every: 200 * time.Millisecond, PerSecond: -1})
		for round := range rounds {
			var ends []func()
			for worker := range 2 {
				gate := b.gate("")
				gate.killAfter("UpdateItem", 3+(round*7+worker*5)%20)
				j := b.Journal(gate.install, func(c *dynajournal.Config) { c.Retries = 2 })
				g := group(t, j, config, b.openTagIndex(j, tagsTable).Projection("tags"))
				ends = append(ends, start(t, g))
			}
			for id := range ids {
				b.write(fmt.Sprint("id", id), withTags("x", "red"), "y", withTags("z", "red", "blue"))
			}
			time.Sleep(time.Second)
			for _, end := range ends {
				end()
			}
		}
		remove()
		b.index(b.Journal(), config)
		for id := range ids {
			b.await("group/tags", fmt.Sprint("id", id), int64(3*rounds))
		}
		time.Sleep(5 * time.Second) // longer than a pause of the reader
		cancel()
		if err := <-over; err == nil {
			t.Error("the reader ends without an error")
		}
		var numbers []int64
		for n := int64(1); n <= int64(3*rounds); n++ {
			if n%3 != 2 {
				numbers = append(numbers, n)
			}
		}
		for id := range ids {
			pid := fmt.Sprint("id", id)
			if !slices.Equal(h.of[pid], numbers) {
				t.Errorf("%s: %v", pid, h.of[pid])
			}
		}
		if found := b.byTag("blue"); len(found) != ids*rounds {
			t.Errorf("blue: %d events", len(found))
		}
	})
}
