package protocol

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/dynajournal/dynajournal/internal/clock"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/snapshots"
)

// errPurged is the reason why a writer has ended that has purged its persistence id.
var errPurged = errors.New("it has purged the persistence id")

// Purge removes everything that is stored for the persistence id, and ends the writer. It returns
// the count of removed numbers and snapshots. With now, and always in a shared journal, it erases
// every item at once. Otherwise it leaves tombstones, which expire, and the low mark, which names
// the purge for good: the numbers of the next life continue after it. The caller holds the turn.
func (w *Writer) Purge(ctx context.Context, m *dynamo.Meter, now bool) (int64, error) {
	removed, err := w.purge(ctx, m, now || w.journal.Store.Shared())
	if err == nil {
		w.End(errPurged)
	}
	return removed, err
}

func (w *Writer) purge(ctx context.Context, m *dynamo.Meter, now bool) (int64, error) {
	start := w.journal.Clock.Now()
	if err := w.refresh(ctx, m); err != nil {
		return 0, err
	}
	torn, err := w.tornAfter(ctx, m)
	if err != nil {
		return 0, err
	}
	if now {
		return w.erase(ctx, m, start, torn)
	}
	last, err := w.lastTrace(ctx, m, torn)
	if err != nil {
		return 0, err
	}
	if last <= w.low.Purged {
		return w.purgeAgain(ctx, m, start)
	}
	return w.retire(ctx, m, start, last)
}

// tornAfter returns the highest number stored after the partition of the writer's last number, or
// 0. A process that died in an atomic write across the end of a partition, before its high mark was
// stored, can have left members there, to which no mark leads. Such a write spans at most two
// partitions (marksFirst), so two empty partitions in a row end the search. In a shared journal the
// mark is stored first, and a JVM that starts during the purge writes in the next block.
func (w *Writer) tornAfter(ctx context.Context, m *dynamo.Meter) (torn int64, err error) {
	const enough = 2
	store := w.journal.Store
	if store.Shared() {
		return 0, nil
	}
	for p, empty := (w.next-1)/layout.PartitionSize+1, 0; empty < enough && p <= everywhere.last; p++ {
		top, err := store.top(ctx, m, w.pid, p)
		if err != nil {
			return 0, err
		}
		if empty++; top > 0 {
			torn, empty = top, 0
		}
	}
	return torn, nil
}

// lastTrace returns the highest number of anything that may be stored: an event, a member of an
// atomic write up to the number torn, or a snapshot.
func (w *Writer) lastTrace(ctx context.Context, m *dynamo.Meter, torn int64) (int64, error) {
	newest, err := w.journal.Snapshots.Highest(ctx, m, w.pid, w.next)
	if err != nil && !errors.Is(err, dynamo.ErrTableNotFound) {
		return 0, err
	}
	return max(w.next-1, torn, min(newest, layout.MaxSequenceNumber-1)), nil
}

// purgeAgain removes what an earlier purge has left, when nothing was written since. As nothing is
// fenced, purgeAgain first checks that no other writer has written.
func (w *Writer) purgeAgain(ctx context.Context, m *dynamo.Meter, start clock.Moment) (int64, error) {
	first, err := w.journal.Store.Stored(ctx, m, w.pid, w.next)
	if err != nil {
		return 0, err
	}
	if first != nil {
		return 0, w.endOvertaken()
	}
	if w.low.Seq == 0 {
		return 0, nil
	}
	if err := w.journal.CheckClock(start); err != nil {
		return 0, err
	}
	w.lowSeen = w.active
	return w.removePurged(ctx, m, Span{1, w.low.Purged}, w.low.Purged)
}

// retire purges everything up to the number last. The order of its steps makes it safe:
//
//   - First it fences the next number. From then on no earlier writer can write, and one that
//     recovers raises the low mark itself, to the value in the fence, before it continues.
//   - Then it raises the low mark, which names the purge for good. Everything up to it belongs to
//     an earlier life now, including items that other processes store there later.
//   - Only then does it remove items. A purge that is interrupted here has succeeded. The next
//     purge or deletion removes the rest.
//
// If another purge has put its fence first, both continue with that fence.
func (w *Writer) retire(ctx context.Context, m *dynamo.Meter, start clock.Moment, last int64) (int64, error) {
	j, written := w.journal, w.next-1
	marks, err := j.Store.Marks(ctx, m, w.pid)
	if err != nil {
		return 0, err
	}
	if err := j.CheckClock(start); err != nil {
		return 0, err
	}
	w.low.Removed = max(marks.Low.Removed, 1)
	for last > w.low.Purged {
		if err := w.raiseOverFence(ctx, m, last); err != nil {
			return 0, err
		}
	}
	orphans, err := w.removeOrphans(ctx, m, marks)
	if err != nil {
		return orphans, err
	}
	removed, err := w.removePurged(ctx, m, Span{1, written}, max(last, written+1))
	return orphans + removed, err
}

// raiseOverFence fences the next number, and raises the low mark over the fence, beyond the number
// last, or as far as the fence of another purge says.
func (w *Writer) raiseOverFence(ctx context.Context, m *dynamo.Meter, last int64) error {
	store, low := w.journal.Store.While(w.journal.fresh(w.active)), max(last, w.next)+1
	if w.next > layout.MaxSequenceNumber { // no number is left for a fence, so no writer can write
		low = w.next
	} else {
		slot, err := store.PurgeFence(ctx, m, w.pid, w.next, low)
		if err != nil {
			return err
		}
		if !slot.Purges || slot.Low <= w.next {
			conflict := w.conflict(slot)
			w.End(conflict)
			return conflict
		}
		low = slot.Low
	}
	raised, seen := layout.LowMark{Seq: low, Removed: max(w.low.Removed, 1), Purged: low - 1}, w.journal.Clock.Now()
	rises := LowMarkRises(raised)
	if w.low.Seq == low {
		rises = LowMarkStays(w.low)
	}
	// If the mark is already as high, another purge or a recovery has raised it.
	if err := ignoreMoved(store.PutMark(ctx, m, store.encodeLowMark(w.pid, raised), rises, store.Before)); err != nil {
		return fmt.Errorf("put the low mark: %w", err)
	}
	w.low, w.lowSeen, w.next, w.last = raised, seen, low, ""
	return nil
}

// removePurged removes the snapshots, and the numbers below the low mark. Nothing is stored above
// the number last. removePurged returns the count of removed numbers that are in the span count,
// plus the number of snapshots.
func (w *Writer) removePurged(ctx context.Context, m *dynamo.Meter, count Span, last int64) (int64, error) {
	put := func(progress layout.LowMark) error { return w.putProgress(ctx, m, progress) }
	removed, err := w.remove(ctx, m, count, last, put)
	if err != nil {
		return removed, err
	}
	saved, err := w.journal.removeSnapshots(ctx, m, w.pid, w.low.Purged, w.lowSeen)
	return removed + saved, err
}

// removeOrphans puts tombstones at the events, seals and fences below the end of the removal. They
// are there because a snapshot newer than the journal has raised the low mark over them. They are
// hidden, but a purge must not leave events. removeOrphans returns the number of the events.
func (w *Writer) removeOrphans(ctx context.Context, m *dynamo.Meter, marks layout.Marks) (int64, error) {
	store, removed := w.journal.Store, int64(0)
	last := (w.low.Removed - 1) / layout.PartitionSize
	err := store.EachExisting(ctx, m, w.pid, marks, 0, last, func(p int64) (bool, error) {
		slots, err := store.Partition(ctx, m, w.pid, p)
		if err != nil {
			return false, err
		}
		there := len(slots) > 0
		slots = slices.DeleteFunc(slots,
			func(s layout.Slot) bool { return s.Tombstone() || s.SequenceNr >= w.low.Removed })
		for len(slots) > 0 {
			first, n, events := slots[0].SequenceNr, 0, int64(0)
			for ; n < len(slots) && slots[n].SequenceNr == first+int64(n); n++ {
				if slots[n].Event != nil {
					events++
				}
			}
			if err := w.putTombstones(ctx, m, first, first+int64(n)); err != nil {
				return true, err
			}
			removed += events
			slots = slots[n:]
		}
		return there, nil
	})
	return removed, err
}

// endIfMoved ends the writer if a mark has moved: another writer uses the persistence id.
func (w *Writer) endIfMoved(err error) error {
	if !errors.Is(err, ErrMarkMoved) {
		return err
	}
	return w.endOvertaken()
}

// removeSnapshots deletes the snapshots of a persistence id up to a sequence number, as long as
// knowledge from the moment known is recent enough: after an erasure, new snapshots can have the
// same numbers. If the snapshot table is missing, it deletes nothing.
func (j *Journal) removeSnapshots(
	ctx context.Context, m *dynamo.Meter, pid string, to int64, known clock.Moment,
) (int64, error) {
	c := snapshots.Everything()
	c.MaxSeq = to
	removed, err := j.Snapshots.While(j.fresh(known)).Delete(ctx, m, pid, c)
	if errors.Is(err, dynamo.ErrTableNotFound) {
		return 0, nil
	}
	return removed, err
}
