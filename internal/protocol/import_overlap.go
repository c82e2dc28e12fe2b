package protocol

import (
	"context"
	"errors"
	"fmt"

	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/safeguard"
)

// overlap is the part of an import at which the target holds something. It is compared as a whole
// before anything is changed. What is missing is held until then, and the low mark of the records
// is pending: to raise it removes events of the target, which can be compared with nothing, as they
// are deleted in the source.
//
// They may be removed where an event behind them was compared equal. An event at one number by one
// writer is one write, whoever has copied it, and that writer had read all events before it. So the
// events below are those that were deleted in the source.
type overlap struct {
	// settled reports that everything was compared, and changes may be made.
	settled bool
	// equal is the highest number at which an event was compared equal; all below it is one
	// history.
	equal int64
	// pending is the low mark that the records have told last and that is not put yet; nil if there
	// is none.
	pending *layout.LowMark

	held       []func(context.Context) error
	heldEvents int
	heldBytes  int
}

// lowest is the low mark by which the records that follow are judged.
func (in *Import) lowest() layout.LowMark {
	if in.pending != nil {
		return *in.pending
	}
	return in.low
}

// compares reports whether the target may hold something behind a number that was not compared yet.
func (in *Import) compares(seq int64) bool {
	return safeguard.CopyCompared && !in.settled && seq < in.highest
}

// hold holds what is to be written until everything was compared. An interrupted copy leaves out no
// more than members of one atomic write, and no more events are held.
func (in *Import) hold(missing []*layout.Event, write func(context.Context) error) error {
	in.held = append(in.held, write)
	for _, e := range missing {
		in.heldEvents++
		in.heldBytes += len(e.Bytes)
		if in.heldEvents > in.journal.MaxBatchEvents || in.heldBytes > in.journal.MaxBatchBytes {
			return in.conflict(e.SequenceNr, "it is missing here, with more before something that is here than an interrupted copy leaves")
		}
	}
	return nil
}

// settle ends the comparison, and makes the changes that waited for it: first the low mark, then
// what was missing.
func (in *Import) settle(ctx context.Context) error {
	if low := in.pending; low != nil {
		if err := in.raise(ctx, *low); err != nil {
			return err
		}
		in.pending = nil
	}
	if in.settled {
		return nil
	}
	in.settled, in.equal = true, max(in.equal, in.highest)
	held := in.held
	in.held = nil
	for _, write := range held {
		if err := write(ctx); err != nil {
			return err
		}
	}
	return in.raiseHighMark(ctx, in.highest)
}

// unseen looks for what no mark leads to in the partitions at which a low mark is to be put: where
// it would be the only thing that is known of the id, it must hide nothing that is stored.
func (in *Import) unseen(ctx context.Context, low int64) error {
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
	if in.settled {
		return in.moved(highest)
	}
	in.highest, in.tip = highest, highest
	return in.pace(ctx)
}

// raise raises the low mark of the target, before anything behind it is written, and removes what
// it deletes.
func (in *Import) raise(ctx context.Context, low layout.LowMark) error {
	seen := in.journal.Clock.Now()
	if err := in.unchanged(ctx); err != nil {
		return err
	}
	if err := in.journal.checkClock(in.began); err != nil {
		return err
	}
	if err := in.common(ctx, low); err != nil {
		return err
	}
	stored := in.tip
	if in.low.Removed < in.low.Seq { // an import or a deletion was cut short: no low mark says where the last event is
		var err error
		if stored, err = in.journal.Store.Highest(ctx, &in.meter, in.pid, layout.Marks{High: in.hint}); err != nil {
			return err
		}
	}
	first, last := in.journal.removalBegin(in.low), min(stored, low.Seq-1)
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
	for ; err == nil && low.Removed < low.Seq; first = low.Removed {
		end := min(first+progressStep, last+1)
		if err = r.entomb(ctx, &in.meter, first, end); err == nil {
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

// takeLast makes the last number below a low mark one that a JVM finds, where that is above all
// that is stored.
func (in *Import) takeLast(ctx context.Context, last int64) error {
	if last <= in.tip {
		return nil
	}
	store := in.journal.Store
	if err := store.TakeLast(ctx, &in.meter, in.pid, last); err != nil {
		return err
	}
	if store.Shared() { // its high mark is put, too
		in.high = max(in.high, layout.HighestBlock(last))
	}
	return in.pace(ctx)
}

// putLowMark puts the low mark that raise has worked out.
func (in *Import) putLowMark(ctx context.Context, r *remover, low layout.LowMark) error {
	if low.Seq == in.low.Seq && !in.expiring {
		return r.putProgress(ctx, &in.meter, low)
	}
	if err := in.journal.Store.RaiseLowMark(ctx, &in.meter, in.pid, low); err != nil {
		return fmt.Errorf("put the low mark: %w", err)
	}
	in.expiring = false
	return nil
}

// unchanged checks that nobody has written or deleted here since the import began: that was not
// compared.
func (in *Import) unchanged(ctx context.Context) error {
	if in.equal == 0 || !safeguard.CopyUnchanged { // else what is stored was read just before
		return nil
	}
	marks, highest, err := in.journal.Store.Bounds(ctx, &in.meter, in.pid)
	if err != nil {
		return err
	}
	if marks.Low != in.low || highest != in.tip {
		return in.moved(highest)
	}
	return in.pace(ctx)
}

// moved is the error of an import whose target another has used meanwhile.
func (in *Import) moved(highest int64) error {
	return in.conflict(highest, fmt.Sprintf("another writer has used it while it was copied: the highest number was %d, and is %d", in.tip, highest))
}

// common checks that a low mark removes no event that is not known to be of the same history. It
// looks down from the highest, as there an event is most likely.
func (in *Import) common(ctx context.Context, low layout.LowMark) error {
	from, to := max(in.equal+1, in.low.First()), min(in.tip, low.Seq-1)
	for block := to / layout.PartitionSize; from <= to && block >= from/layout.PartitionSize; block-- {
		slots, err := in.journal.Store.Partition(ctx, &in.meter, in.pid, block)
		if err != nil {
			return err
		}
		for _, slot := range slots {
			if slot.Event != nil && slot.SequenceNr >= from && slot.SequenceNr <= to {
				return in.conflict(slot.SequenceNr, fmt.Sprintf("an event of writer %s is here, and the history that is copied is deleted up to %d: "+
					"they have nothing in common: purge the persistence id here, with all its items at once, or copy to another journal",
					slot.Event.WriterUUID, low.Seq-1))
			}
		}
	}
	return nil
}
