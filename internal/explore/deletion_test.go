package explore_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/jvm"
	"github.com/dynajournal/dynajournal/internal/testsize"
)

// A deletion is killed before its n-th request, for every n. Every reader sees either all events as
// deleted or no event, and the next deletion completes the first one.
func TestDeletionKilledAtEveryRequest(t *testing.T) {
	for n, finished := 0, false; !finished; n++ {
		inWorld(t, func(w *world) {
			dead, live := w.journal("dead"), w.journal("live")
			r := w.recovered(dead)
			w.fill(r, 120)
			w.append(r, "121", "122", "123")
			w.append(r, "124")
			w.net.Block("dead")
			wait := do(func() (dynajournal.DeleteResult, error) { return r.DeleteTo(w.Context(), 121) })
			marked := false
			for range n {
				synctest.Wait()
				pending := w.net.Pending()
				if len(pending) == 0 {
					break
				}
				marked = marked || strings.HasPrefix(pending[0].Label, "PutItem mark 122 ")
				w.net.Deliver(pending[0])
			}
			synctest.Wait()
			finished = len(w.net.Pending()) == 0
			w.net.Crash("dead")
			if _, err := wait(); err == nil != finished {
				w.Errorf("killed after %d requests: %v", n, err)
			}
			want := []string{"122", "123", "124"}
			if marked {
				w.wantVisible(live, 1, want...)
			} else if got := w.visible(live, 1); len(got) != 124 {
				w.Errorf("killed after %d requests, before the low mark, %d events are stored", n, len(got))
			}
			next := w.recovered(live)
			if _, err := next.DeleteTo(w.Context(), 121); err != nil {
				w.Fatal(err)
			}
			w.wantVisible(live, 1, want...)
			listing, err := live.List(w.Context(), pid)
			if err != nil {
				w.Fatal(err)
			}
			if len(listing.Tombstones) != 121 || len(listing.SequenceNumbers) != 3 {
				w.Errorf("killed after %d requests and finished, there are %d tombstones and %d events",
					n, len(listing.Tombstones), len(listing.SequenceNumbers))
			}
			for _, late := range w.net.Late() {
				w.net.Deliver(late)
			}
			w.append(next, "125")
			w.wantVisible(live, 1, append(want, "125")...)
		})
	}
}

// A stale writer writes at a number that was written and deleted meanwhile.
func TestStaleWriterConflictsWithTombstones(t *testing.T) {
	for _, events := range [][]string{{"stale"}, {"stale", "stale", "stale"}} {
		inWorld(t, func(w *world) {
			stale, live := w.journal("stale"), w.journal("live")
			r := w.recovered(stale)
			w.append(r, "1")
			next := w.recovered(live)
			w.append(next, "2", "3")
			w.append(next, "4")
			if _, err := next.DeleteTo(w.Context(), 4); err != nil {
				w.Fatal(err)
			}
			w.wantConflict(appendTo(w.Context(), r, events...))
			w.wantVisible(live, 1)
			again := w.recovered(live)
			w.append(again, "next")
			w.wantVisible(live, 1, "next")
		})
	}
}

// A writer that was paused or idle until the tombstones had expired gets a conflict, although its
// number is free.
func TestPausedWriterStopsAfterTheTombstonesHaveExpired(t *testing.T) {
	inWorld(t, func(w *world) {
		stale, live := w.journal("stale"), w.journal("live")
		r := w.recovered(stale)
		w.append(r, "1")
		next := w.recovered(live)
		w.append(next, "2")
		if _, err := next.DeleteTo(w.Context(), 2); err != nil {
			w.Fatal(err)
		}
		w.pass(afterExpiry)
		w.wantConflict(appendTo(w.Context(), r, "stale"))
		w.append(w.recovered(live), "next")
		w.wantVisible(live, 1, "next")
	})
}

// A writer that is idle for less than half the fence window is stopped by the tombstones at the
// last moment.
func TestWriterJustInsideTheWindowConflictsWithTombstones(t *testing.T) {
	inWorld(t, func(w *world) {
		stale, live := w.journal("stale"), w.journal("live")
		r := w.recovered(stale)
		next := w.recovered(live)
		w.append(next, "1")
		if _, err := next.DeleteTo(w.Context(), 1); err != nil {
			w.Fatal(err)
		}
		w.pass(fenceWindow / 2)
		w.wantConflict(appendTo(w.Context(), r, "stale"))
	})
}

// The service never processes a part of any batch. The deletion ends with an error. The events that
// it has deleted stay deleted, and it can be repeated.
func TestDeletion_BatchesNeverProcessed(t *testing.T) {
	testsize.NeedsLong(t, "it sends thousands of requests")
	testsize.NoRace(t, "it does one thing after the other")
	inWorld(t, func(w *world) {
		w.config.OperationTimeout = 500 * time.Millisecond // endPauses goes in small steps
		j, reader := w.journal("writer"), w.journal("reader")
		r := w.recovered(j)
		w.fill(r, 30)
		w.net.Block("writer")
		wait := do(func() (dynajournal.DeleteResult, error) { return r.DeleteTo(w.Context(), 29) })
		ended := make(chan error, 1)
		go func() {
			_, err := wait()
			ended <- err
		}()
		for done := false; !done; {
			synctest.Wait()
			pending := w.net.Pending()
			for _, put := range pending {
				if put.Operation != "BatchWriteItem" {
					w.net.Deliver(put)
					continue
				}
				var body struct{ RequestItems map[string]any }
				if err := json.Unmarshal(put.Body, &body); err != nil {
					w.Fatal(err)
				}
				all, err := json.Marshal(map[string]any{"UnprocessedItems": body.RequestItems})
				if err != nil {
					w.Fatal(err)
				}
				w.net.Answer(put, all)
			}
			if len(pending) == 0 {
				endPauses()
			}
			select {
			case err := <-ended:
				if !errors.Is(err, dynajournal.ErrThrottled) {
					w.Errorf("got %v, want %v", err, dynajournal.ErrThrottled)
				}
				done = true
			default:
			}
		}
		w.wantVisible(reader, 1, "filling")
		w.net.Free("writer")
		if result, err := r.DeleteTo(w.Context(), 29); err != nil || result.Removed != 29 {
			w.Errorf("the second deletion removed %d: %v", result.Removed, err)
		}
		w.append(r, "31")
		w.wantVisible(reader, 1, "filling", "31")
	})
}

// A deletion has read the low mark, and is about to check whether all members of the atomic write
// that it cuts exist. Another deletion removes the first of them. The rest must stay.
func TestDeletion_MembersDeletedMeanwhile(t *testing.T) {
	t.Run("in a native journal", func(t *testing.T) {
		membersAreDeletedMeanwhile(t, dynajournal.TableOptions{}, deleteFirst)
	})
	t.Run("in a shared journal", func(t *testing.T) {
		membersAreDeletedMeanwhile(t, dynajournal.TableOptions{SharedWithJVM: true}, deleteFirst)
	})
	// A JVM leaves no tombstone, and its low mark names no atomic write.
	t.Run("by a JVM", func(t *testing.T) {
		membersAreDeletedMeanwhile(t, dynajournal.TableOptions{SharedWithJVM: true}, func(w *world, _ *dynajournal.Writer) error {
			client := dynamodb.NewFromConfig(w.engine.AWSConfig())
			return jvm.New(client, dynajournal.DefaultJournalTable, dynajournal.DefaultSnapshotTable, dynajournal.DefaultJournalName,
				dynajournal.DefaultSequenceShards).Delete(w.Context(), pid, 1)
		})
	})
}

// deleteFirst deletes the first event.
func deleteFirst(w *world, r *dynajournal.Writer) error {
	_, err := r.DeleteTo(w.Context(), 1)
	return err
}

func membersAreDeletedMeanwhile(
	t *testing.T, tables dynajournal.TableOptions, deleteFirst func(*world, *dynajournal.Writer) error,
) {
	t.Helper()
	inWorldOf(t, tables, func(w *world) {
		slow, live := w.journal("slow"), w.journal("live")
		r := w.recovered(live)
		w.append(r, "1", "2", "3")
		late := w.recovered(slow)
		w.net.Block("slow")
		wait := do(func() (dynajournal.DeleteResult, error) { return late.DeleteTo(w.Context(), 2) })
		w.deliverUntil("slow", "Query "+key("0")+" 1 to 2")
		if err := deleteFirst(w, r.Writer); err != nil {
			w.Fatal(err)
		}
		w.net.Free("slow")
		if _, err := wait(); err != nil {
			w.Fatal(err)
		}
		w.wantVisible(live, 1, "3")
		w.append(r, "4")
		w.wantVisible(live, 1, "3", "4")
	})
}

// A dead atomic write lacks a member. A deletion that cuts it after that member, and a second one
// that cuts the rest, must not record that it was whole: the remaining members would become
// visible.
func TestDeletion_CutsIncompleteAtomicWrite(t *testing.T) {
	inWorld(t, func(w *world) {
		dead, live := w.journal("dead"), w.journal("live")
		r := w.recovered(dead)
		w.net.Block("dead")
		wait := w.appending(r, "1", "2", "3", "4", "5")
		lost := w.await("dead", "PutItem event "+key("0/2"))
		for _, put := range w.net.Pending() {
			if put != lost {
				w.net.Deliver(put)
			}
		}
		w.net.Crash("dead")
		if wait() == nil {
			w.Fatal("the append of a dead process succeeded")
		}
		next := w.recovered(live)
		w.append(next, "6")
		for _, to := range []int64{3, 4} {
			if _, err := next.DeleteTo(w.Context(), to); err != nil {
				w.Fatal(err)
			}
			w.wantVisible(live, 1, "6")
		}
	})
}

// In a shared journal the highest number stays taken when everything is deleted and has expired: a
// JVM finds its highest number there.
func TestHighestNumberOfASharedJournalStaysTaken(t *testing.T) {
	inWorldOf(t, dynajournal.TableOptions{SharedWithJVM: true}, func(w *world) {
		j := w.journal("writer")
		r := w.recovered(j)
		w.fill(r, 3)
		if _, err := r.DeleteTo(w.Context(), 3); err != nil {
			w.Fatal(err)
		}
		w.pass(afterExpiry)
		if l, err := j.List(w.Context(), pid); err != nil || len(l.Seals) != 1 || l.Seals[0] != 3 || len(l.Tombstones) > 0 {
			w.Errorf("there are seals at %v and tombstones at %v (%v), want a seal at 3", l.Seals, l.Tombstones, err)
		}
	})
}

// A deletion in a shared journal puts a seal at the highest number, after a recovery has read the
// low mark. The recovery must report the deleted numbers, not only that there is no event.
func TestRecoveryMeetsTheSealOfADeletion(t *testing.T) {
	inWorldOf(t, dynajournal.TableOptions{SharedWithJVM: true}, func(w *world) {
		reader, writer := w.journal("reader"), w.journal("writer")
		r := w.recovered(writer)
		w.net.Block("reader")
		wait := w.recovering(reader, dynajournal.RecoverOptions{})
		w.net.Deliver(w.await("reader", "BatchGetItem journal-SH-"))
		w.append(r, "1")
		if _, err := r.DeleteTo(w.Context(), 1); err != nil {
			w.Fatal(err)
		}
		w.net.Free("reader")
		got, err := wait()
		if err != nil {
			w.Fatal(err)
		}
		if to := got.DeletedTo(); to != 1 || len(got.seen) > 0 {
			w.Errorf("got %q, deleted to %d; want nothing, deleted to 1", got.seen, to)
		}
	})
}

// A recovery reads the low mark a second time together with the marks, and gets that answer later,
// after a deletion. It must report the deleted numbers: a caller without a snapshot lacks these
// events.
func TestRecovery_DeletionDuringMarks(t *testing.T) {
	inWorld(t, func(w *world) {
		reader, writer := w.journal("reader"), w.journal("writer")
		r := w.recovered(writer)
		w.net.Block("reader")
		wait := w.recovering(reader, dynajournal.RecoverOptions{})
		marks := w.await("reader", "BatchGetItem journal-SH-")
		w.net.Deliver(w.await("reader", "Query "))
		w.net.Deliver(w.await("reader", "BatchGetItem journal-SL-"))
		w.append(r, "1")
		w.append(r, "2")
		if _, err := r.DeleteTo(w.Context(), 1); err != nil {
			w.Fatal(err)
		}
		w.net.Deliver(marks)
		w.net.Free("reader")
		got, err := wait()
		if err != nil {
			w.Fatal(err)
		}
		if deleted := got.DeletedTo(); deleted != 1 {
			w.Errorf("a recovery has read %q and reports that all up to %d is deleted, want 1", got.seen, deleted)
		}
	})
}
