package protocol

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/safeguard"
)

// closeGap decides on the missing numbers before slot, one partition at a time. It reads them once
// more. If some are still missing and no deletion explains that, a recovery seals them. A seal that
// finds an event returns that event. So nothing after a gap is handed out before the gap is closed,
// and nothing has to be taken back.
func (r *replay) closeGap(ctx context.Context, slot readSlot) error {
	lo, store := r.want, r.store.While(r.store.fresh())
	if last := slot.SequenceNr - 1; last-lo >= MaxHole {
		return &HoleError{r.req.PersistenceID, lo, last, r.marks.High, r.marks.Low.Seq}
	}
	hi := min(partitionEnd(lo), slot.SequenceNr-1)
	var there []layout.Slot
	if safeguard.GapReread {
		var err error
		if there, err = r.store.Span(ctx, r.meter, r.req.PersistenceID, lo, hi); err != nil {
			return err
		}
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
	if r.req.Recover && safeguard.Seal {
		if err := r.sealMissing(ctx, store, numbers, known); err != nil {
			return err
		}
	}
	if !r.req.Recover {
		r.noteMissing(lo, known)
	}
	r.queue = slices.Concat(numbers, []readSlot{slot}, r.queue)
	return nil
}

// noteMissing records which numbers from lo on are not known.
func (r *replay) noteMissing(lo int64, known []bool) {
	for i := 0; i < len(known); i++ {
		first := i
		for i < len(known) && !known[i] {
			i++
		}
		if i > first {
			r.missing = append(r.missing, Span{lo + int64(first), lo + int64(i) - 1})
		}
	}
}

// sealMissing seals the numbers that are not known, in parallel. store checks the age of that
// knowledge.
func (r *replay) sealMissing(ctx context.Context, store *Store, numbers []readSlot, known []bool) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(r.store.Parallelism)
	for i := range numbers {
		if known[i] {
			continue
		}
		group.Go(func() error {
			slot, err := store.Seal(ctx, r.meter, r.req.PersistenceID, numbers[i].SequenceNr)
			numbers[i] = readSlot{Slot: slot, at: r.stamps.stamp()}
			return err
		})
	}
	return group.Wait()
}
