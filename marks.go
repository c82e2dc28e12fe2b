package dynajournal

import (
	"context"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/protocol"
	"github.com/dynajournal/dynajournal/internal/safeguard"
)

// raiseHighMark puts the high mark that seq needs. One that is already higher is as good.
func (w *Writer) raiseHighMark(ctx context.Context, m *dynamo.Meter, seq int64) error {
	return w.journal.store.RaiseHighMark(ctx, m, w.pid, seq, w.journal.fresh(w.active))
}

// putLowMark puts a low mark, by what the writer knows of the journal. protocol.ErrMarkMoved reports
// that one as high is stored.
func (w *Writer) putLowMark(ctx context.Context, m *dynamo.Meter, low layout.LowMark) error {
	store := w.journal.store
	item := store.Keys.EncodeLowMark(w.pid, low, w.journal.idsAttributes(w.pid), 0)
	return store.PutMark(ctx, m, item, protocol.LowMarkRises(low), w.journal.fresh(w.active))
}

// renewMarks puts the marks of a purged id without their expiry. If the low mark has vanished since it was read, another writer
// may have begun anew below it, and this one ends with a *ConflictError: raising it again would hide what that one writes.
func (w *Writer) renewMarks(ctx context.Context, m *dynamo.Meter) error {
	if !safeguard.RenewMarks {
		return nil
	}
	store := w.journal.store.While(w.journal.fresh(w.active))
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
