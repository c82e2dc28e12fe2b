package explore_test

import (
	"testing"

	"github.com/dynajournal/dynajournal"
)

// A batch in flight ends at the highest number: all members but the last are stored. A recovery
// leaves the batch out, and its caller saves a snapshot of the last event that it saw. Then the
// batch is completed: a recovery from the snapshot must return the whole batch.
func TestSnapshot_BatchInFlightAtEnd(t *testing.T) {
	inWorld(t, func(w *world) {
		dead, live := w.journal("dead"), w.journal("live")
		r := w.recovered(dead)
		w.append(r, "1")
		w.net.Block("dead")
		wait := w.appending(r, "batch a", "batch b", "batch c")
		w.await("dead", "PutItem event "+key("0/2"))
		for _, r := range w.net.Pending() {
			if r.Label != "PutItem event "+key("0/4") {
				w.net.Deliver(r)
			}
		}
		last := w.await("dead", "PutItem event "+key("0/4"))
		w.net.Crash("dead")
		if wait() == nil {
			w.Fatal("the append of a dead process succeeded")
		}
		again := w.recovered(live)
		snapshot := dynajournal.SnapshotMetadata{PersistenceID: pid, SequenceNumber: 1}
		if _, err := live.SaveSnapshot(w.Context(), snapshot, again.seen[0]); err != nil {
			w.Fatal(err)
		}
		w.net.Deliver(last)
		after, err := recoverIt(w.Context(), live, dynajournal.RecoverOptions{Snapshot: 1})
		if err != nil {
			w.Fatal(err)
		}
		if len(after.seen) != 3 {
			w.Errorf("recovered from the snapshot at 1, an entity sees %q of the batch", after.seen)
		}
	})
}

// A writer that continues after a snapshot newer than the journal raises the low mark over numbers
// that were never written. A concurrent recovery without the snapshot must not get an event
// acknowledged there.
func TestSnapshotAhead_HidesNoEvent(t *testing.T) {
	inWorld(t, func(w *world) {
		restored, other := w.journal("restored"), w.journal("other")
		w.append(w.recovered(other), "1")
		w.net.Block("restored")
		wait := w.recovering(restored, dynajournal.RecoverOptions{Snapshot: 10, JournalLost: true})
		w.deliverUntil("restored", "PutItem mark 11 journal-SL")
		meanwhile := w.recovered(other)
		acknowledged := appendTo(w.Context(), meanwhile, "acknowledged") == nil
		w.net.Free("restored")
		_, err := wait()
		if seen := w.visible(other, 1); acknowledged && err == nil && len(seen) == 0 {
			w.Errorf("the acknowledged event is gone, below the low mark 11: there are %q", seen)
		}
	})
}

// Two writers continue after different snapshots, both after the same highest number. Only one of
// them may continue: its acknowledged events must not be below the low mark of the other.
func TestSnapshotAhead_TwoWriters(t *testing.T) {
	inWorld(t, func(w *world) {
		older, newer := w.journal("older"), w.journal("newer")
		w.append(w.recovered(newer), "1")
		w.net.Block("older")
		w.net.Block("newer")
		wait := w.recovering(older, dynajournal.RecoverOptions{Snapshot: 10, JournalLost: true})
		waitNewer := w.recovering(newer, dynajournal.RecoverOptions{Snapshot: 20, JournalLost: true})
		w.deliverUntil("older", "PutItem")
		w.deliverUntil("newer", "PutItem")
		w.deliverUntil("older", "PutItem mark 11 journal-SL")
		w.net.Free("newer")
		_, err := waitNewer()
		w.wantConflict(err)
		w.net.Free("older")
		r, err := wait()
		if err != nil {
			w.Fatal(err)
		}
		w.append(r, "acknowledged")
		w.wantVisible(newer, 1, "acknowledged")
	})
}

// An atomic write is in flight: its last member is stored, the others are not. A writer that
// continues after a snapshot newer than the journal fences the number after the snapshot, which the
// atomic write does not use. The write must not be acknowledged below the low mark.
func TestSnapshotAhead_WriteInFlight(t *testing.T) {
	inWorld(t, func(w *world) {
		restored, other := w.journal("restored"), w.journal("other")
		r := w.recovered(other)
		w.append(r, "1")
		w.net.Block("other")
		wait := w.appending(r, "a", "b", "c")
		w.net.Deliver(w.await("other", "PutItem event "+key("0/4")))
		w.net.Deliver(w.await("other", "PutItem event "+key("0/2")))
		after, err := recoverIt(w.Context(), restored, dynajournal.RecoverOptions{Snapshot: 10, JournalLost: true})
		if err != nil {
			w.Fatal(err)
		}
		w.append(after, "11")
		w.net.Free("other")
		w.wantConflict(wait())
		w.wantVisible(restored, 1, "11")
	})
}
