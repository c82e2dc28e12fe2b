package protocol

import (
	"context"
	"fmt"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// closeLastWrite seals the missing members of the atomic write that ends at the highest number. A
// fence at the next number stops every writer that still has to take that number. It does not stop
// one whose last member is stored, and whose other members are still on their way: the write would
// be acknowledged below the low mark. A write that ends higher has its next member at the fence.
func (w *Writer) closeLastWrite(ctx context.Context, m *dynamo.Meter) error {
	last := w.next - 1
	if last < 1 {
		return nil
	}
	store := w.journal.Store.While(w.journal.fresh(w.active))
	slot, err := store.MetSlot(ctx, m, w.pid, last, nil)
	if err != nil || slot.Event == nil || slot.Event.Batch.Last != last {
		return err
	}
	first := max(slot.Event.Batch.Start, w.low.First(), last-MaxHole)
	for lo := first; lo < last; lo = partitionEnd(lo) + 1 {
		if err := w.sealFree(ctx, m, store, Span{lo, min(partitionEnd(lo), last-1)}); err != nil {
			return fmt.Errorf("close the atomic write %d to %d: %w", first, last, err)
		}
	}
	return nil
}

// sealFree seals the numbers of a span, all of one partition, at which nothing is stored.
func (w *Writer) sealFree(ctx context.Context, m *dynamo.Meter, store *Store, span Span) error {
	slots, err := store.Span(ctx, m, w.pid, span.First, span.Last)
	if err != nil {
		return err
	}
	known := make([]bool, span.Last-span.First+1)
	for _, slot := range slots {
		known[slot.SequenceNr-span.First] = true
	}
	return store.sealMissing(ctx, m, w.pid, w.low.Purged, span.First, known, func(layout.Slot) {})
}
