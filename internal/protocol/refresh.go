package protocol

import (
	"context"
	"fmt"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/safeguard"
)

// refresh does what has to be done before a write. A writer that was idle for more than half the
// fence window looks whether it is still the last: after the whole window the tombstones that would
// stop it may be gone. The marks of a purged id are put anew, or they would vanish under a live
// entity.
func (w *Writer) refresh(ctx context.Context, m *dynamo.Meter) error {
	if err := w.lookAfterPause(ctx, m); err != nil {
		return err
	}
	if !w.expiring {
		return nil
	}
	if err := w.renewMarks(ctx, m); err != nil {
		return fmt.Errorf("renew the marks of %q: %w", w.pid, err)
	}
	w.expiring = false
	return nil
}

// lookAfterPause looks at the journal again if what the writer knows of it is too old to write by.
func (w *Writer) lookAfterPause(ctx context.Context, m *dynamo.Meter) error {
	// The first look after a sleep begins by a service time from before it, so it can be too old at
	// once: its answers tell.
	for w.journal.checkAge(w.active) != nil {
		if _, err := w.lookAgain(ctx, m); err != nil {
			return fmt.Errorf("look at %q again after a pause: %w", w.pid, InTable(w.journal.Store.Table, err))
		}
	}
	return nil
}

// lookAgain looks whether the writer is still the last, and returns the marks. If not, it ends with
// a *ConflictError.
func (w *Writer) lookAgain(ctx context.Context, m *dynamo.Meter) (layout.Marks, error) {
	j, began := w.journal, w.journal.Clock.Now()
	marks, err := j.Store.Marks(ctx, m, w.pid)
	if err != nil {
		return marks, err
	}
	end, err := j.Store.End(ctx, m, w.pid, marks, w.farMark)
	if err != nil {
		return marks, err
	}
	same := end.Highest == w.next-1 && (marks.Low.Seq == w.low.Seq || !safeguard.LowMoved)
	if safeguard.StillLast && same && j.Clock.Since(w.active) > j.FenceWindow {
		if same, err = w.stillLast(ctx, m); err != nil {
			return marks, err
		}
	}
	if !same {
		return marks, w.overtaken()
	}
	w.low, w.expiring, w.active, w.alone = marks.Low, marks.Expiring, began, began
	return marks, nil
}

// stillLast reports whether the event before the next is the one that the writer knows. After the
// whole fence window the same numbers can be of new events: the id was purged, all trace of that
// has vanished, and it was used anew.
func (w *Writer) stillLast(ctx context.Context, m *dynamo.Meter) (bool, error) {
	if w.next == 1 {
		return true, nil
	}
	slot, err := w.journal.Store.MetSlot(ctx, m, w.pid, w.next-1, nil)
	return err == nil && w.last != "" && slot.Event != nil && slot.Event.WriterUUID == w.last, err
}

// renewMarks puts the marks of a purged id without their expiry. If the low mark has vanished since
// it was read, another writer may have begun anew below it, and this one ends with a
// *ConflictError: raising the mark again would hide what that one writes.
func (w *Writer) renewMarks(ctx context.Context, m *dynamo.Meter) error {
	if !safeguard.RenewMarks {
		return nil
	}
	store := w.journal.Store.While(w.journal.fresh(w.active))
	if w.low.Seq > 0 && safeguard.RenewExisting {
		there, err := store.RenewLowMark(ctx, m, w.pid, w.low)
		if err != nil {
			return err
		}
		if !there {
			return w.overtaken()
		}
	} else if w.low.Seq > 0 {
		if err := store.RaiseLowMark(ctx, m, w.pid, w.low); err != nil {
			return err
		}
	}
	if w.next-1 < layout.PartitionSize {
		return nil
	}
	return w.raiseHighMark(ctx, m, w.next-1)
}
