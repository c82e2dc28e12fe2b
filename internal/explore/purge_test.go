package explore_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/dynajournal/dynajournal"
)

const afterExpiry = fenceWindow + time.Minute

func purge(w *world, j *dynajournal.Journal) {
	w.Helper()
	if _, err := w.recovered(j).Purge(w.Context(), dynajournal.PurgeOptions{}); err != nil {
		w.Fatal(err)
	}
}

// A writer that was there before the purge meets free numbers above the purged ones. What it is acknowledged must stay,
// also after the marks have expired.
func TestEventOfWriterOlderThanPurgeOutlivesTheMarks(t *testing.T) {
	inWorld(t, func(w *world) {
		stale, purger := w.journal("stale"), w.journal("purger")
		r := w.recovered(stale)
		w.fill(r, 250)
		purge(w, purger)
		if appendTo(w.Context(), r, "251") != nil {
			return // fenced
		}
		w.pass(afterExpiry)
		if again := w.recovered(purger); len(again.seen) != 1 {
			next, _ := again.NextSequenceNumber(w.Context())
			w.Errorf("the acknowledged event 251 is lost: recovery sees %q and goes on at %d", again.seen, next)
		}
	})
}

func TestEventOfWriterOlderThanPurgeIsListed(t *testing.T) {
	inWorld(t, func(w *world) {
		stale, purger := w.journal("stale"), w.journal("purger")
		r := w.recovered(stale)
		w.append(r, "1")
		purge(w, purger)
		if appendTo(w.Context(), r, "2") != nil {
			return // fenced
		}
		w.wantListed(purger, true)
	})
}

// A recovery that began before a purge and ends after it reads the low mark again; that it expires must not be missed.
func TestRecoveryAcrossPurgeRenewsTheMarks(t *testing.T) {
	inWorld(t, func(w *world) {
		reader, purger := w.journal("reader"), w.journal("purger")
		w.fill(w.recovered(purger), 250)
		w.net.Hold("reader")
		wait := w.recovering(reader, dynajournal.RecoverOptions{})
		marks := w.await("reader", "BatchGetItem")
		w.net.Deliver(marks)
		synctest.Wait()
		purge(w, purger)
		w.net.Free("reader")
		r, err := wait()
		if err != nil {
			w.Fatal(err)
		}
		if appendTo(w.Context(), r, "251") != nil {
			return // fenced
		}
		w.pass(afterExpiry)
		if again := w.recovered(purger); len(again.seen) != 1 {
			next, _ := again.NextSequenceNumber(w.Context())
			w.Errorf("the acknowledged event 251 is lost: recovery sees %q and goes on at %d", again.seen, next)
		}
	})
}

// A put of a purge's low mark is under way when the id is recovered: it must not take the mark of a live entity, which keeps
// the id listed. There are three: the one that hides the events, the one that says how far removal has come, the last one.
func TestLatePutOfPurgeDoesNotTakeTheMarkOfTheNextLife(t *testing.T) {
	for n := range 3 {
		inWorld(t, func(w *world) {
			dead, live := w.journal("dead"), w.journal("live")
			w.append(w.recovered(live), "1")
			r := w.recovered(dead)
			w.net.Hold("dead")
			wait := do(func() (dynajournal.PurgeResult, error) { return r.Purge(w.Context(), dynajournal.PurgeOptions{}) })
			expiring := w.deliverUntil("dead", "PutItem expiring mark")
			for range n {
				w.net.Deliver(expiring)
				expiring = w.deliverUntil("dead", "PutItem expiring mark")
			}
			w.net.Crash("dead")
			if _, err := wait(); err == nil {
				w.Fatal("the purge of a dead process succeeded")
			}
			next := w.recovered(live)
			w.append(next, "2")
			w.net.Deliver(expiring)
			w.wantListed(live, true)
			w.pass(afterExpiry)
			w.wantListed(live, true)
			w.wantStands(live, 1, "2")
		})
	}
}

// Time to live removes expired items in any order: the low mark may go before the tombstones. An event that is written then
// must be listed.
func TestEventWrittenWhileTombstonesOutliveTheLowMarkIsListed(t *testing.T) {
	inWorld(t, func(w *world) {
		j := w.journal("one")
		w.append(w.recovered(j), "1", "2")
		purge(w, j)
		time.Sleep(afterExpiry)
		w.remove("journal-SL-"+pid+"-0", 0)
		w.append(w.recovered(j), "next")
		w.wantListed(j, true)
	})
}

// After the fence window a purged id can have grown anew to the very number at which a writer was paused. It was another
// life: the writer must not go on.
func TestPausedWriterDoesNotGoOnInAnotherLife(t *testing.T) {
	inWorld(t, func(w *world) {
		stale, live := w.journal("stale"), w.journal("live")
		r := w.recovered(stale)
		w.append(r, "old 1")
		w.append(r, "old 2")
		purge(w, live)
		w.pass(afterExpiry)
		again := w.recovered(live)
		w.append(again, "new 1")
		w.append(again, "new 2")
		w.wantConflict(appendTo(w.Context(), r, "decided on old 1, old 2"))
	})
}

// A purge that leaves nothing fences nobody, but a writer that others have overtaken must not erase what they wrote.
func TestPurgeNowOfOvertakenWriterErasesNothing(t *testing.T) {
	inWorld(t, func(w *world) {
		stale, live := w.journal("stale"), w.journal("live")
		r := w.recovered(stale)
		w.append(r, "1")
		w.append(w.recovered(live), "2")
		_, err := r.Purge(w.Context(), dynajournal.PurgeOptions{Now: true})
		w.wantConflict(err)
		w.wantStands(live, 1, "1", "2")
	})
}

// A purge dies before it has removed the events, and nobody comes back to the id until after the fence window. What readers
// saw deleted stays so: the low mark must not vanish before the events.
func TestEventsOfAPurgeThatDiedStayPurged(t *testing.T) {
	inWorld(t, func(w *world) {
		dead, live := w.journal("dead"), w.journal("live")
		w.append(w.recovered(live), "1", "2", "3")
		r := w.recovered(dead)
		w.net.Hold("dead")
		wait := do(func() (dynajournal.PurgeResult, error) { return r.Purge(w.Context(), dynajournal.PurgeOptions{}) })
		w.deliverUntil("dead", "BatchWriteItem tombstone")
		w.net.Crash("dead")
		if _, err := wait(); err == nil {
			w.Fatal("the purge of a dead process succeeded")
		}
		w.net.Forget()
		w.wantStands(live, 1)
		w.pass(afterExpiry)
		w.wantStands(live, 1)
		again := w.recovered(live)
		if len(again.seen) > 0 {
			w.Errorf("a recovery is given %q, which was purged", again.seen)
		}
		purge(w, live)
		w.pass(afterExpiry)
		if l, err := live.List(w.Context(), pid); err != nil || len(l.LowMarks)+len(l.SequenceNumbers)+len(l.Tombstones) > 0 {
			w.Errorf("after another purge %+v is left (%v)", l, err)
		}
	})
}

// A snapshot that is newer than the journal hides events without removing them. The purge removes those, too: nothing would
// hide them when the low mark has vanished.
func TestPurgeRemovesWhatASnapshotHid(t *testing.T) {
	inWorld(t, func(w *world) {
		j := w.journal("one")
		w.append(w.recovered(j), "1", "2", "3")
		after, err := recoverIt(w.Context(), j, dynajournal.RecoverOptions{After: 250})
		if err != nil {
			w.Fatal(err)
		}
		w.append(after, "251")
		purge(w, j)
		w.pass(afterExpiry)
		w.wantStands(j, 1)
	})
}

// A purged id vanishes item by item. A recovery sees the last tombstone, and is going to raise the low mark over it; it
// vanishes before that, and another recovery sees nothing at all. That one begins at 1: what it is acknowledged must not be
// hidden by the low mark.
func TestTombstoneThatVanishesBeforeTheLowMarkIsRaised(t *testing.T) {
	for _, before := range []bool{true, false} {
		inWorld(t, func(w *world) {
			slow, other := w.journal("slow"), w.journal("other")
			w.append(w.recovered(other), "1")
			purge(w, other)
			time.Sleep(afterExpiry)
			w.remove("journal-P-"+pid+"-0", 1)
			w.remove("journal-SL-"+pid+"-0", 0)
			w.net.Hold("slow")
			wait := w.recovering(slow, dynajournal.RecoverOptions{})
			w.deliverUntil("slow", "PutItem")
			w.remove("journal-P-"+pid+"-0", 2)
			r := w.recovered(other)
			if before {
				w.append(r, "acknowledged")
			}
			w.net.Free("slow")
			again, err := wait()
			if err != nil {
				w.Fatal(err)
			}
			if before && len(again.seen) != 1 {
				w.Errorf("the recovery was given %q, before it one event was acknowledged", again.seen)
			}
			if before || appendTo(w.Context(), r, "acknowledged") == nil {
				w.wantStands(other, 1, "acknowledged")
			}
		})
	}
}

// A writer recovers a purged id whose low mark is the last that is left of it, and the mark vanishes before it has been put
// anew. Another recovery sees nothing, and begins at 1: what it is acknowledged must not be hidden by the low mark.
func TestLowMarkThatVanishesBeforeItIsRenewed(t *testing.T) {
	inWorld(t, func(w *world) {
		first, second := w.journal("first"), w.journal("second")
		w.append(w.recovered(first), "1")
		purge(w, first)
		time.Sleep(afterExpiry)
		w.remove("journal-P-"+pid+"-0", 1)
		w.remove("journal-P-"+pid+"-0", 2)
		slow := w.recovered(first)
		w.remove("journal-SL-"+pid+"-0", 0)
		r := w.recovered(second)
		if err := appendTo(w.Context(), slow, "3"); err == nil {
			w.Error("the writer went on after numbers that nothing tells of any more")
		} else {
			w.wantConflict(err)
		}
		w.append(r, "acknowledged")
		w.wantStands(second, 1, "acknowledged")
	})
}

// again, and another event is deleted at the same number. That tombstone tells nothing of the
// numbers behind it.
func TestRecoveryHoldsOnlyTheTombstoneThatItHasRead(t *testing.T) {
	inWorld(t, func(w *world) {
		slow, live := w.journal("slow"), w.journal("live")
		w.fill(w.recovered(live), 5)
		purge(w, live)
		time.Sleep(afterExpiry)
		w.remove("journal-SL-"+pid+"-0", 0)
		w.net.Hold("slow")
		wait := w.recovering(slow, dynajournal.RecoverOptions{})
		w.deliverUntil("slow", "PutItem")
		w.pass(0)
		r := w.recovered(live)
		for _, event := range []string{"1", "2", "3"} {
			w.append(r, event)
		}
		if _, err := r.DeleteTo(w.Context(), 1); err != nil {
			w.Fatal(err)
		}
		w.net.Free("slow")
		if _, err := wait(); err != nil {
			w.Fatal(err)
		}
		w.wantStands(live, 1, "2", "3")
	})
}

// within the fence window of that recovery. Only the low mark tells that it is another life.
func TestWriterOfAPurgedIDDoesNotGoOnInTheNextLife(t *testing.T) {
	inWorld(t, func(w *world) {
		stale, live := w.journal("stale"), w.journal("live")
		w.append(w.recovered(live), "old")
		purge(w, live)
		w.pass(fenceWindow - time.Minute)
		r := w.recovered(stale) // it goes on at 3
		w.pass(2 * time.Minute)
		again := w.recovered(live)
		w.append(again, "new 1")
		w.append(again, "new 2")
		w.pass(fenceWindow / 2)
		w.wantConflict(appendTo(w.Context(), r, "stale"))
		w.wantStands(live, 1, "new 1", "new 2")
	})
}

// A writer that others have overtaken must not purge what they wrote.
func TestPurgeOfOvertakenWriterRemovesNothing(t *testing.T) {
	inWorld(t, func(w *world) {
		stale, live := w.journal("stale"), w.journal("live")
		next := w.recovered(live)
		w.append(next, "1")
		r := w.recovered(stale)
		w.append(next, "2")
		_, err := r.Purge(w.Context(), dynajournal.PurgeOptions{})
		w.wantConflict(err)
		w.wantStands(live, 1, "1", "2")
	})
}

// The low mark of a purged persistence id is put anew, and the answer is lost. The second attempt
// finds it done.
func TestRenewalWhoseAnswerWasLostIsDone(t *testing.T) {
	inWorld(t, func(w *world) {
		j := w.journal("writer")
		w.append(w.recovered(j), "1")
		purge(w, j)
		r := w.recovered(j)
		w.net.Hold("writer")
		wait := w.appending(r, "next")
		w.net.LoseAnswer(w.await("writer", "PutItem mark"))
		w.net.Free("writer")
		if err := wait(); err != nil {
			w.Error(err)
		}
		w.wantStands(j, 1, "next")
	})
}
