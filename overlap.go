package dynajournal

import (
	"context"
	"errors"
	"fmt"

	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/safeguard"
)

// overlap is the part of a copy at which the target holds something: it is compared as a whole
// before anything is changed. What the comparison shows to be missing is held until then, and the
// low mark of the records is pending: to raise it removes events of the target, which can be
// compared with nothing, as they are deleted where the copy comes from.
//
// They may go where the event behind them was compared equal. An event at one number by one writer
// is one write, whoever has copied it, and that writer had read all events before: so the events
// below are those that were deleted in the source.
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
func (p *putting) lowest() layout.LowMark {
	if p.pending != nil {
		return *p.pending
	}
	return p.low
}

// compares reports whether the target may hold something behind a number that was not compared yet.
func (p *putting) compares(seq int64) bool {
	return safeguard.CopyCompared && !p.settled && seq < p.highest
}

// hold holds what is to be written until everything was compared. An interrupted copy leaves out no
// more than members of one atomic write, and no more events are held.
func (p *putting) hold(missing []*layout.Event, write func(context.Context) error) error {
	p.held = append(p.held, write)
	for _, e := range missing {
		p.heldEvents++
		p.heldBytes += len(e.Bytes)
		if p.heldEvents > p.journal.config.MaxBatchEvents || p.heldBytes > p.journal.config.MaxBatchBytes {
			return p.conflict(e.SequenceNr, "it is missing here, with more before something that is here than an interrupted copy leaves")
		}
	}
	return nil
}

// settle ends the comparison, and makes the changes that waited for it: first the low mark, then
// what was missing.
func (p *putting) settle(ctx context.Context) error {
	if low := p.pending; low != nil {
		if err := p.raise(ctx, *low); err != nil {
			return err
		}
		p.pending = nil
	}
	if p.settled {
		return nil
	}
	p.settled, p.equal = true, max(p.equal, p.highest)
	held := p.held
	p.held = nil
	for _, write := range held {
		if err := write(ctx); err != nil {
			return err
		}
	}
	return p.raiseHighMark(ctx, p.highest)
}

// unseen looks for what no mark leads to in the partitions at which a low mark is to be put: where
// it would be the only thing that is known of the id, nothing must be there that it hides.
func (p *putting) unseen(ctx context.Context, low int64) error {
	if low <= p.tip+1 {
		return nil
	}
	store, found := p.journal.store, int64(0)
	for block := (low - 1) / layout.PartitionSize; block <= low/layout.PartitionSize; block++ {
		slots, err := store.Partition(ctx, &p.meter, p.pid, block)
		if err != nil {
			return err
		}
		if n := len(slots); n > 0 {
			found = slots[n-1].SequenceNr
		}
	}
	if found <= p.tip {
		return p.pace(ctx)
	}
	highest, err := store.Highest(ctx, &p.meter, p.pid, layout.Marks{Low: p.low, High: layout.HighestBlock(found)})
	if err != nil {
		return err
	}
	if p.settled {
		return p.moved(highest)
	}
	p.highest, p.tip = highest, highest
	return p.pace(ctx)
}

// raise raises the low mark here, before anything behind it is written, and removes what it
// deletes.
func (p *putting) raise(ctx context.Context, low layout.LowMark) error {
	seen := p.journal.clock.Now()
	if err := p.unchanged(ctx); err != nil {
		return err
	}
	if err := p.journal.checkClock(p.began); err != nil {
		return err
	}
	if err := p.common(ctx, low); err != nil {
		return err
	}
	stored := p.tip
	if p.low.Removed < p.low.Seq { // a copy or a deletion was cut short: how far there is something to remove, no low mark says
		var err error
		if stored, err = p.journal.store.Highest(ctx, &p.meter, p.pid, layout.Marks{High: p.hint}); err != nil {
			return err
		}
	}
	first, last := p.journal.removalBegin(p.low), min(stored, low.Seq-1)
	low.Removed = low.Seq
	if first <= last {
		low.Removed = first
	}
	if low.Seq == p.low.Seq {
		low.Ahead = p.low.Ahead
	} else {
		low = p.journal.store.LowMarkAt(low, layout.Marks{JVMLow: p.jvmLow}, p.tip)
	}
	if err := p.takeLast(ctx, low.Seq-1); err != nil {
		return err
	}
	w := &Writer{journal: p.journal, pid: p.pid, next: max(p.tip+1, low.Seq), lowSeen: seen}
	if err := p.putLowMark(ctx, w, low); err != nil {
		return err
	}
	err := p.pace(ctx)
	for ; err == nil && low.Removed < low.Seq; first = low.Removed {
		end := min(first+progressStep, last+1)
		if err = w.entomb(ctx, &p.meter, first, end); err == nil {
			if low.Removed = end; end > last {
				low.Removed = low.Seq
			}
			err = errors.Join(w.putProgress(ctx, &p.meter, low), p.pace(ctx))
		}
	}
	p.low, p.tip, p.block = low, max(p.tip, low.Seq-1), -1
	p.jvmLow = max(p.jvmLow, low.JVMSeq())
	return err
}

// takeLast makes the last number below a low mark one that a JVM finds, where that is above all
// that is stored.
func (p *putting) takeLast(ctx context.Context, last int64) error {
	if last <= p.tip {
		return nil
	}
	store := p.journal.store
	if err := store.TakeLast(ctx, &p.meter, p.pid, last); err != nil {
		return err
	}
	if store.Shared() { // its high mark is put, too
		p.high = max(p.high, layout.HighestBlock(last))
	}
	return p.pace(ctx)
}

func (p *putting) putLowMark(ctx context.Context, w *Writer, low layout.LowMark) error {
	if low.Seq == p.low.Seq && !p.expiring {
		return w.putProgress(ctx, &p.meter, low)
	}
	if err := p.journal.store.RaiseLowMark(ctx, &p.meter, p.pid, low); err != nil {
		return fmt.Errorf("put the low mark: %w", err)
	}
	p.expiring = false
	return nil
}

// unchanged checks that nobody has written or deleted here since the copy began: who has, has
// written what was not compared.
func (p *putting) unchanged(ctx context.Context) error {
	if p.equal == 0 || !safeguard.CopyUnchanged { // nothing was compared equal yet: what is here was read just before
		return nil
	}
	store := p.journal.store
	marks, err := store.Marks(ctx, &p.meter, p.pid)
	if err != nil {
		return err
	}
	highest, err := store.Highest(ctx, &p.meter, p.pid, marks)
	if err != nil {
		return err
	}
	if marks.Low != p.low || highest != p.tip {
		return p.moved(highest)
	}
	return p.pace(ctx)
}

func (p *putting) moved(highest int64) error {
	return p.conflict(highest, fmt.Sprintf("another writer has used it while it was copied: the highest number was %d, and is %d", p.tip, highest))
}

// common checks that a low mark removes no event that is not known to be of the same history. It
// looks down from the highest, as there an event is most likely.
func (p *putting) common(ctx context.Context, low layout.LowMark) error {
	from, to := max(p.equal+1, p.low.First()), min(p.tip, low.Seq-1)
	for block := to / layout.PartitionSize; from <= to && block >= from/layout.PartitionSize; block-- {
		slots, err := p.journal.store.Partition(ctx, &p.meter, p.pid, block)
		if err != nil {
			return err
		}
		for _, slot := range slots {
			if slot.Event != nil && slot.SequenceNr >= from && slot.SequenceNr <= to {
				return p.conflict(slot.SequenceNr, fmt.Sprintf("an event of writer %s is here, and the history that is copied is deleted up to %d: "+
					"they have nothing in common: purge the persistence id here, with all its items at once, or copy to another journal",
					slot.Event.WriterUUID, low.Seq-1))
			}
		}
	}
	return nil
}
