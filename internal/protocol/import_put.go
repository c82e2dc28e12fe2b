package protocol

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// writeAll puts events in parallel.
func (in *Import) writeAll(ctx context.Context, items []layout.Attributes, events []*layout.Event) error {
	if len(items) == 0 {
		return nil
	}
	group, writing := errgroup.WithContext(ctx)
	group.SetLimit(in.journal.Store.Parallelism)
	for i := range items {
		group.Go(func() error { return in.write(writing, items[i], events[i]) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	in.Written += int64(len(events))
	return in.pace(ctx)
}

// write puts an event. If the same event is stored already, that is a success. Any other item at
// its number is an error.
func (in *Import) write(ctx context.Context, item layout.Attributes, e *layout.Event) error {
	slot, exists, err := in.putNew(ctx, e.SequenceNr, item, nil)
	if err != nil || !exists {
		return err
	}
	return in.checkSame(slot, e)
}

// putNew puts an item at a sequence number under the condition that nothing is stored there. If
// something is stored, putNew returns it and reports true. before is the Before of the
// [dynamo.Put].
func (in *Import) putNew(
	ctx context.Context, seq int64, item layout.Attributes, before func() error,
) (slot layout.Slot, exists bool, err error) {
	return in.journal.Store.putIfFree(ctx, &in.meter, in.pid, seq, dynamo.Put{Item: item, Before: before})
}

// checkSame fails unless the slot has the event e.
func (in *Import) checkSame(slot layout.Slot, e *layout.Event) error {
	switch {
	case slot.Event == nil:
		return in.conflict(e.SequenceNr, "it is deleted or sealed in the target")
	case !layout.SameEvent(slot, e):
		return in.conflict(e.SequenceNr,
			fmt.Sprintf("another event of writer %s is stored in the target", slot.Event.WriterUUID))
	}
	return nil
}

// closeNumbers seals the numbers that are not taken. Later numbers are written after that.
func (in *Import) closeNumbers(ctx context.Context, first, last int64) error {
	missing, err := in.notTaken(ctx, first, last)
	if err != nil {
		return err
	}
	return in.writeOrDefer(ctx, first, last, nil, func(ctx context.Context) error {
		for _, s := range missing {
			if err := in.sealSpan(ctx, s); err != nil {
				return err
			}
		}
		return nil
	})
}

// notTaken returns the numbers at which nothing is stored. It fails if an event is stored at one of
// the others.
func (in *Import) notTaken(ctx context.Context, first, last int64) ([]Span, error) {
	var missing []Span
	for seq := first; seq <= last; seq++ {
		slot, there, err := in.slotAt(ctx, seq)
		switch n := len(missing); {
		case err != nil:
			return nil, err
		case there && slot.Event != nil:
			return nil, in.conflict(seq, fmt.Sprintf("an event of writer %s is stored in the target, but not in the source",
				slot.Event.WriterUUID))
		case there:
			if err := in.checkStays(ctx, slot); err != nil {
				return nil, err
			}
		case n > 0 && missing[n-1].Last == seq-1 && seq%layout.PartitionSize != 0:
			missing[n-1].Last = seq
		default:
			missing = append(missing, Span{seq, seq})
		}
	}
	return missing, nil
}

// checkStays fails if the next recovery would raise the low mark over a number that is taken: that
// would hide the events that the import writes.
func (in *Import) checkStays(ctx context.Context, slot layout.Slot) error {
	if slot.SequenceNr < in.currentLow().First() {
		return nil
	}
	marks := layout.Marks{Low: in.low, High: in.hint}
	raises, err := in.journal.Store.RaisesLowMark(ctx, &in.meter, in.pid, slot, marks)
	if err == nil && raises {
		err = in.conflict(slot.SequenceNr,
			"a purge, or a recovery after a snapshot, was interrupted in the target: recover the persistence id first")
	}
	return err
}

// sealSpan seals numbers of one partition.
func (in *Import) sealSpan(ctx context.Context, s Span) error {
	return in.eachNumber(ctx, s, func(ctx context.Context, seq int64) error {
		slot, err := in.journal.Store.Seal(ctx, &in.meter, in.pid, seq, in.currentLow().Purged)
		if err != nil {
			return err
		}
		return in.checkNoEvent(slot, seq)
	})
}

// eachNumber calls do for every number of a span, several at a time.
func (in *Import) eachNumber(ctx context.Context, s Span, do func(ctx context.Context, seq int64) error) error {
	group, working := errgroup.WithContext(ctx)
	group.SetLimit(in.journal.Store.Parallelism)
	for seq := s.First; seq <= s.Last && working.Err() == nil; seq++ {
		group.Go(func() error { return do(working, seq) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return in.pace(ctx)
}

// putDeleted puts tombstones at deleted numbers where nothing is stored, so that they stay taken.
func (in *Import) putDeleted(ctx context.Context, first, last int64) error {
	if last < first || last >= in.currentLow().Seq || last-first >= maxSpan {
		return in.invalid(first, "deleted numbers must lie below the low mark")
	}
	if in.allCompared {
		return in.putMissingTombstones(ctx, first, last)
	}
	// Below this number the pending low mark removes nothing, so no event may be stored there.
	if _, err := in.notTaken(ctx, first, min(last, in.low.Removed-1)); err != nil {
		return err
	}
	return in.deferWrite(nil, func(ctx context.Context) error { return in.putMissingTombstones(ctx, first, last) })
}

// putMissingTombstones puts tombstones where nothing is stored, each under that condition: an event
// that was not removed does not belong to this history. In a shared journal it does not put any
// into the block of the highest deleted number: a late tombstone could be the last item that a JVM
// finds there.
func (in *Import) putMissingTombstones(ctx context.Context, first, last int64) error {
	if in.journal.Store.Shared() {
		last = min(last, layout.HighestBlock(in.low.Seq-1)-1)
	}
	missing, err := in.notTaken(ctx, first, last)
	if err != nil || len(missing) == 0 {
		return err
	}
	if err := in.journal.CheckClock(in.start); err != nil {
		return err
	}
	r := &remover{journal: in.journal, pid: in.pid, next: in.low.Seq}
	for _, s := range missing {
		if err := in.eachNumber(ctx, s, func(ctx context.Context, seq int64) error {
			return putWithExpiry(in.journal, func(expires int64, fresh func() error) error {
				return in.putTombstone(ctx, seq, r.tombstone(seq, expires), fresh)
			})
		}); err != nil {
			return err
		}
	}
	return nil
}

// putTombstone puts a tombstone under the condition that nothing is stored there. Only an event
// that is stored there is an error.
func (in *Import) putTombstone(ctx context.Context, seq int64, item layout.Attributes, fresh func() error) error {
	slot, _, err := in.putNew(ctx, seq, item, fresh)
	if err != nil {
		return err
	}
	return in.checkNoEvent(slot, seq)
}

// checkNoEvent fails if a slot that was just read or sealed has an event.
func (in *Import) checkNoEvent(slot layout.Slot, seq int64) error {
	if slot.Event == nil {
		return nil
	}
	return in.conflict(seq, fmt.Sprintf("writer %s has written it meanwhile", slot.Event.WriterUUID))
}

// raiseHighMark puts the high mark that a number needs, unless one as high is stored.
func (in *Import) raiseHighMark(ctx context.Context, seq int64) error {
	mark := layout.HighestBlock(seq)
	if mark <= in.high {
		return nil
	}
	if err := in.journal.Store.RaiseHighMark(ctx, &in.meter, in.pid, seq, nil); err != nil {
		return fmt.Errorf("put the high mark: %w", err)
	}
	in.high = mark
	return in.pace(ctx)
}
