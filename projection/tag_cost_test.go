package projection_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/projection/tags"
)

// docs/projections.md states these costs of an index of tags.
func TestCostsOfAnIndexOfTags(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := tagging(t, 4)
		var spent costs
		g, _ := b.index(b.Journal(spent.install), fast())
		w := b.write("a", withTags("x", "red", "blue"))
		measure := func(what string, want dynajournal.Cost, events ...any) {
			t.Helper()
			if len(events) > 0 {
				if _, err := w.Append(t.Context(), events...); err != nil {
					t.Fatal(err)
				}
			}
			spent.ofTrigger(t, g, what, want)
		}
		g.Trigger("a")
		b.await("group/tags", "a", 1)
		synctest.Wait() // for the end of the sweep
		spent.take()
		// A read, a claim and an offset are 5 requests, 4 read units and 2 write units, as for any
		// projection.
		measure("a tag", dynajournal.Cost{Requests: 6, ReadUnits: 4, WriteUnits: 3}, withTags("y", "red"))
		measure("two tags", dynajournal.Cost{Requests: 7, ReadUnits: 4, WriteUnits: 4}, withTags("y", "red", "blue"))
		measure("a new tag", dynajournal.Cost{Requests: 7, ReadUnits: 5, WriteUnits: 3}, withTags("y", "green"))
		measure("no tag", dynajournal.Cost{Requests: 4, ReadUnits: 4, WriteUnits: 1}, "z")
		measure("no event", dynajournal.Cost{Requests: 3, ReadUnits: 4})
		many := make([]any, 99)
		for i := range many {
			many[i] = withTags("x", "red")
		}
		measure("99 events", dynajournal.Cost{Requests: 105, ReadUnits: 8, WriteUnits: 101}, many...)

		var read costs
		index := b.openTagIndex(b.Journal(read.install), tagsTable)
		read.take()
		found, _ := collect(t, index.CurrentEventsByTag(t.Context(), "red", tags.Offset{}))
		want := dynajournal.Cost{Requests: 7, ReadUnits: 108} // 102 events, and entries in 4 lanes
		if got := read.take(); len(found) != 102 || got != want {
			t.Errorf("%d events: %+v, want %+v", len(found), got, want)
		}
		if _, err := index.Remove(t.Context(), "none"); err != nil {
			t.Fatal(err)
		}
		if got, want := read.take(), (dynajournal.Cost{Requests: 1, ReadUnits: 2}); got != want {
			t.Errorf("Remove: %+v, want %+v", got, want)
		}
	})
}

// While nothing is indexed, a poll of a live loop costs half a read unit for each lane.
func TestCostsOfAnIdleLiveLoop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := tagging(t, 4)
		var spent costs
		index := b.openTagIndex(b.Journal(spent.install), tagsTable)
		ctx, cancel := context.WithCancel(t.Context())
		over := make(chan error, 1)
		go func() { over <- failure(index.EventsByTag(ctx, "red", tags.Offset{}, dynajournal.Poll{})) }()
		time.Sleep(time.Minute)
		spent.take()
		time.Sleep(time.Minute)
		if got, want := spent.take(), (dynajournal.Cost{Requests: 80, ReadUnits: 40}); got != want {
			t.Errorf("a minute: %+v, want %+v", got, want)
		}
		cancel()
		comes(t, "the end", over)
	})
}

// Two processes add to a lane in turn. Each reads the other's entry, and only the first put is in
// vain.
func TestCostsOfTwoProcessesAtALane(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := tagging(t, 1)
		var spent costs
		config := fast()
		one, _ := b.index(b.Journal(spent.install), config, projection.OnlyIDs("a"))
		config.Name = "other"
		two, _ := b.index(b.Journal(), config, projection.OnlyIDs("b"))
		for i := range 4 {
			synctest.Wait() // for the end of the sweep
			spent.take()
			b.write("a", withTags("x", "red"))
			one.Trigger("a")
			b.await("group/tags", "a", int64(i+1))
			until(t, "it is idle", func() bool { return one.Lag()[0].IDs == 0 })
			got := spent.take()
			want := dynajournal.Cost{Requests: 7, ReadUnits: 5, WriteUnits: 3}
			if i == 1 {
				want.Requests++ // a put in vain: DynamoDB does not return what it has cost
			}
			if i > 0 && got != want {
				t.Errorf("event %d: %+v, want %+v", i, got, want)
			}
			b.write("b", withTags("x", "red"))
			two.Trigger("b")
			b.await("other/tags", "b", int64(i+1))
		}
		want(t, "red", b.byTag("red"), "a 1", "a 2", "a 3", "a 4", "b 1", "b 2", "b 3", "b 4")
	})
}
