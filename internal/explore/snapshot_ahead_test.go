package explore_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/dynajournal/dynajournal"
)

// deliver delivers up to n requests of a process, one after the other, and returns their number.
func (w *world) deliver(process string, n int) int {
	w.Helper()
	for delivered := range n {
		synctest.Wait()
		var next bool
		for _, r := range w.net.Pending() {
			if next = r.Process == process; next {
				w.net.Deliver(r)
				break
			}
		}
		if !next {
			return delivered
		}
	}
	return n
}

// A process loads the newest snapshot and recovers after it. After each of its requests, another
// process writes, saves a snapshot, and deletes the events that the snapshot covers. The snapshot
// is never ahead of the journal.
func TestRecovery_WhileAnotherProcessSaves(t *testing.T) {
	for n, more := 0, true; more; n++ {
		inWorld(t, func(w *world) {
			one, other := w.journal("one"), w.journal("other")
			r := w.recovered(other)
			save := func(number int64) {
				metadata := dynajournal.SnapshotMetadata{PersistenceID: pid, SequenceNumber: number}
				if _, err := other.SaveSnapshot(w.Context(), metadata, "state"); err != nil {
					w.Fatal(err)
				}
			}
			w.append(r, "1")
			save(1)
			w.net.Block("one")
			wait := do(func() (recovery, error) {
				newest, _, err := one.LoadSnapshot(w.Context(), pid, dynajournal.SnapshotCriteria{})
				if err != nil {
					return recovery{}, err
				}
				return recoverIt(w.Context(), one, dynajournal.RecoverOptions{Snapshot: newest.SequenceNumber})
			})
			more = w.deliver("one", n) == n
			w.append(r, "2")
			save(2)
			if _, err := r.DeleteCovered(w.Context(), 2); err != nil {
				w.Fatal(err)
			}
			w.append(r, "3")
			w.net.Free("one")
			if _, err := wait(); errors.Is(err, dynajournal.ErrSnapshotAhead) {
				w.Errorf("after %d requests: %v", n, err)
			}
		})
	}
}

// A recovery that finds the snapshot ahead of the journal reads the journal again before it fails:
// another process may have written the event meanwhile.
func TestSnapshotAheadIsConfirmed(t *testing.T) {
	inWorld(t, func(w *world) {
		one, other := w.journal("one"), w.journal("other")
		r := w.recovered(other)
		w.append(r, "1")
		w.net.Block("one")
		wait := w.recovering(one, dynajournal.RecoverOptions{Snapshot: 2})
		const marks = "BatchGetItem journal-SH"
		w.net.Deliver(w.deliverUntil("one", marks))
		w.deliverUntil("one", marks)
		w.append(r, "2")
		w.net.Free("one")
		got, err := wait()
		if err != nil {
			w.Fatal(err)
		}
		w.append(got, "3")
		w.wantVisible(other, 1, "1", "2", "3")
	})
}
