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
	"github.com/dynajournal/dynajournal/internal/explore"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/testsize"
)

// afterExpiry is when the tombstones of a deletion or a purge have expired.
const afterExpiry = fenceWindow + time.Minute

func purge(w *world, j *dynajournal.Journal) {
	w.Helper()
	purgeBy(w, j, dynajournal.PurgeOptions{})
}

// erase purges the persistence id with all its items at once, so that its numbers start again.
func erase(w *world, j *dynajournal.Journal) {
	w.Helper()
	purgeBy(w, j, dynajournal.PurgeOptions{Now: true})
}

func purgeBy(w *world, j *dynajournal.Journal, opts dynajournal.PurgeOptions) {
	w.Helper()
	if _, err := w.recovered(j).Purge(w.Context(), opts); err != nil {
		w.Fatal(err)
	}
}

// diesInPurge lets the process "dead" purge, and crashes it when it sends request n+1 with a label.
// It returns that request, which is lost and can be delivered later.
func (w *world) diesInPurge(r recovery, label string, n int) *explore.Request {
	w.Helper()
	w.net.Block("dead")
	wait := do(func() (dynajournal.PurgeResult, error) { return r.Purge(w.Context(), dynajournal.PurgeOptions{}) })
	sent := w.deliverUntil("dead", label)
	for range n {
		w.net.Deliver(sent)
		sent = w.deliverUntil("dead", label)
	}
	w.net.Crash("dead")
	if _, err := wait(); err == nil {
		w.Fatal("the purge of a dead process succeeded")
	}
	return sent
}

// wantPurged checks that the persistence id was purged up to a number, and that only its low mark
// is stored.
func (w *world) wantPurged(j *dynajournal.Journal, to int64) {
	w.Helper()
	l, err := j.List(w.Context(), pid)
	if err != nil || !slices.Equal(l.LowMarks, []int64{to + 1}) || len(l.SequenceNumbers)+len(l.Tombstones)+len(l.Seals) > 0 {
		w.Errorf("after a purge up to %d %+v is left (%v)", to, l, err)
	}
	w.wantListed(j, false)
}

// wantNext checks that a recovery finds nothing, and continues at a number.
func (w *world) wantNext(j *dynajournal.Journal, want int64) {
	w.Helper()
	for _, opts := range []dynajournal.RecoverOptions{{}, {Latest: true}} {
		r, err := recoverIt(w.Context(), j, opts)
		if err != nil {
			w.Fatal(err)
		}
		if next, err := r.NextSequenceNumber(w.Context()); err != nil || next != want || len(r.seen) > 0 {
			w.Errorf("a recovery is given %q, and continues at %d (%v), want %d", r.seen, next, err, want)
		}
		if last, err := r.Last(w.Context()); err != nil || last != 0 {
			w.Errorf("the last event is %d (%v), want none", last, err)
		}
	}
}

// The numbers of a purged persistence id are never used again, even after several purges. The first
// event of each life lists the id.
func TestPurge_NumbersNeverStartAgain(t *testing.T) {
	inWorld(t, func(w *world) {
		j := w.journal("one")
		next := int64(1)
		for range 3 {
			w.fill(w.recovered(j), 120)
			w.wantListed(j, true)
			purge(w, j)
			next += 121
			w.wantNext(j, next)
			w.pass(afterExpiry)
			w.wantPurged(j, next-1)
			w.wantNext(j, next)
			w.wantNoFinding(j)
		}
	})
}

// A writer from before the purge finds free numbers above the purged ones. Its acknowledged events
// must stay, even after the tombstones have expired.
func TestEventOfWriterOlderThanPurgeOutlivesTheTombstones(t *testing.T) {
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
			w.Errorf("the acknowledged event 251 is lost: recovery sees %q and continues at %d", again.seen, next)
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
			w.Errorf("the writer continues: %v", r.Err())
		}
		purge(w, stale)
		if left := w.visible(writer, 1); len(left) > 0 {
			w.Errorf("%q are left after a purge", left)
		}
	})
}

// A recovery that began before a purge and ends after it reads the low mark again. Its writer is
// refused, or its events stay.
func TestRecoveryAcrossPurge(t *testing.T) {
	inWorld(t, func(w *world) {
		reader, purger := w.journal("reader"), w.journal("purger")
		w.fill(w.recovered(purger), 250)
		w.net.Block("reader")
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
		if appendTo(w.Context(), r, "252") != nil {
			return // fenced
		}
		w.pass(afterExpiry)
		if again := w.recovered(purger); len(again.seen) != 1 {
			next, _ := again.NextSequenceNumber(w.Context())
			w.Errorf("the acknowledged event 252 is lost: recovery sees %q and continues at %d", again.seen, next)
		}
	})
}

// A put of a purge's low mark is delayed until the id is in use again, and was deleted from: it
// must not replace the higher mark, which keeps the id listed. There are two such puts: the one
// that hides the events, and the one that records the progress of the removal.
func TestLatePutOfPurgeKeepsTheMarkOfAnIDThatIsUsedAgain(t *testing.T) {
	for n := range 2 {
		inWorld(t, func(w *world) {
			dead, live := w.journal("dead"), w.journal("live")
			w.append(w.recovered(live), "1")
			late := w.diesInPurge(w.recovered(dead), "PutItem mark", n)
			next := w.recovered(live)
			for _, event := range []string{"2", "3"} {
				w.append(next, event)
			}
			if _, err := next.DeleteTo(w.Context(), 3); err != nil {
				w.Fatal(err)
			}
			w.net.Deliver(late)
			w.wantListed(live, true)
			w.wantVisible(live, 1, "3")
		})
	}
}

// A purge dies after its fence, before it has raised the low mark. The next recovery must raise it.
// Otherwise two recoveries could find different states, and one could write below the low mark of
// the other.
func TestRecoveryCompletesAPurgeThatDiedAfterItsFence(t *testing.T) {
	inWorld(t, func(w *world) {
		dead, live := w.journal("dead"), w.journal("live")
		w.append(w.recovered(live), "1")
		late := w.diesInPurge(w.recovered(dead), "PutItem mark", 0)
		w.pass(2 * afterExpiry) // the fence does not expire
		w.wantVisible(live, 1, "1")
		next := w.recovered(live)
		if last, err := next.Last(w.Context()); err != nil || last != 0 {
			w.Errorf("the last event is %d (%v), want none", last, err)
		}
		w.append(next, "3")
		w.net.Deliver(late)
		w.wantListed(live, true)
		w.wantVisible(live, 1, "3")
		purge(w, live)
		w.pass(afterExpiry)
		w.wantPurged(live, 4)
	})
}

// Two processes purge at the same time. The second finds the fence of the first, and continues with
// it: both succeed, even if the first one dies after its fence, or does not know of a newer
// snapshot.
func TestPurge_TwoAtTheSameTime(t *testing.T) {
	for _, snapshot := range []int64{0, 50} {
		for _, dies := range []bool{true, false} {
			inWorld(t, func(w *world) {
				first, second := w.journal("first"), w.journal("second")
				w.append(w.recovered(second), "1")
				r, s := w.recovered(first), w.recovered(second)
				w.net.Block("first")
				wait := do(func() (dynajournal.PurgeResult, error) { return r.Purge(w.Context(), dynajournal.PurgeOptions{}) })
				w.deliverUntil("first", "PutItem mark")
				if dies {
					w.net.Crash("first")
				}
				if snapshot > 0 {
					newer := dynajournal.SnapshotMetadata{PersistenceID: pid, SequenceNumber: snapshot}
					if _, err := second.SaveSnapshot(w.Context(), newer, "state"); err != nil {
						w.Fatal(err)
					}
				}
				if _, err := s.Purge(w.Context(), dynajournal.PurgeOptions{}); err != nil {
					w.Errorf("the second purge failed: %v", err)
				}
				w.net.Free("first")
				if _, err := wait(); !dies && err != nil {
					w.Errorf("the first purge failed: %v", err)
				}
				w.pass(afterExpiry)
				w.wantPurged(second, max(2, snapshot))
				if s, found, err := second.LoadSnapshot(w.Context(), pid, dynajournal.SnapshotCriteria{}); err != nil || found {
					w.Errorf("after both purges there is a snapshot of %d (%v)", s.SequenceNumber, err)
				}
			})
		}
	}
}

// A purge that knows of a newer snapshot finds the fence of a purge that does not. Before it has
// raised the low mark, a recovery raises the low mark to the fence, and its writer writes there.
// That event stays.
func TestPurge_FenceOfAnotherPurge(t *testing.T) {
	inWorld(t, func(w *world) {
		dead, slow, live := w.journal("dead"), w.journal("slow"), w.journal("live")
		w.append(w.recovered(live), "1")
		r, s := w.recovered(dead), w.recovered(slow)
		w.diesInPurge(r, "PutItem mark", 0)
		newer := dynajournal.SnapshotMetadata{PersistenceID: pid, SequenceNumber: 50}
		if _, err := slow.SaveSnapshot(w.Context(), newer, "state"); err != nil {
			w.Fatal(err)
		}
		w.net.Block("slow")
		wait := do(func() (dynajournal.PurgeResult, error) { return s.Purge(w.Context(), dynajournal.PurgeOptions{}) })
		w.deliverUntil("slow", "PutItem mark")
		w.append(w.recovered(live), "acknowledged")
		w.net.Free("slow")
		_, err := wait()
		w.wantConflict(err)
		w.wantVisible(live, 1, "acknowledged")
	})
}

// A snapshot of an earlier life does not exist: a recovery that continues from it fails.
func TestRecoveryFromAPurgedStateFails(t *testing.T) {
	for _, opts := range []dynajournal.RecoverOptions{{Snapshot: 2}, {After: 2}, {Snapshot: 4}} {
		inWorld(t, func(w *world) {
			j := w.journal("one")
			w.append(w.recovered(j), "1", "2", "3")
			purge(w, j)
			_, err := recoverIt(w.Context(), j, opts)
			if e, ok := errors.AsType[*dynajournal.PurgedError](err); !ok || e.Purged != 4 || e.Known != max(opts.Snapshot, opts.After) {
				w.Errorf("the recovery from %+v returned %v, want a PurgedError", opts, err)
			}
			w.append(w.recovered(j), "5")
			w.wantVisible(j, 1, "5")
		})
	}
}

// A writer was paused for longer than the fence window, while its persistence id was purged and
// used again: it must end.
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
		w.wantVisible(live, 1, "new 1", "new 2")
	})
}

// A purge in a shared journal leaves nothing, and the id can grow to the very number at which a
// writer was paused. That is another life: the writer must end.
func TestPausedWriterEndsIfItsIDWasErasedAndUsedAgain(t *testing.T) {
	inWorldOf(t, dynajournal.TableOptions{SharedWithJVM: true}, func(w *world) {
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

// A paused writer must end if its persistence id was erased and used again meanwhile, even if the
// low mark and the next number are as it knows them.
func TestPausedWriter_EndsAfterReuse(t *testing.T) {
	inWorld(t, func(w *world) {
		stale, live := w.journal("stale"), w.journal("live")
		w.fill(w.recovered(live), 5)
		purge(w, live)
		r := w.recovered(stale) // it continues at 7
		erase(w, live)
		w.fill(w.recovered(live), 6)
		if _, err := w.recovered(live).DeleteTo(w.Context(), 6); err != nil {
			w.Fatal(err)
		}
		w.pass(fenceWindow)
		w.wantConflict(appendTo(w.Context(), r, "6"))
	})
}

// A paused writer must end if its persistence id was erased, or if the table was replaced with an
// older copy: the low mark that it knows is gone.
func TestPausedWriter_EndsAfterErasure(t *testing.T) {
	inWorld(t, func(w *world) {
		stale, live := w.journal("stale"), w.journal("live")
		first := w.recovered(live)
		w.fill(first, 5)
		if _, err := first.DeleteTo(w.Context(), 5); err != nil {
			w.Fatal(err)
		}
		r := w.recovered(stale)
		erase(w, live)
		w.pass(fenceWindow)
		w.wantConflict(appendTo(w.Context(), r, "6"))
	})
}

// A paused writer must end even if no event was deleted before the erasure: its last event is gone.
func TestPausedWriter_EndsAfterErasureOfEverything(t *testing.T) {
	inWorld(t, func(w *world) {
		stale, live := w.journal("stale"), w.journal("live")
		r := w.recovered(stale)
		w.fill(r, 5)
		erase(w, live)
		w.append(w.recovered(live), "new")
		w.pass(fenceWindow)
		w.wantConflict(appendTo(w.Context(), r, "6"))
		w.wantVisible(live, 1, "new")
	})
}

// A history that was not purged can't be copied over a purge: its snapshots could have purged
// numbers.
func TestCopyOverAPurgeIsRefused(t *testing.T) {
	inWorld(t, func(w *world) {
		j := w.journal("one")
		w.append(w.recovered(j), "1", "2", "3")
		purge(w, j)
		low := dynajournal.Record{Kind: dynajournal.RecordLowMark, SequenceNumber: 9}
		if err := w.copyRecords(j, low, event(9, "9")); !errors.Is(err, dynajournal.ErrContentConflict) {
			w.Errorf("the copy returned %v", err)
		}
		w.wantNext(j, 5)
		erase(w, j)
		if err := w.copyRecords(j, low, event(9, "9")); err != nil {
			w.Errorf("after an erasure the copy returned %v", err)
		}
	})
}

// A writer was paused while its persistence id was purged, and deletes: it must not raise the low
// mark of the next life.
func TestDeletionOfAPurgedLifeEndsTheWriter(t *testing.T) {
	inWorld(t, func(w *world) {
		stale, live := w.journal("stale"), w.journal("live")
		r := w.recovered(stale)
		w.append(r, "old 1")
		w.append(r, "old 2")
		purge(w, live)
		_, err := r.DeleteTo(w.Context(), 1)
		w.wantConflict(err)
		w.wantPurgedTo(live, 3)
	})
}

// wantPurgedTo checks the low mark of a purge.
func (w *world) wantPurgedTo(j *dynajournal.Journal, to int64) {
	w.Helper()
	if l, err := j.List(w.Context(), pid); err != nil || !slices.Equal(l.LowMarks, []int64{to + 1}) {
		w.Errorf("the low marks are %v (%v), want %d", l.LowMarks, err, to+1)
	}
}

// A purge that leaves nothing does not fence other writers, but a writer that was overtaken must
// not erase their events.
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
// window. The events stay deleted, and the next purge removes them.
func TestEventsOfAnInterruptedPurgeStayPurged(t *testing.T) {
	inWorld(t, func(w *world) {
		dead, live := w.journal("dead"), w.journal("live")
		w.append(w.recovered(live), "1", "2", "3")
		w.diesInPurge(w.recovered(dead), "BatchWriteItem tombstone", 0)
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
		w.wantPurged(live, 4)
	})
}

// A snapshot that is newer than the journal hides events without removing them, and leaves a fence
// and seals. A purge also removes these items.
func TestPurge_RemovesEventsHiddenBySnapshot(t *testing.T) {
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
		w.wantVisible(j, 1)
		w.pass(afterExpiry)
		w.wantPurged(j, 252)
		w.append(w.recovered(j), "again")
		w.wantVisible(j, 1, "again")
	})
}

// A purge by a writer that does not know of a snapshot newer than the journal must also remove that
// snapshot: otherwise the next recovery would start with the purged state.
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
		w.wantPurged(j, 250)
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

// A process dies in an atomic write across the end of a partition. No reader finds the members that
// are stored in the next partition, but a purge removes them as well.
func TestPurge_TornWriteInNextPartition(t *testing.T) {
	for _, now := range []bool{true, false} {
		for _, first := range []int{70, 98} {
			if !testsize.Long && now == (first == 70) {
				continue // each of the four values is in one of two cases
			}
			inWorld(t, func(w *world) {
				j, dead := w.journal("one"), w.journal("dead")
				r := w.recovered(dead)
				w.fill(r, first-1)
				w.net.Block("dead")
				wait := w.appending(r, slices.Repeat([]string{"torn"}, 40)...)
				w.net.Deliver(w.await("dead", "PutItem event "+key("1/1")))
				w.diesAndIsPurged(wait, j, now)
				w.wantNoFinding(j)
			})
		}
	}
}

// diesAndIsPurged crashes the process "dead" during an append, purges the persistence id with
// another journal, and advances the time until everything has expired.
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

// A persistence id is purged twice. A writer of the life between the purges, which was paused
// during the second one, must end even if its next number is free.
func TestPausedWriter_LifeBetweenPurgesEnds(t *testing.T) {
	inWorld(t, func(w *world) {
		stale, live := w.journal("stale"), w.journal("live")
		w.append(w.recovered(live), "old")
		purge(w, live)
		r := w.recovered(stale) // it continues at 3
		again := w.recovered(live)
		w.append(again, "new 1")
		purge(w, live)
		w.pass(afterExpiry)
		w.wantConflict(appendTo(w.Context(), r, "stale"))
		w.wantPurged(live, 4)
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

// A process dies in an atomic write over more than two partitions. A purge removes all stored
// members, even if there are empty partitions before them.
func TestPurge_TornWriteAfterEmptyPartitions(t *testing.T) {
	const events = 250
	for _, now := range []bool{true, false} {
		for _, first := range []int{70, 100} {
			if !testsize.Long && now == (first == 70) {
				continue // each of the four values is in one of two cases
			}
			inWorld(t, func(w *world) {
				w.config.MaxConnections = 2 * events // all are sent at the same time
				j, dead := w.journal("one"), w.journal("dead")
				r := w.recovered(dead)
				w.fill(r, first-1)
				w.net.Block("dead")
				wait := w.appending(r, slices.Repeat([]string{"torn"}, events)...)
				last := key(fmt.Sprintf("%d/", (first+events-1)/layout.PartitionSize))
				for range 3 { // single requests, and requests for the last partition, arrive
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

// wantNoEvents checks, with a scan, that the table has no item at any number of the persistence id.
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
