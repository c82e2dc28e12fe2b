package protocol

import (
	"context"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// CloseNext seals the next number, so that no event of an earlier writer that is still in flight
// can appear there. It reports false if something else has taken the number. Then the writer has
// ended. The caller holds the turn.
//
// If the number begins a block, CloseNext puts the high mark first. The event after the seal does
// not put that mark, but readers must find the event.
func (w *Writer) CloseNext(ctx context.Context, m *dynamo.Meter) (bool, error) {
	if err := w.refresh(ctx, m); err != nil {
		return false, err
	}
	if layout.CrossesBlock(w.next, w.next) {
		if err := w.raiseHighMark(ctx, m, w.next); err != nil {
			return false, err
		}
	}
	slot, err := w.journal.Store.While(w.journal.fresh(w.active)).Seal(ctx, m, w.pid, w.next, w.low.Purged)
	if err != nil {
		return false, err
	}
	if !slot.Seal() || slot.Low != 0 {
		w.End(w.conflict(slot))
		return false, nil
	}
	w.next, w.last = w.next+1, ""
	return true, nil
}
