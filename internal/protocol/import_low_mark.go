package protocol

import (
	"context"
	"errors"
	"fmt"

	"github.com/dynajournal/dynajournal/internal/history"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// lowMark takes a low mark. The import puts it after it has compared everything that is stored.
func (in *Import) lowMark(ctx context.Context, r *history.Record) error {
	low := layout.LowMark{Seq: r.SequenceNumber, Behind: r.Behind, Purged: r.Purged}
	if low.Behind < 0 || low.Behind >= max(low.Seq, 1) {
		return in.invalid(r.SequenceNumber, "the snapshot that it relies on is not below it")
	}
	if low.Purged < 0 || low.Purged >= low.Seq {
		return in.invalid(r.SequenceNumber, "the purge that it names is not below it")
	}
	if in.journal.Store.Shared() { // a purge leaves no trace there
		low.Purged = 0
	}
	if r.BatchFirst != 0 {
		low.Cut = layout.Batch{Start: r.BatchFirst, Last: r.BatchLast, WriterUUID: r.WriterUUID}
		if low.Cut.Start < 1 || low.Cut.Start >= low.Seq || low.Cut.Last < low.Seq {
			return in.invalid(r.SequenceNumber, "it does not cut the atomic write that it names")
		}
	}
	known := in.currentLow()
	switch {
	case low.Purged < known.Purged:
		return in.purgedHere(low.Seq)
	case low.Seq < known.Seq:
		return in.conflict(low.Seq, fmt.Sprintf("it is deleted in the target, where the low mark is %d", known.Seq))
	case low.Seq > known.Seq: // the records continue there
		in.next = max(in.next, low.Seq)
	// A replay that begins after the low mark does not know which batch a JVM's low mark cuts.
	case !low.Cut.IsBatch():
		low.Cut, low.JVM = known.Cut, known.JVM
	case known.Cut.IsBatch() && known.Cut != low.Cut:
		return in.conflict(low.Seq, fmt.Sprintf("the low mark in the target cuts another atomic write, %d to %d",
			known.Cut.Start, known.Cut.Last))
	}
	in.last = max(in.last, low.Seq-1)
	low.Behind = max(low.Behind, known.Behind)
	if low.Seq == in.low.Seq && low.Cut == in.low.Cut && low.Behind == in.low.Behind &&
		low.Purged == in.low.Purged && in.low.Removed >= low.Seq {
		return nil
	}
	if err := in.findUnmarked(ctx, low.Seq); err != nil {
		return err
	}
	if in.pending = &low; in.allCompared {
		return in.finishComparison(ctx)
	}
	return nil
}

// purgedHere returns the error of a history that was not purged as far as the target. Its numbers
// would be used again.
func (in *Import) purgedHere(seq int64) error {
	return in.conflict(seq, fmt.Sprintf("the target was purged up to %d, but the copied history was not: "+
		"purge the persistence id there, with all its items at once, or copy to another journal", in.currentLow().Purged))
}

// findUnmarked searches for items that no mark leads to, in the partitions around a low mark that
// is going to be put. A low mark above everything that is known must not hide any of these items.
func (in *Import) findUnmarked(ctx context.Context, low int64) error {
	if low <= in.tip+1 {
		return nil
	}
	store, found := in.journal.Store, int64(0)
	for block := (low - 1) / layout.PartitionSize; block <= low/layout.PartitionSize; block++ {
		slots, err := store.Partition(ctx, &in.meter, in.pid, block)
		if err != nil {
			return err
		}
		if n := len(slots); n > 0 {
			found = slots[n-1].SequenceNr
		}
	}
	if found <= in.tip {
		return in.pace(ctx)
	}
	highest, err := store.Highest(ctx, &in.meter, in.pid, layout.Marks{Low: in.low, High: layout.HighestBlock(found)})
	if err != nil {
		return err
	}
	if in.allCompared {
		return in.changedMeanwhile(highest)
	}
	in.highest, in.tip = highest, highest
	return in.pace(ctx)
}

// raiseLowMark raises the low mark of the target, before anything after it is written, and removes
// the deleted events.
func (in *Import) raiseLowMark(ctx context.Context, low layout.LowMark) error {
	seen := in.journal.Clock.Now()
	if err := in.checkCommonHistory(ctx, low); err != nil {
		return err
	}
	if err := in.checkUnchanged(ctx, low); err != nil {
		return err
	}
	if err := in.journal.CheckClock(in.start); err != nil {
		return err
	}
	stored := in.tip
	// An import or a deletion was interrupted: no low mark leads to the last event.
	if in.low.Removed < in.low.Seq {
		var err error
		if stored, err = in.journal.Store.Highest(ctx, &in.meter, in.pid, layout.Marks{High: in.hint}); err != nil {
			return err
		}
	}
	first, last := in.journal.removalStart(in.low), min(stored, low.Seq-1)
	low.Removed = low.Seq
	if first <= last {
		low.Removed = first
	}
	if low.Seq == in.low.Seq {
		low.Ahead = in.low.Ahead
	} else {
		low = in.journal.Store.LowMarkAt(low, layout.Marks{JVMLow: in.jvmLow}, in.tip)
	}
	if err := in.takeLast(ctx, low.Seq-1); err != nil {
		return err
	}
	r := &remover{journal: in.journal, pid: in.pid, next: max(in.tip+1, low.Seq), lowSeen: seen}
	if err := in.putLowMark(ctx, r, low); err != nil {
		return err
	}
	err := in.pace(ctx)
	for err == nil && low.Removed < low.Seq {
		if first, err = r.journal.Store.SkipHole(ctx, &in.meter, in.pid, low.Removed, last); err != nil {
			break
		}
		end := min(first+progressStep, last+1)
		if err = r.putTombstones(ctx, &in.meter, first, end); err == nil {
			if low.Removed = end; end > last {
				low.Removed = low.Seq
			}
			err = errors.Join(r.putProgress(ctx, &in.meter, low), in.pace(ctx))
		}
	}
	in.low, in.tip, in.block = low, max(in.tip, low.Seq-1), -1
	in.jvmLow = max(in.jvmLow, low.JVMSeq())
	return err
}

// takeLast makes sure that a JVM finds the last number below a low mark, if that number is above
// everything stored.
func (in *Import) takeLast(ctx context.Context, last int64) error {
	if last <= in.tip {
		return nil
	}
	store := in.journal.Store
	if err := store.TakeLast(ctx, &in.meter, in.pid, last); err != nil {
		return err
	}
	if store.Shared() { // TakeLast has also put its high mark
		in.high = max(in.high, layout.HighestBlock(last))
	}
	return in.pace(ctx)
}

// putLowMark puts the low mark that raiseLowMark has computed.
func (in *Import) putLowMark(ctx context.Context, r *remover, low layout.LowMark) error {
	if low.Seq == in.low.Seq {
		return r.putProgress(ctx, &in.meter, low)
	}
	if err := in.journal.Store.RaiseLowMark(ctx, &in.meter, in.pid, low); err != nil {
		return fmt.Errorf("put the low mark: %w", err)
	}
	return nil
}

// checkCommonHistory checks that a low mark does not remove an event that may belong to another
// history.
func (in *Import) checkCommonHistory(ctx context.Context, low layout.LowMark) error {
	from, to := max(in.equal+1, in.low.First()), min(in.tip, low.Seq-1)
	if from > to {
		return nil
	}
	store, marks := in.journal.Store, layout.Marks{Low: in.low, High: in.hint}
	first, last := from/layout.PartitionSize, to/layout.PartitionSize
	return store.EachExisting(ctx, &in.meter, in.pid, marks, first, last, func(p int64) (bool, error) {
		slots, err := store.Partition(ctx, &in.meter, in.pid, p)
		if err != nil {
			return false, err
		}
		for _, slot := range slots {
			if slot.Event != nil && slot.SequenceNr >= from && slot.SequenceNr <= to {
				return true, in.conflict(slot.SequenceNr, fmt.Sprintf("an event of writer %s is stored in the target, but the copied history is deleted up to %d: "+
					"they have nothing in common: purge the persistence id there, with all its items at once, or copy to another journal",
					slot.Event.WriterUUID, low.Seq-1))
			}
		}
		return len(slots) > 0, nil
	})
}
