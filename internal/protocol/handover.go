package protocol

import (
	"context"

	"github.com/dynajournal/dynajournal/internal/clock"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/safeguard"
)

// A JVM that has taken over a persistence id removes what it deletes, and leaves nothing that keeps
// the numbers taken. A writer that was paused meanwhile could put an event at such a number and be
// told that it is stored, where nobody reads. So in a shared journal a writer that did nothing for
// HandoverTime looks before it writes, and one whose write took that long looks before it
// acknowledges. What is known is as old as the begin of the recovery, of the last look, or of the
// last write that was acknowledged.

// handoverPossible reports whether a JVM can have taken over and deleted since a moment.
func (j *Journal) handoverPossible(since clock.Moment) bool {
	return j.Store.Shared() && j.HandoverTime > 0 && j.Clock.Since(since) > j.HandoverTime
}

// lookForHandover ends the writer with a *ConflictError if a JVM has deleted the number that it is
// going to write, where that is possible since it last looked.
func (w *Writer) lookForHandover(ctx context.Context, m *dynamo.Meter) error {
	for w.journal.handoverPossible(w.alone) && safeguard.HandoverLookedBefore {
		began := w.journal.Clock.Now()
		low, err := w.journal.Store.JVMLowAround(ctx, m, w.pid, w.next)
		if err != nil {
			return err
		}
		if low > w.next {
			return w.overtaken()
		}
		w.alone = began
	}
	return nil
}

// handedOver looks, where the write took long, whether a JVM has deleted the numbers that it was to
// take. Then it takes back what is stored of it, also of a write that failed: a JVM could find its
// highest number by that. Whether the JVM has read it before is not known.
func (a *atomicWrite) handedOver(ctx context.Context) error {
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
