package explore_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// beforeExpiry is just before what a purge has left expires. afterExpiry is when all of it has
// expired, the low mark last.
const (
	beforeExpiry = fenceWindow - time.Second
	afterExpiry  = fenceWindow + fenceWindow/5 + time.Minute
)

func purge(w *world, j *dynajournal.Journal) {
	w.Helper()
	if _, err := w.recovered(j).Purge(w.Context(), dynajournal.PurgeOptions{}); err != nil {
		w.Fatal(err)
	}
}

// wantNothingLeft checks that nothing of a purged persistence id is stored.
func (w *world) wantNothingLeft(j *dynajournal.Journal) {
	w.Helper()
	l, err := j.List(w.Context(), pid)
	if err != nil || len(l.LowMarks)+len(l.HighMarks)+len(l.SequenceNumbers)+len(l.Tombstones)+len(l.Seals) > 0 {
		w.Errorf("after a purge %+v is left (%v)", l, err)
	}
}

// A writer from before the purge finds free numbers above the purged ones. Its acknowledged events
// must stay, also after the marks have expired.
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

// A writer that has found nothing purges after another one has written: it must not report that the
// events are gone.
func TestPurgeByWriterOlderThanTheFirstEvent(t *testing.T) {
	inWorld(t, func(w *world) {
		stale, writer := w.journal("stale"), w.journal("writer")
		r := w.recovered(stale)
		w.append(w.recovered(writer), "1")
		if _, err := r.Purge(w.Context(), dynajournal.PurgeOptions{}); !errors.Is(err, dynajournal.ErrWriterConflict) {
			w.Errorf("the purge returned %v, and left %q", err, w.visible(writer, 1))
		}
		if !errors.Is(r.Err(), dynajournal.ErrWriterConflict) {
			w.Errorf("the writer goes on: %v", r.Err())
		}
		purge(w, stale)
		if left := w.visible(writer, 1); len(left) > 0 {
			w.Errorf("%q are left after a purge", left)
		}
	})
}

// A recovery that began before a purge and ends after it reads the low mark again. It must notice
// that the mark expires.
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

// A put of a purge's low mark is delayed until the id is in use again: it must not replace the mark
// of a live entity, which keeps the id listed. There are three such puts: the one that hides the
// events, the one that records the progress of the removal, and the last one.
func TestLatePutOfPurgeKeepsTheMarkOfAnIDThatIsUsedAgain(t *testing.T) {
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
			w.wantVisible(live, 1, "2")
		})
	}
}

// Time to live removes expired items in any order: the low mark may go before the tombstones. An
// event that is written then must be listed.
func TestEventWrittenWhileTombstonesOutliveTheLowMarkIsListed(t *testing.T) {
	inWorld(t, func(w *world) {
		j := w.journal("one")
		w.append(w.recovered(j), "1", "2")
		purge(w, j)
		time.Sleep(afterExpiry) // in the bubble; the items that expire are removed below
		w.remove("journal-SL-"+pid+"-0", 0)
		w.append(w.recovered(j), "next")
		w.wantListed(j, true)
	})
}

// After the fence window a purged id can have grown again to the very number at which a writer was
// paused. That is another life: the writer must end.
func TestPausedWriterEndsIfItsIDWasPurgedAndUsedAgain(t *testing.T) {
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

// A purge that leaves nothing fences no writer, but a writer that was overtaken must not erase the
// events of the others.
func TestPurgeNowOfOvertakenWriterErasesNothing(t *testing.T) {
	inWorld(t, func(w *world) {
		stale, live := w.journal("stale"), w.journal("live")
		r := w.recovered(stale)
		w.append(r, "1")
		w.append(w.recovered(live), "2")
		_, err := r.Purge(w.Context(), dynajournal.PurgeOptions{Now: true})
		w.wantConflict(err)
		w.wantVisible(live, 1, "1", "2")
	})
}

// A purge dies before it has removed the events, and the id is not used until after the fence
// window. The events must stay deleted: the low mark must not vanish before them.
func TestEventsOfAnInterruptedPurgeStayPurged(t *testing.T) {
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
		w.wantVisible(live, 1)
		w.pass(afterExpiry)
		w.wantVisible(live, 1)
		again := w.recovered(live)
		if len(again.seen) > 0 {
			w.Errorf("a recovery is given %q, which was purged", again.seen)
		}
		purge(w, live)
		w.pass(afterExpiry)
		w.wantNothingLeft(live)
	})
}

// A snapshot that is newer than the journal hides events without removing them. The purge removes
// those, too: nothing would hide them after the low mark has vanished.
func TestPurgeRemovesWhatASnapshotHid(t *testing.T) {
	inWorld(t, func(w *world) {
		j := w.journal("one")
		w.append(w.recovered(j), "1", "2", "3")
		after, err := recoverIt(w.Context(), j, dynajournal.RecoverOptions{Snapshot: 250, JournalLost: true})
		if err != nil {
			w.Fatal(err)
		}
		w.append(after, "251")
		purge(w, j)
		w.pass(afterExpiry)
		w.wantVisible(j, 1)
	})
}

// A snapshot that is newer than the journal leaves a fence and seals below the low mark. They do
// not expire by themselves: the purge removes those, too, and the persistence id begins at 1 again.
func TestPurgeRemovesTheFenceOfANewerSnapshot(t *testing.T) {
	inWorld(t, func(w *world) {
		j := w.journal("one")
		w.append(w.recovered(j), "1", "2", "3")
		w.remove("journal-P-"+pid+"-0", 2)
		w.recovered(j) // seals 2
		after, err := recoverIt(w.Context(), j, dynajournal.RecoverOptions{Snapshot: 250, JournalLost: true})
		if err != nil {
			w.Fatal(err)
		}
		w.append(after, "251")
		if got, err := w.recovered(j).Purge(w.Context(), dynajournal.PurgeOptions{}); err != nil || got.Removed != 3 {
			w.Errorf("the purge has removed %d events (%v), want 3", got.Removed, err)
		}
		w.pass(afterExpiry)
		w.wantNothingLeft(j)
		w.append(w.recovered(j), "again")
		w.wantVisible(j, 1, "again")
		if l, err := j.List(w.Context(), pid); err != nil || !slices.Equal(l.SequenceNumbers, []int64{1}) {
			w.Errorf("the next event has the number %v (%v), want 1", l.SequenceNumbers, err)
		}
	})
}

// A purge by a writer that does not know of a snapshot newer than the journal removes that, too:
// the next recovery would begin with the state that was purged.
func TestPurgeRemovesASnapshotNewerThanTheJournal(t *testing.T) {
	inWorld(t, func(w *world) {
		j := w.journal("one")
		r := w.recovered(j)
		w.append(r, "1", "2", "3")
		newer := dynajournal.SnapshotMetadata{PersistenceID: pid, SequenceNumber: 250}
		if _, err := j.SaveSnapshot(w.Context(), newer, "state"); err != nil {
			w.Fatal(err)
		}
		if got, err := r.Purge(w.Context(), dynajournal.PurgeOptions{}); err != nil || got.Removed != 4 {
			w.Errorf("the purge has removed %d events and snapshots (%v), want 4", got.Removed, err)
		}
		if s, found, err := j.LoadSnapshot(w.Context(), pid, dynajournal.SnapshotCriteria{}); err != nil || found {
			w.Errorf("after the purge there is a snapshot of %d (%v)", s.SequenceNumber, err)
		}
		w.pass(afterExpiry)
		w.wantNothingLeft(j)
	})
}

// Another writer saves a snapshot, and a writer that it has overtaken purges: nothing is removed.
func TestPurgeOfOvertakenWriterKeepsTheSnapshots(t *testing.T) {
	inWorld(t, func(w *world) {
		stale, live := w.journal("stale"), w.journal("live")
		r := w.recovered(stale)
		w.append(r, "1")
		w.append(w.recovered(live), "2")
		saved := dynajournal.SnapshotMetadata{PersistenceID: pid, SequenceNumber: 2}
		if _, err := live.SaveSnapshot(w.Context(), saved, "state"); err != nil {
			w.Fatal(err)
		}
		_, err := r.Purge(w.Context(), dynajournal.PurgeOptions{})
		w.wantConflict(err)
		w.wantConflict(appendTo(w.Context(), r, "3"))
		w.wantVisible(live, 1, "1", "2")
		if _, found, err := live.LoadSnapshot(w.Context(), pid, dynajournal.SnapshotCriteria{}); err != nil || !found {
			w.Errorf("the snapshot is gone (%v)", err)
		}
	})
}

// A process dies in an atomic write across the end of a partition. What it has stored of it in the
// next partition is found by nobody, and a purge removes it, too.
func TestPurgeRemovesMembersOfATornWriteInTheNextPartition(t *testing.T) {
	for _, now := range []bool{true, false} {
		for _, first := range []int{70, 98} {
			inWorld(t, func(w *world) {
				j, dead := w.journal("one"), w.journal("dead")
				r := w.recovered(dead)
				w.fill(r, first-1)
				w.net.Hold("dead")
				wait := w.appending(r, slices.Repeat([]string{"torn"}, 40)...)
				w.net.Deliver(w.await("dead", "PutItem event "+key("1/1")))
				w.diesAndIsPurged(wait, j, now)
				w.wantNoFinding(j)
			})
		}
	}
}

// diesAndIsPurged crashes the process "dead" during an append, purges the persistence id by another
// journal, and lets everything expire.
func (w *world) diesAndIsPurged(wait func() error, j *dynajournal.Journal, now bool) {
	w.Helper()
	w.net.Crash("dead")
	if wait() == nil {
		w.Fatal("the append of a dead process succeeded")
	}
	if _, err := w.recovered(j).Purge(w.Context(), dynajournal.PurgeOptions{Now: now}); err != nil {
		w.Fatal(err)
	}
	w.pass(afterExpiry)
}

// wantNoFinding checks that verify finds nothing.
func (w *world) wantNoFinding(j *dynajournal.Journal) {
	w.Helper()
	for f, err := range j.Verify(w.Context(), pid, dynajournal.VerifyOptions{}) {
		w.Errorf("verify finds %+v (%v)", f, err)
	}
}

// A process dies between the high mark of its first write and the events.
func TestPurgeRemovesAHighMarkWithoutEvents(t *testing.T) {
	inWorld(t, func(w *world) {
		j, dead := w.journal("one"), w.journal("dead")
		r := w.recovered(dead)
		w.net.Hold("dead")
		wait := w.appending(r, slices.Repeat([]string{"x"}, 120)...)
		w.net.Deliver(w.await("dead", "PutItem mark"))
		w.net.Crash("dead")
		if wait() == nil {
			w.Fatal("the append of a dead process succeeded")
		}
		purge(w, j)
		w.pass(afterExpiry)
		w.wantNothingLeft(j)
	})
}

// A purged id expires item by item. A recovery reads the last tombstone, and is about to raise the
// low mark over it. The tombstone expires before that, and another recovery sees nothing, and
// begins at 1. Its acknowledged events must not be hidden by the low mark.
func TestTombstoneThatVanishesBeforeTheLowMarkIsRaised(t *testing.T) {
	for _, before := range []bool{true, false} {
		inWorld(t, func(w *world) {
			slow, other := w.journal("slow"), w.journal("other")
			w.append(w.recovered(other), "1")
			purge(w, other)
			time.Sleep(beforeExpiry) // in the bubble; the items that expire are removed below
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
				w.wantVisible(other, 1, "acknowledged")
			}
		})
	}
}

// A writer recovers a purged id of which only the low mark is left, and the mark expires before it
// was put again. Another recovery sees nothing, and begins at 1. Its acknowledged events must not
// be hidden by the low mark.
func TestLowMarkThatVanishesBeforeItIsRenewed(t *testing.T) {
	inWorld(t, func(w *world) {
		first, second := w.journal("first"), w.journal("second")
		w.append(w.recovered(first), "1")
		purge(w, first)
		time.Sleep(afterExpiry) // in the bubble; the items that expire are removed below
		w.remove("journal-P-"+pid+"-0", 1)
		w.remove("journal-P-"+pid+"-0", 2)
		slow := w.recovered(first)
		w.remove("journal-SL-"+pid+"-0", 0)
		r := w.recovered(second)
		if err := appendTo(w.Context(), slow, "3"); err == nil {
			w.Error("the writer went on after numbers of which nothing is left")
		} else {
			w.wantConflict(err)
		}
		w.append(r, "acknowledged")
		w.wantVisible(second, 1, "acknowledged")
	})
}

// A recovery of a purged persistence id is about to hold the tombstone that it has read. The
// tombstone expires, the persistence id is used again, and another event is deleted at the same
// number. The new tombstone has nothing about the numbers after it.
func TestRecoveryHoldsOnlyTheTombstoneThatItHasRead(t *testing.T) {
	inWorld(t, func(w *world) {
		slow, live := w.journal("slow"), w.journal("live")
		w.fill(w.recovered(live), 5)
		purge(w, live)
		time.Sleep(beforeExpiry) // in the bubble; the items that expire are removed below
		w.remove("journal-SL-"+pid+"-0", 0)
		w.net.Hold("slow")
		wait := w.recovering(slow, dynajournal.RecoverOptions{})
		w.deliverUntil("slow", "PutItem")
		w.pass(3 * time.Second)
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
		w.wantVisible(live, 1, "2", "3")
	})
}

// A recovery is about to hold the fence of a purge. The purge goes on meanwhile, and replaces its
// fence by a tombstone that expires in the same second. The hold must not replace that one: it
// would stay for ever.
func TestLateHoldOfAFenceLeavesNothing(t *testing.T) {
	inWorld(t, func(w *world) {
		purger, slow := w.journal("purger"), w.journal("slow")
		w.append(w.recovered(slow), "1")
		r := w.recovered(purger)
		w.net.Hold("purger")
		purged := do(func() (dynajournal.PurgeResult, error) { return r.Purge(w.Context(), dynajournal.PurgeOptions{}) })
		w.deliverUntil("purger", "PutItem expiring mark")
		w.net.Hold("slow")
		wait := w.recovering(slow, dynajournal.RecoverOptions{})
		w.deliverUntil("slow", "PutItem")
		w.net.Free("purger")
		if _, err := purged(); err != nil {
			w.Fatal(err)
		}
		w.net.Free("slow")
		if _, err := wait(); err != nil && !errors.Is(err, dynajournal.ErrDeletedMeanwhile) {
			w.Fatal(err)
		}
		w.pass(afterExpiry)
		if l, err := purger.List(w.Context(), pid); err != nil || len(l.SequenceNumbers)+len(l.Tombstones)+len(l.Seals) > 0 {
			w.Errorf("after the fence window %+v is left (%v)", l, err)
		}
	})
}

// A purged persistence id is recovered just before its marks expire, and grows again to the very
// number of that writer within the fence window of the recovery. Only the low mark shows that it is
// another life.
func TestWriterOfAPurgedIDEndsIfTheIDIsUsedAgain(t *testing.T) {
	inWorld(t, func(w *world) {
		stale, live := w.journal("stale"), w.journal("live")
		w.append(w.recovered(live), "old")
		purge(w, live)
		w.pass(afterExpiry - 2*time.Minute)
		r := w.recovered(stale) // it continues at 3
		w.pass(2 * time.Minute)
		again := w.recovered(live)
		w.append(again, "new 1")
		w.append(again, "new 2")
		w.pass(fenceWindow / 2)
		w.wantConflict(appendTo(w.Context(), r, "stale"))
		w.wantVisible(live, 1, "new 1", "new 2")
	})
}

// A writer that was overtaken must not purge the events of others.
func TestPurgeOfOvertakenWriterRemovesNothing(t *testing.T) {
	inWorld(t, func(w *world) {
		stale, live := w.journal("stale"), w.journal("live")
		next := w.recovered(live)
		w.append(next, "1")
		r := w.recovered(stale)
		w.append(next, "2")
		_, err := r.Purge(w.Context(), dynajournal.PurgeOptions{})
		w.wantConflict(err)
		w.wantVisible(live, 1, "1", "2")
	})
}

// The low mark of a purged persistence id is put again, and the response is lost. The second
// attempt finds it done.
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
		w.wantVisible(j, 1, "next")
	})
}

// A process dies in an atomic write over more than two partitions. Whatever it has stored, a purge
// removes all of it, also where empty partitions are before it.
func TestPurgeRemovesMembersOfATornWriteBehindEmptyPartitions(t *testing.T) {
	const events = 250
	for _, now := range []bool{true, false} {
		for _, first := range []int{70, 100} {
			inWorld(t, func(w *world) {
				w.config.MaxConnections = 2 * events // all are sent at the same time
				j, dead := w.journal("one"), w.journal("dead")
				r := w.recovered(dead)
				w.fill(r, first-1)
				w.net.Hold("dead")
				wait := w.appending(r, slices.Repeat([]string{"torn"}, events)...)
				last := key(fmt.Sprintf("%d/", (first+events-1)/layout.PartitionSize))
				for range 3 { // a request that is alone arrives, and those for the last partition
					synctest.Wait()
					pending := w.net.Pending()
					for _, put := range pending {
						if len(pending) == 1 || strings.Contains(put.Label, last) {
							w.net.Deliver(put)
						}
					}
				}
				w.diesAndIsPurged(wait, j, now)
				w.wantNoEvents()
			})
		}
	}
}

// wantNoEvents checks that the table has no item at any number of the persistence id, wherever it
// is.
func (w *world) wantNoEvents() {
	w.Helper()
	pages := dynamodb.NewScanPaginator(dynamodb.NewFromConfig(w.engine.AWSConfig()), &dynamodb.ScanInput{
		TableName:        aws.String(dynajournal.DefaultJournalTable),
		FilterExpression: aws.String("begins_with(par, :key)"),
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":key": &types.AttributeValueMemberS{Value: key("")},
		},
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(w.Context())
		if err != nil {
			w.Fatal(err)
		}
		for _, item := range page.Items {
			w.Errorf("an item is left: %v/%v", item["par"], item["num"])
		}
	}
}
