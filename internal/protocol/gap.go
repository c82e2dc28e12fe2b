package protocol

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// closeGap decides on the missing numbers before slot, one partition at a time. It reads them once
// more. If some are still missing and no deletion explains that, a recovery seals them. A seal that
// finds an event returns that event. So nothing after a gap is handed out before the gap is closed,
// and nothing has to be taken back. In a native journal a gap before an event of a later write is
// an *EventMissingError, and is not sealed, unless Request.SkipMissing is set.
func (r *replay) closeGap(ctx context.Context, slot readSlot) error {
	lo, store := r.want, r.store.While(r.store.fresh())
	if last := slot.SequenceNr - 1; last-lo >= MaxHole {
		return &HoleError{r.req.PersistenceID, lo, last, r.marks.High, r.marks.Low.Seq}
	}
	hi := min(partitionEnd(lo), slot.SequenceNr-1)
	later, event, err := r.laterWrite(ctx, lo, slot)
	if err != nil {
		return err
	}
	there, err := r.store.Span(ctx, r.meter, r.req.PersistenceID, lo, hi)
	if err != nil {
		return err
	}
	at := r.stamps.stamp()
	if int64(len(there)) < hi-lo+1 {
		if e := slot.Event; e != nil && e.Batch.IsBatch() && e.Batch.Start <= hi {
			r.leaveOut(e.Batch, at)
		}
		if err := r.confirmLowMark(ctx, at); err != nil {
			return err
		}
	}
	numbers := make([]readSlot, hi-lo+1)
	known := make([]bool, len(numbers))
	for i := range numbers {
		numbers[i] = readSlot{layout.Slot{SequenceNr: lo + int64(i)}, at, true}
	}
	for _, s := range there {
		numbers[s.SequenceNr-lo] = readSlot{Slot: s, at: at}
		known[s.SequenceNr-lo] = true
	}
	if span, lost := firstMissing(lo, known, later); lost {
		if err := r.judgeMissing(ctx, span, event); err != nil {
			return err
		}
	}
	if r.req.Recover {
		sealed := func(slot layout.Slot) {
			numbers[slot.SequenceNr-lo] = readSlot{Slot: slot, at: r.stamps.stamp()}
		}
		if err := store.sealMissing(ctx, r.meter, r.req.PersistenceID, r.marks.Low.Purged, lo, known, sealed); err != nil {
			return err
		}
	}
	if !r.req.Recover {
		r.noteMissing(lo, known)
	}
	r.slots.waiting = slices.Concat(numbers, []readSlot{slot}, r.slots.waiting)
	return nil
}

// firstMissing returns the first span of numbers from lo on that are not known, up to the number
// before below. It reports whether there is one.
func firstMissing(lo int64, known []bool, below int64) (Span, bool) {
	known = known[:max(min(int64(len(known)), below-lo), 0)]
	first := slices.Index(known, false)
	if first < 0 {
		return Span{}, false
	}
	count := slices.Index(known[first:], true)
	if count < 0 {
		count = len(known) - first
	}
	return Span{lo + int64(first), lo + int64(first+count) - 1}, true
}

// noteMissing records which numbers from lo on are not known.
func (r *replay) noteMissing(lo int64, known []bool) {
	for i := 0; i < len(known); i++ {
		first := i
		for i < len(known) && !known[i] {
			i++
		}
		if i > first {
			r.progress.missing = append(r.progress.missing, Span{lo + int64(first), lo + int64(i) - 1})
		}
	}
}

// sealMissing seals the numbers from first on that are not known, in parallel. It calls sealed with
// the slot that is stored at each of them, also in parallel. purged is the last number of the
// purged lives.
func (s *Store) sealMissing(
	ctx context.Context, m *dynamo.Meter, pid string, purged, first int64, known []bool, sealed func(layout.Slot),
) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(s.Parallelism)
	for i := range known {
		if known[i] {
			continue
		}
		group.Go(func() error {
			slot, err := s.Seal(ctx, m, pid, first+int64(i), purged)
			if err == nil {
				sealed(slot)
			}
			return err
		})
	}
	return group.Wait()
}
