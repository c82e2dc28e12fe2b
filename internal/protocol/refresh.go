package protocol

import (
	"context"
	"fmt"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// refresh prepares a write. If the writer was idle for more than half the fence window, it checks
// whether it is still the last writer: after the whole window the tombstones that would stop it may
// be gone. The marks of a purged id are put again, or they would expire while the entity is in use.
func (w *Writer) refresh(ctx context.Context, m *dynamo.Meter) error {
	if err := w.rereadAfterPause(ctx, m); err != nil {
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

// rereadAfterPause reads the journal again if the writer's knowledge is too old to write by.
func (w *Writer) rereadAfterPause(ctx context.Context, m *dynamo.Meter) error {
	// The time of the first read after a sleep can be a service time from before the sleep, and so
	// be too old at once. Its responses bring a newer time.
	for w.journal.checkAge(w.active) != nil {
		if _, err := w.reread(ctx, m); err != nil {
			return fmt.Errorf("read %q again after a pause: %w", w.pid, InTable(w.journal.Store.Table, err))
		}
	}
	return nil
}

// reread reads the marks and the highest number again. If another writer has written, it ends the
// writer with a *ConflictError.
func (w *Writer) reread(ctx context.Context, m *dynamo.Meter) (layout.Marks, error) {
	j, began := w.journal, w.journal.Clock.Now()
	marks, err := j.Store.Marks(ctx, m, w.pid)
	if err != nil {
		return marks, err
	}
	end, err := j.Store.End(ctx, m, w.pid, marks, w.farMark)
	if err != nil {
		return marks, err
	}
	same := end.Highest == w.next-1 && marks.Low.Seq == w.low.Seq
	if same && j.Clock.Since(w.active) > j.FenceWindow {
		if same, err = w.stillLast(ctx, m); err != nil {
			return marks, err
		}
	}
	if !same {
		return marks, w.endOvertaken()
	}
	w.low, w.expiring, w.active, w.alone = marks.Low, marks.Expiring, began, began
	return marks, nil
}

// stillLast reports whether the event before the next is the one that the writer knows. After the
// whole fence window the same numbers can be of new events: the id was purged, all trace of that
// has expired, and the id is in use again.
func (w *Writer) stillLast(ctx context.Context, m *dynamo.Meter) (bool, error) {
	if w.next == 1 {
		return true, nil
	}
	slot, err := w.journal.Store.MetSlot(ctx, m, w.pid, w.next-1, nil)
	return err == nil && w.last != "" && slot.Event != nil && slot.Event.WriterUUID == w.last, err
}

// renewMarks puts the marks of a purged id without their expiry. If the low mark has vanished since
// it was read, another writer may have started again below it. Then this writer ends with a
// *ConflictError: raising the mark again would hide the events of the other writer.
func (w *Writer) renewMarks(ctx context.Context, m *dynamo.Meter) error {
	store := w.journal.Store.While(w.journal.fresh(w.active))
	if w.low.Seq > 0 {
		there, err := store.RenewLowMark(ctx, m, w.pid, w.low)
		if err != nil {
			return err
		}
		if !there {
			return w.endOvertaken()
		}
	}
	if w.next-1 < layout.PartitionSize {
		return nil
	}
	return w.raiseHighMark(ctx, m, w.next-1)
}
