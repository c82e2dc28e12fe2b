package protocol

import (
	"context"

	"github.com/dynajournal/dynajournal/internal/layout"
)

// decideDeleted decides on a tombstone or a fence above the known low mark. The low mark is read
// again. If it is still not above the slot, it has vanished (of a purged id, whose items expire in
// any order), or was not put yet. Then a recovery puts it, because nothing up to the slot counts.
// It holds the tombstone first: if that vanished too, another recovery would see nothing at all,
// and start at a number that the raised low mark would hide.
func (r *replay) decideDeleted(ctx context.Context, slot readSlot) error {
	first := min(r.want, slot.SequenceNr)
	if err := r.confirmIrregular(ctx, slot); err != nil {
		r.want = first
		return err
	}
	if !r.req.Recover {
		r.decided = slot.SequenceNr
		r.noteCut(slot.Slot)
		return nil
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
	low.Cut = slot.Cut()
	for _, next := range r.queue {
		if !next.Tombstone() || next.SequenceNr != low.Seq {
			break
		}
		low.Seq = max(next.SequenceNr+1, next.Low)
		low.Cut = next.Cut()
	}
	switch {
	case !slot.Tombstone():
		// A snapshot is newer than the journal. The items below stay, and verify reports them.
		low.Removed, low.Behind = low.Seq, r.marks.Low.Behind
	default:
		// It is of a purge, which needs no snapshot.
		held, err := r.store.Hold(ctx, r.meter, r.req.PersistenceID, slot.Slot, low)
		if err != nil {
			return err
		}
		if !held {
			r.want = first // somebody may have started again there since
			return errLowMoved
		}
	}
	if last := low.Seq - 1; last > r.highest {
		if err := r.store.TakeLast(ctx, r.meter, r.req.PersistenceID, last); err != nil {
			return err
		}
	}
	r.reach = max(r.reach, low.Seq)
	low = r.store.LowMarkAt(low, r.marks, r.highest)
	if err := r.store.RaiseLowMark(ctx, r.meter, r.req.PersistenceID, low); err != nil {
		return err
	}
	r.want = slot.SequenceNr
	return r.confirmLowMark(ctx, r.stamps.stamp())
}

// noteCut takes from a tombstone above the low mark which batch its deletion has cut. The low mark
// of that deletion named it too, but in a shared journal a JVM can have replaced that low mark.
func (r *replay) noteCut(slot layout.Slot) {
	if !slot.Cut().IsBatch() {
		return
	}
	if r.cut = slot; r.req.Low != nil {
		r.req.Low(layout.LowMark{Seq: slot.SequenceNr + 1, Removed: 1, Cut: slot.Cut()})
	}
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
// back, for the case that the low mark has moved.
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
	r.decided = slot.SequenceNr
	return nil
}
