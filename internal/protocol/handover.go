package protocol

import (
	"context"

	"github.com/dynajournal/dynajournal/internal/clock"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/safeguard"
)

// A JVM that has taken over a persistence id removes what it deletes, and leaves nothing that keeps
// these numbers taken. A writer that was paused meanwhile could store and acknowledge an event at
// such a number, where no reader looks for it. So in a shared journal a writer that was idle for
// HandoverTime checks for a JVM before it writes, and a writer whose write took that long checks
// before it acknowledges. The time is counted from when the recovery, the last check, or the last
// acknowledged write began.

// handoverPossible reports whether a JVM can have taken over and deleted since a moment.
func (j *Journal) handoverPossible(since clock.Moment) bool {
	return j.Store.Shared() && j.HandoverTime > 0 && j.Clock.Since(since) > j.HandoverTime
}

// checkHandoverBefore ends the writer with a *ConflictError if a JVM has deleted the number that is
// written next, if that is possible since the last check.
func (w *Writer) checkHandoverBefore(ctx context.Context, m *dynamo.Meter) error {
	for w.journal.handoverPossible(w.alone) && safeguard.HandoverLookedBefore {
		began := w.journal.Clock.Now()
		low, err := w.journal.Store.JVMLowAround(ctx, m, w.pid, w.next)
		if err != nil {
			return err
		}
		if low > w.next {
			return w.endOvertaken()
		}
		w.alone = began
	}
	return nil
}

// checkHandoverAfter checks, after a write that took long, whether a JVM has deleted its numbers.
// If so, it removes what was stored, even if the write failed: otherwise a JVM could take these
// items for its highest number. Whether the JVM has read them before is not known.
func (a *atomicWrite) checkHandoverAfter(ctx context.Context) error {
	w := a.writer
	if !w.journal.handoverPossible(a.alone) || !safeguard.HandoverLookedAfter {
		return nil
	}
	ctx, end := w.journal.Life.Look(ctx)
	defer end()
	began := w.journal.Clock.Now()
	low, err := w.journal.Store.JVMLowAround(ctx, a.meter, w.pid, a.first())
	if err != nil {
		return a.unknown(err)
	}
	if low <= a.first() {
		a.began = began
		return nil
	}
	for i, e := range a.events {
		if _, err := w.journal.Store.RemoveUnchanged(ctx, a.meter, w.pid, e.SequenceNr, a.items[i]); err != nil {
			return a.unknown(err)
		}
	}
	return a.unknown(&ConflictError{PersistenceID: w.pid, SequenceNumber: a.first()})
}
