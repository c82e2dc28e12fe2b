package protocol

import (
	"context"
	"fmt"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// refresh prepares a write. If the writer was idle for more than half the fence window, it checks
// whether it may still write: after the whole window the tombstones that would stop it may be gone.
func (w *Writer) refresh(ctx context.Context, m *dynamo.Meter) error {
	// The time of the first read after a sleep can be a service time from before the sleep, and so
	// be too old at once. Its responses bring a newer time.
	for w.journal.checkAge(w.active) != nil {
		if err := w.rereadLowMark(ctx, m); err != nil {
			return fmt.Errorf("read %q again after a pause: %w", w.pid, InTable(w.journal.Store.Table, err))
		}
	}
	return nil
}

// rereadLowMark reads the low mark and the last event again, and ends the writer with a
// *ConflictError if they are not as the writer knows them. A low mark beyond the next number shows
// that another writer has written: it has left an item at the next number, which only a deletion or
// a purge removes, after it has raised the low mark. A lower low mark, a low mark of another life,
// or a missing event shows that the persistence id was erased, or that the table is an older copy.
func (w *Writer) rereadLowMark(ctx context.Context, m *dynamo.Meter) error {
	j, start := w.journal, w.journal.Clock.Now()
	if j.Store.Shared() {
		_, err := w.reread(ctx, m)
		return err
	}
	marks, item, err := j.Store.marksAndItem(ctx, m, w.pid, j.Store.Keys.LowMarks(w.pid), w.next-1)
	if err != nil {
		return err
	}
	last, err := j.Store.decodeMet(w.pid, w.next-1, item)
	if err != nil {
		return err
	}
	low := marks.Low
	if low.Purged != w.low.Purged || low.Seq > w.next || low.Seq < w.low.Seq {
		return w.endOvertaken()
	}
	if w.last != "" && low.Seq < w.next && (last.Event == nil || last.Event.WriterUUID != w.last) {
		return w.endOvertaken()
	}
	w.low, w.active = low, start
	return nil
}

// reread reads the marks and the highest number again. If another writer has written, it ends the
// writer with a *ConflictError.
func (w *Writer) reread(ctx context.Context, m *dynamo.Meter) (layout.Marks, error) {
	j, start := w.journal, w.journal.Clock.Now()
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
	w.low, w.active, w.alone = marks.Low, start, start
	return marks, nil
}

// stillLast reports whether the event before the next number is the one that the writer knows.
// After the whole fence window the same numbers can belong to new events: the id was purged, all
// traces of the purge have expired, and the id is in use again.
func (w *Writer) stillLast(ctx context.Context, m *dynamo.Meter) (bool, error) {
	if w.next == 1 {
		return true, nil
	}
	slot, err := w.journal.Store.MetSlot(ctx, m, w.pid, w.next-1, nil)
	return err == nil && w.last != "" && slot.Event != nil && slot.Event.WriterUUID == w.last, err
}
