package protocol

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/safeguard"
)

// gap decides on the numbers missing before slot, those of one partition at a time: they are read
// once more; if some are still missing, no deletion explains it, and the reader is going to write,
// then they are sealed. A seal that meets an event reads it. So nothing behind a gap is handed out
// before the gap is closed, and nothing has to be taken back.
func (r *run) gap(ctx context.Context, slot read) error {
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
	at := r.sequence.stamp()
	if int64(len(there)) < hi-lo+1 {
		if e := slot.Event; e != nil && e.Batch.IsBatch() && e.Batch.Start <= hi {
			r.leave(e.Batch, at)
		}
		if err := r.confirmLowMark(ctx, at); err != nil {
			return err
		}
	}
	numbers := make([]read, hi-lo+1)
	known := make([]bool, len(numbers))
	for i := range numbers {
		numbers[i] = read{layout.Slot{SequenceNr: lo + int64(i)}, at, true}
	}
	for _, s := range there {
		numbers[s.SequenceNr-lo] = read{Slot: s, at: at}
		known[s.SequenceNr-lo] = true
	}
	if r.req.Recover && safeguard.Seal {
		if err := r.seal(ctx, store, numbers, known); err != nil {
			return err
		}
	}
	if !r.req.Recover {
		r.miss(lo, known)
	}
	r.queue = slices.Concat(numbers, []read{slot}, r.queue)
	return nil
}

// miss notes which numbers from lo on are not known.
func (r *run) miss(lo int64, known []bool) {
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

// seal closes the numbers that are not known, at the same time, by a store that checks how old that
// knowledge is.
func (r *run) seal(ctx context.Context, store *Store, numbers []read, known []bool) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(r.store.Parallelism)
	for i := range numbers {
		if known[i] {
			continue
		}
		group.Go(func() error {
			slot, err := store.Seal(ctx, r.meter, r.req.PersistenceID, numbers[i].SequenceNr)
			numbers[i] = read{Slot: slot, at: r.sequence.stamp()}
			return err
		})
	}
	return group.Wait()
}
