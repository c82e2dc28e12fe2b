package protocol

import (
	"context"

	"github.com/dynajournal/dynajournal/internal/layout"
)

// beforeSnapshot is the highest number of a recovery after a snapshot that lies above highest,
// where the marks lead. The marks are hints: a journal whose partition lacks its last number, and
// that has no high marks, goes on where they do not lead. A low mark that was raised to the
// snapshot would hide all of that. So the snapshot's own partition is read before, and the one
// behind it, as the numbers between can be holes. Where nothing is in them, the partitions behind
// the highest number are read, as far as something is in them.
func (r *run) beforeSnapshot(ctx context.Context, highest int64) (int64, error) {
	known, last := highest/layout.PartitionSize, (r.req.From-1)/layout.PartitionSize
	for p := min(last+1, everywhere.last); p >= max(last, known+1); p-- {
		top, err := r.store.top(ctx, r.meter, r.req.PersistenceID, p)
		if err != nil {
			return 0, err
		}
		if top > 0 {
			r.high = max(r.high, layout.HighestBlock(top)) // a new reading has to come as far
			marks := r.marks
			marks.High = layout.HighestBlock(top)
			return r.store.Highest(ctx, r.meter, r.req.PersistenceID, marks)
		}
	}
	for p := known + 1; p < last; p++ {
		top, err := r.store.top(ctx, r.meter, r.req.PersistenceID, p)
		if err != nil {
			return 0, err
		}
		if top == 0 {
			break
		}
		highest = top
	}
	return highest, nil
}

// overrun reports whether an event that can count exists behind a fence, below the number to which
// the fence says that the low mark is raised. A JVM does not know fences: it goes on after one as
// after any other number. What it has written must not be hidden by raising the low mark. A member
// of an atomic write that began at the fence or before it can never count.
func (r *run) overrun(ctx context.Context, fence layout.Slot) (bool, error) {
	highest, err := r.store.Highest(ctx, r.meter, r.req.PersistenceID, r.marks)
	if err != nil {
		return false, err
	}
	for p := fence.SequenceNr / layout.PartitionSize; p <= min(highest, fence.Low-1)/layout.PartitionSize; p++ {
		slots, err := r.store.Partition(ctx, r.meter, r.req.PersistenceID, p)
		if err != nil {
			return false, err
		}
		for _, s := range slots {
			if s.Event == nil || s.SequenceNr <= fence.SequenceNr || s.SequenceNr >= fence.Low {
				continue
			}
			if !s.Event.Batch.IsBatch() || s.Event.Batch.Start > fence.SequenceNr {
				return true, nil
			}
		}
	}
	return false, nil
}
