package protocol

import (
	"context"

	"github.com/dynajournal/dynajournal/internal/clock"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// A JVM that has taken over a persistence id removes the items that it deletes, and leaves nothing
// at their numbers. A writer that was paused meanwhile could store and acknowledge an event at such
// a number, where no reader searches for it. So in a shared journal a writer that was idle for
// HandoverTime checks for a JVM before it writes, and a writer whose write took that long checks
// before it acknowledges. The time is counted from the start of the recovery, the last check, or
// the last acknowledged write.

// handoverPossible reports whether a JVM can have taken over and deleted since a moment.
func (j *Journal) handoverPossible(since clock.Moment) bool {
	return j.Store.Shared() && j.HandoverTime > 0 && j.Clock.Since(since) > j.HandoverTime
}

// wasStoredBefore reports whether the writer knows that something was stored right before a number
// that it writes, at or above the low mark.
func (w *Writer) wasStoredBefore(seq int64) bool { return seq > w.low.First() }

// checkHandoverBefore ends the writer with a *ConflictError if a JVM has deleted the next number or
// the one before it. It checks only if that is possible since the last check.
func (w *Writer) checkHandoverBefore(ctx context.Context, m *dynamo.Meter) error {
	for w.journal.handoverPossible(w.alone) {
		start := w.journal.Clock.Now()
		low, stored, err := w.journal.Store.JVMLowAround(ctx, m, w.pid, w.next)
		if err != nil {
			return err
		}
		if low > w.next || !stored && w.wasStoredBefore(w.next) {
			return w.endOvertaken()
		}
		w.alone = start
	}
	return nil
}

// checkHandoverAfter checks, after a write that took long, whether a JVM has deleted its numbers.
// If so, it removes the stored items of the write, even if the write failed: otherwise a JVM could
// take these items for its highest number. It is not known whether the JVM has read them before.
//
// Go also raises the low mark that a JVM reads. If a deletion by Go has cut the atomic write, the
// rest of the write stays: the deleting writer has read the write as a whole, and the rest is
// visible.
func (a *AtomicWrite) checkHandoverAfter(ctx context.Context) error {
	w := a.writer
	if !w.journal.handoverPossible(a.alone) {
		return nil
	}
	ctx, end := w.journal.Life.ReadForWrite(ctx)
	defer end()
	start := w.journal.Clock.Now()
	low, stored, err := w.journal.Store.JVMLowAround(ctx, a.meter, w.pid, a.first())
	switch {
	case err != nil:
		return a.unknown(err)
	case low > a.first():
	case !stored && w.wasStoredBefore(a.first()): // readers may have seen the events: they stay
		return a.unknown(&ConflictError{PersistenceID: w.pid, SequenceNumber: a.first()})
	default:
		a.startedAt = start
		return nil
	}
	switch cut, err := a.cutByGo(ctx); {
	case err != nil:
		return a.unknown(err)
	case cut:
		return a.unknown(&ConflictError{PersistenceID: w.pid, SequenceNumber: a.first()})
	}
	for i, e := range a.events {
		if _, err := w.journal.Store.RemoveUnchanged(ctx, a.meter, w.pid, e.SequenceNr, a.items[i]); err != nil {
			return a.unknown(err)
		}
	}
	return a.unknown(&ConflictError{PersistenceID: w.pid, SequenceNumber: a.first()})
}

// cutByGo reports whether a deletion by Go has cut the atomic write. Then the low mark names the
// write. With one shard a JVM's deletion may have replaced the low mark, but the tombstones of the
// members also name the write.
func (a *AtomicWrite) cutByGo(ctx context.Context) (bool, error) {
	batch, store, pid := a.events[0].Batch, a.writer.journal.Store, a.writer.pid
	if !batch.IsBatch() {
		return false, nil
	}
	marks, err := store.LowMark(ctx, a.meter, pid)
	if err != nil || marks.Low.Cut == batch || store.Keys.Shards > 1 {
		return err == nil && marks.Low.Cut == batch, err
	}
	members := make(map[int64]layout.Attributes, len(a.events))
	for _, e := range a.events {
		members[e.SequenceNr] = nil
	}
	slots, err := store.MetSlots(ctx, a.meter, pid, members)
	for _, slot := range slots {
		if slot.Cut() == batch {
			return true, nil
		}
	}
	return false, err
}
