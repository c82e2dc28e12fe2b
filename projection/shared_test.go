package projection_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/internal/jvm"
	"github.com/dynajournal/dynajournal/projection"
)

// A JVM stores a later event before an earlier one, in another partition.
func TestEventAfterMissingNumberWaits(t *testing.T) {
	t.Parallel()
	s := setupShared(t, embedded.WithStreamShards(3))
	_, all, e := s.both(s.waiting(time.Hour))
	for seq := int64(1); seq <= 98; seq++ {
		s.put("a", seq, "w")
	}
	s.handled("a", 98, all, e, events(1, 98)...)
	s.put("a", 101, "w")
	s.put("a", 100, "w")
	s.waits("group/all", "a")
	s.waits("group/effects", "a")
	s.put("a", 99, "w")
	s.handled("a", 101, all, e, events(1, 101)...)
	if row := s.row("group/all", "a"); row["holes"] != nil || row["passed"] != nil {
		t.Errorf("the row keeps %v, %v", row["holes"], row["passed"])
	}
}

// Members of atomic writes arrive in any order, and one of them is missing before another event.
func TestIncompleteAtomicWriteOfAJVMWaits(t *testing.T) {
	t.Parallel()
	s := setupShared(t)
	g, all, e := s.both(s.waiting(time.Hour))
	s.put("a", 1, "w")
	s.member("a", 4, "w", 2, 4)
	s.member("a", 2, "w", 2, 4)
	s.handled("a", 1, all, e, events(1, 1)...)
	until(t, "nothing is visible after the write", func() bool { return g.Lag()[0].IDs+g.Lag()[1].IDs == 0 })
	s.put("a", 5, "w")
	s.waits("group/all", "a")
	s.waits("group/effects", "a")
	s.member("a", 3, "w", 2, 4)
	s.handled("a", 5, all, e, events(1, 5)...)
}

// A rejected event leaves its number empty forever. An event that is stored there later is
// reported.
func TestMissingNumber_PassedThenLateEvent(t *testing.T) {
	t.Parallel()
	s := setupShared(t)
	g, all, e := s.both(s.waiting(30 * time.Millisecond))
	s.put("a", 1, "w")
	s.handled("a", 1, all, e, "1 e1")
	s.put("a", 3, "w")
	s.handled("a", 3, all, e, "1 e1", "3 e3")
	s.put("a", 2, "w")
	for i, lag := range g.Lag() {
		until(t, "the late event is reported", func() bool { return g.Lag()[i].Late == 1 })
		if lag.Passed != 1 {
			t.Errorf("%s: %d passed", lag.Projection, lag.Passed)
		}
	}
	s.put("a", 4, "w")
	s.handled("a", 4, all, e, "1 e1", "3 e3", "4 e4")
	for _, lag := range g.Lag() {
		if lag.Late != 1 || lag.Passed != 1 {
			t.Errorf("%+v", lag)
		}
	}
}

// The waiting process stops. The next process continues with the time that is stored in the row, if
// the event after the hole is of the same life of the persistence id.
func TestMissingNumber_TimeCountsPerLife(t *testing.T) {
	t.Parallel()
	s := setupShared(t)
	for _, pid := range []string{"same", "other"} {
		s.put(pid, 1, "w")
		s.put(pid, 3, "w")
	}
	config := s.waiting(time.Hour)
	stop := start(t, group(t, s.journal, config, projection.AtLeastOnce("all", &recorder{})))
	for _, pid := range []string{"same", "other"} {
		s.waits("group/all", pid)
	}
	stop()
	s.put("other", 3, "w2") // as if it were purged and used again
	all := &recorder{}
	for _, pid := range []string{"same", "other"} {
		s.aged("group/all", pid, time.Hour)
	}
	start(t, group(t, s.journal, config, projection.AtLeastOnce("all", all)))
	s.await("group/all", "same", 3)
	want(t, "same", all.of("same"), "3 e3")
	until(t, "the other waits", func() bool { return s.afterGap("group/all", "other") == "w2" })
	s.put("other", 2, "w2")
	s.await("group/all", "other", 3)
	want(t, "other", all.of("other"), "2 e2", "3 e3")
}

// After a missing number, more numbers are stored than a JVM can have under way.
func TestMissingNumber_OutsideLiveWindow(t *testing.T) {
	t.Parallel()
	s := setupShared(t)
	s.put("a", 1, "w")
	var writing sync.WaitGroup
	for first := int64(3); first < 3+dynajournal.LiveWindow; first += 250 {
		writing.Go(func() {
			batch := make([]jvm.NewEvent, 250)
			for i := range batch {
				batch[i].Payload = jvm.Payload{Bytes: []byte("x"), Serializer: 20}
			}
			if err := s.plugin.Write(s.Context(), jvm.Write{PersistenceID: "a", First: first, Writer: "w", Events: batch}); err != nil {
				t.Error(err)
			}
		})
	}
	writing.Wait()
	all := &recorder{}
	config := s.waiting(time.Hour)
	config.BatchSize = 1000
	g := group(t, s.journal, config, projection.AtLeastOnce("all", all))
	start(t, g)
	s.await("group/all", "a", 2+dynajournal.LiveWindow)
	if n := len(all.of("a")); n != 1+dynajournal.LiveWindow {
		t.Errorf("%d events", n)
	}
	if lag := g.Lag()[0]; lag.Passed != 1 {
		t.Errorf("%+v", lag)
	}
}

// A JVM overwrites a seal that a writer in Go has left.
func TestOverwrittenItemIsRead(t *testing.T) {
	t.Parallel()
	s := setupShared(t)
	seal := s.key("a", 2)
	seal["idx"], seal["cnt"] = numberAs(1_000_000_000), numberAs(1_000_000_000)
	_, all, e := s.both(s.waiting(time.Hour))
	s.put("a", 1, "w")
	s.item(seal)
	s.handled("a", 1, all, e, "1 e1")
	s.put("a", 2, "w")
	s.handled("a", 2, all, e, events(1, 2)...)
}

// The JVM deletes while the projection reads. The late put of a crashed writer is stored below the
// low mark, and does not count as an event.
func TestLowMarkOfAJVMIsReadLast(t *testing.T) {
	t.Parallel()
	s := setupShared(t)
	for seq := int64(1); seq <= 3; seq++ {
		s.put("a", seq, "w")
	}
	gate := s.gate("BETWEEN")
	marked := make(chan struct{})
	var once sync.Once
	hook := dynajournal.Hook{OnRequest: func(_ context.Context, r dynajournal.Request) {
		if r.Operation == "BatchGetItem" && r.Table == sharedTable {
			once.Do(func() { close(marked) })
		}
	}}
	all := &recorder{}
	start(t, group(t, s.Journal(gate.install, func(c *dynajournal.Config) { c.Hooks = []dynajournal.Hook{hook} }), fast(), projection.AtLeastOnce("all", all)))
	comes(t, "the request", gate.arrived)
	comes(t, "the reading of the marks", marked)
	if err := s.plugin.Delete(t.Context(), "a", 3); err != nil {
		t.Fatal(err)
	}
	s.put("a", 1, "w")
	gate.release()
	s.await("group/all", "a", 3)
	want(t, "all", all.of("a"), "gap 1-3")
}

// Both sides delete, before and after the events were handled.
func TestDeletionInASharedJournal(t *testing.T) {
	t.Parallel()
	s := setupShared(t)
	for seq := int64(1); seq <= 5; seq++ {
		s.put("jvm", seq, "w")
	}
	if err := s.plugin.Delete(t.Context(), "jvm", 2); err != nil {
		t.Fatal(err)
	}
	w := s.write("go", "e1", "e2", "e3", "e4", "e5")
	if _, err := w.DeleteTo(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	_, all, e := s.both(s.waiting(time.Hour))
	for _, pid := range []string{"jvm", "go"} {
		s.handled(pid, 5, all, e, append([]string{"gap 1-2"}, events(3, 5)...)...)
	}
	if err := s.plugin.Delete(t.Context(), "jvm", 5); err != nil {
		t.Fatal(err)
	}
	if _, err := w.DeleteTo(t.Context(), 5); err != nil {
		t.Fatal(err)
	}
	s.put("jvm", 6, "w")
	if _, err := w.Append(t.Context(), "e6"); err != nil {
		t.Fatal(err)
	}
	for _, pid := range []string{"jvm", "go"} {
		s.handled(pid, 6, all, e, append([]string{"gap 1-2"}, events(3, 6)...)...)
	}
}

// A JVM purges a persistence id and uses it again: the new events start at 1.
func TestPurgeByAJVM(t *testing.T) {
	t.Parallel()
	s := setupShared(t)
	_, all, e := s.both(s.waiting(20 * time.Millisecond))
	s.put("a", 1, "w")
	s.put("a", 3, "w")
	s.handled("a", 3, all, e, "1 e1", "3 e3")
	if err := s.plugin.Purge(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	s.put("a", 1, "w2")
	s.put("a", 2, "w2") // a number that was passed in the life before
	calls := []string{"1 e1", "3 e3", "purge at 3", "1 e1", "2 e2"}
	until(t, "at least once", func() bool { return len(all.of("a")) >= len(calls) })
	until(t, "transactional", func() bool { return len(e.of("a")) >= len(calls) })
	want(t, "at least once", all.of("a"), calls...)
	want(t, "transactional", e.of("a"), calls...)
}

// The requests of a JVM are carried out in any order, with atomic writes and over partitions, while
// both kinds of projections run.
func TestPutsOfAJVMInAnyOrder(t *testing.T) {
	t.Parallel()
	const last, window = 130, 12
	s := setupShared(t, embedded.WithStreamShards(4))
	_, all, e := s.both(s.waiting(time.Hour))
	type put struct{ seq, first, last int64 }
	var writing sync.WaitGroup
	pids := []string{"a", "b-1", "c|2"}
	for i, pid := range pids {
		writing.Go(func() {
			random := rand.New(rand.NewPCG(uint64(i), 21))
			var puts []put
			for first := int64(1); first <= last; {
				end := min(first+max(random.Int64N(8)-4, 0), last)
				for seq := first; seq <= end; seq++ {
					puts = append(puts, put{seq, first, end})
				}
				first = end + 1
			}
			for len(puts) > 0 { // one of the first few that were not stored yet
				n := random.IntN(min(window, len(puts)))
				s.member(pid, puts[n].seq, "w", puts[n].first, puts[n].last)
				puts = slices.Delete(puts, n, n+1)
			}
		})
	}
	writing.Wait()
	for _, pid := range pids {
		s.handled(pid, last, all, e, events(1, last)...)
	}
}

// One persistence id waits for a missing number. The shard is read further for the others.
func TestMissingNumber_OtherIDsContinue(t *testing.T) {
	t.Parallel()
	s := setupShared(t)
	_, all, e := s.both(s.waiting(time.Hour))
	s.put("a", 1, "w")
	s.put("a", 3, "w")
	s.waits("group/all", "a")
	s.waits("group/effects", "a")
	const pages = 20
	for seq := int64(1); seq <= pages; seq++ { // each in a page of records of its own
		s.put("b", seq, "w")
		s.await("group/all", "b", seq)
		s.await("group/effects", "b", seq)
	}
	s.put("a", 2, "w")
	s.handled("a", 3, all, e, events(1, 3)...)
	s.handled("b", pages, all, e, events(1, pages)...)
}
