package protocol

import (
	"context"
	"errors"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// coversMissing reports whether a slot above the low mark shows that the missing numbers before it
// were deleted. A tombstone in a native journal does not: a purge by an earlier version has left
// it, and its low mark has vanished.
func (r *replay) coversMissing(slot readSlot) bool {
	if slot.Tombstone() && !r.store.Shared() && r.req.Recover {
		return false
	}
	return (slot.Tombstone() || slot.Low > 0) && (r.req.Recover || slot.SequenceNr-r.want > MaxHole)
}

// decideDeleted decides on a tombstone or a fence above the known low mark. The low mark is read
// again. If it is still not above the slot, it was not put yet, or in a shared journal a JVM has
// replaced it. Then a recovery puts it, because nothing up to the slot counts.
func (r *replay) decideDeleted(ctx context.Context, slot readSlot) error {
	first := min(r.want, slot.SequenceNr)
	if err := r.confirmIrregular(ctx, slot); err != nil {
		r.want = first
		return err
	}
	if !r.req.Recover {
		r.progress.decided = slot.SequenceNr
		r.noteCut(slot.Slot)
		return nil
	}
	if slot.Tombstone() && !r.store.Shared() {
		return r.sealTombstone(ctx, slot)
	}
	raises, err := r.store.RaisesLowMark(ctx, r.meter, r.req.PersistenceID, slot.Slot, r.marks)
	if err != nil {
		return err
	}
	if !raises {
		r.want, slot.Low = first, 0 // it only closes its number, as a seal does
		return r.decideSeal(ctx, slot)
	}
	low := layout.LowMark{Seq: max(slot.SequenceNr+1, slot.Low), Removed: max(r.marks.Low.Removed, 1)}
	low.Cut, low.Purged = slot.Cut(), r.marks.Low.Purged
	for _, next := range r.slots.waiting {
		if !next.Tombstone() || next.SequenceNr != low.Seq {
			break
		}
		low.Seq = max(next.SequenceNr+1, next.Low)
		low.Cut = next.Cut()
	}
	switch {
	case slot.Purges:
		low.Purged = low.Seq - 1
	case !slot.Tombstone():
		// A snapshot is newer than the journal. The items below stay, and verify reports them.
		low.Removed, low.Behind = low.Seq, r.marks.Low.Behind
	}
	if last := low.Seq - 1; last > r.top.highest {
		if err := r.store.TakeLast(ctx, r.meter, r.req.PersistenceID, last); err != nil {
			return err
		}
	}
	r.top.reach = max(r.top.reach, low.Seq)
	low = r.store.LowMarkAt(low, r.marks, r.top.highest)
	if err := r.store.RaiseLowMark(ctx, r.meter, r.req.PersistenceID, low); err != nil {
		return err
	}
	r.want = slot.SequenceNr
	return r.confirmLowMark(ctx, r.stamps.stamp())
}

// noteCut records which batch a deletion has cut, from a tombstone above the low mark. The low mark
// of that deletion also named the batch, but in a shared journal a JVM can have replaced that low
// mark.
func (r *replay) noteCut(slot layout.Slot) {
	if !slot.Cut().IsBatch() {
		return
	}
	if r.cut = slot; r.req.Low != nil {
		r.req.Low(layout.LowMark{Seq: slot.SequenceNr + 1, Removed: 1, Cut: slot.Cut()})
	}
}

// sealTombstone decides on a tombstone above the low mark of a native journal, which a purge by an
// earlier version has left. The recovery replaces the tombstone by a seal before the number counts
// as taken: two recoveries, one before and one after it has expired, would otherwise continue at
// different numbers. If the tombstone has vanished, the pages are read again.
func (r *replay) sealTombstone(ctx context.Context, slot readSlot) error {
	err := r.store.Client.Put(ctx, r.meter, dynamo.Put{
		Table:     r.store.Table,
		Item:      r.store.Keys.EncodeSeal(r.req.PersistenceID, slot.SequenceNr),
		Before:    r.store.Before,
		Condition: layout.AttrExpires + " = :expires",
		Values:    dynamo.Attributes{":expires": number(slot.Expires)},
	})
	if errors.Is(err, dynamo.ErrConditionFailed) {
		r.want = slot.SequenceNr
		return errStale
	}
	return err
}

// decideSeal decides on a seal, after closing the missing numbers before it.
func (r *replay) decideSeal(ctx context.Context, slot readSlot) error {
	if slot.SequenceNr > r.want {
		return r.closeGap(ctx, slot)
	}
	r.want++
	return nil
}

// confirmIrregular confirms the low mark after a slot that only a deletion explains. It sets want
// back, in case the low mark has moved.
func (r *replay) confirmIrregular(ctx context.Context, slot readSlot) error {
	r.want = slot.SequenceNr
	if err := r.confirmLowMark(ctx, slot.at); err != nil {
		return err
	}
	r.want++
	return nil
}

// decideOnSeal decides on a seal. In a shared journal the event that was the highest becomes a seal
// when it is deleted, so the low mark may have moved since it was read.
func (r *replay) decideOnSeal(ctx context.Context, slot readSlot) error {
	if r.store.Shared() {
		if err := r.confirmIrregular(ctx, slot); err != nil {
			return err
		}
	}
	r.progress.decided = slot.SequenceNr
	return nil
}
