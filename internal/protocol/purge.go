package protocol

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/dynajournal/dynajournal/internal/clock"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/snapshots"
)

// errPurged is the cause with which a writer ends that has purged its persistence id.
var errPurged = errors.New("it has purged the persistence id")

// Purge removes all trace of the persistence id, and ends the writer. It returns how many numbers
// and snapshots it has removed. With now, and always in a shared journal, it erases every item at
// once. Otherwise it leaves tombstones and marks, which expire. The caller holds the turn.
func (w *Writer) Purge(ctx context.Context, m *dynamo.Meter, now bool) (int64, error) {
	removed, err := w.purge(ctx, m, now || w.journal.Store.Shared())
	if err == nil {
		w.End(errPurged)
	}
	return removed, err
}

func (w *Writer) purge(ctx context.Context, m *dynamo.Meter, now bool) (int64, error) {
	began := w.journal.Clock.Now()
	if err := w.refresh(ctx, m); err != nil {
		return 0, err
	}
	torn, err := w.tornBehind(ctx, m)
	switch {
	case err != nil:
		return 0, err
	case now:
		return w.erase(ctx, m, began, torn)
	case w.next == 1 && torn == 0: // there is nothing that an earlier writer could know
		return w.purgeEmpty(ctx, m)
	}
	if err := w.goOnAfterSnapshots(ctx, m, began); err != nil {
		return 0, err
	}
	return w.retire(ctx, m, began, torn)
}

// tornBehind returns the highest number stored behind the partition of the writer's last number, or
// 0 if there is none. A process that died in an atomic write across the end of a partition, before
// its high mark was stored, can have left members there, to which nothing leads. Such a write goes
// over no more than two partitions (marksFirst), so two empty partitions in a row end the search.
// In a shared journal the mark is stored first, and a JVM that starts during the purge writes in
// the next block.
func (w *Writer) tornBehind(ctx context.Context, m *dynamo.Meter) (torn int64, err error) {
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

// goOnAfterSnapshots lets the writer continue after the snapshots that are newer than the journal,
// if there are any. The purge removes the snapshots below its low mark. A snapshot above it would
// bring back the state that was purged, and would be taken for one that another writer has saved
// since.
func (w *Writer) goOnAfterSnapshots(ctx context.Context, m *dynamo.Meter, began clock.Moment) error {
	newest, err := w.journal.Snapshots.Highest(ctx, m, w.pid, w.next)
	if errors.Is(err, dynamo.ErrTableNotFound) || err == nil && newest == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	marks, err := w.journal.Store.Marks(ctx, m, w.pid)
	if err != nil {
		return err
	}
	if err := w.journal.CheckClock(began); err != nil { // a purge that is refused writes nothing
		return err
	}
	err = w.goOnAfterSnapshot(ctx, m, min(newest, layout.MaxSequenceNumber), marks)
	if conflict, ok := errors.AsType[*ConflictError](err); ok {
		w.End(conflict)
	}
	return err
}

// purgeEmpty removes what a persistence id without events has. As nothing is fenced, it looks
// whether another writer has written since.
func (w *Writer) purgeEmpty(ctx context.Context, m *dynamo.Meter) (int64, error) {
	first, err := w.journal.Store.Stored(ctx, m, w.pid, w.next)
	if err != nil {
		return 0, err
	}
	if first != nil {
		return 0, w.endOvertaken()
	}
	marks, err := w.journal.Store.Marks(ctx, m, w.pid)
	if err != nil {
		return 0, err
	}
	// A process can have died between the high mark of its first write and the events.
	if err := w.expireRest(ctx, m, marks, w.active); err != nil {
		return 0, err
	}
	return w.journal.removeSnapshots(ctx, m, w.pid, math.MaxInt64, w.active)
}

// retire leaves only tombstones and marks that expire. The order of its steps keeps it safe:
//
//   - First it fences the next number. From then on no earlier writer can write, and one that
//     recovers raises the low mark itself, to the value in the fence, before it continues.
//   - Then it raises the low mark beyond the fence, with an expiry that never comes. A writer that
//     recovers now puts the mark again without an expiry before it writes. From then on the
//     conditions of this purge's requests no longer hold.
//   - Only then does it remove anything.
//   - When everything is removed, it puts the low mark with its real expiry. With that expiry from
//     the start, the mark could vanish while an interrupted purge has left events, which would
//     become visible again.
//
// No step is sent with knowledge that is too old: the low mark is known to be stored since lowSeen,
// and is put again in time.
//
// What a torn atomic write has left up to the number torn is below the low mark, too.
func (w *Writer) retire(ctx context.Context, m *dynamo.Meter, began clock.Moment, torn int64) (int64, error) {
	j, seen := w.journal, w.journal.Clock.Now()
	marks, err := j.Store.Marks(ctx, m, w.pid)
	if err != nil {
		return 0, err
	}
	if err := j.CheckClock(began); err != nil {
		return 0, err
	}
	w.lowSeen = seen
	low := layout.LowMark{Seq: w.next, Removed: max(marks.Low.Removed, 1)}
	if w.next <= layout.MaxSequenceNumber {
		low.Seq = max(w.next, torn) + 1
	}
	if w.next <= layout.MaxSequenceNumber {
		if err := w.fenceNext(ctx, m, low.Seq); err != nil {
			return 0, err
		}
	}
	put := func(low layout.LowMark, condition MarkCondition, expires int64, before func() error) error {
		seen := j.Clock.Now()
		item := j.Store.Keys.EncodeLowMark(w.pid, low, nil, expires)
		if err := w.endIfMoved(j.Store.PutMark(ctx, m, item, condition, before)); err != nil {
			return err
		}
		w.lowSeen = seen
		return nil
	}
	during := int64(neverExpires)
	raised := LowMarkRises(low)
	if marks.Low.Seq == low.Seq { // no number is left, so nobody can write
		raised = LowMarkStays(low)
	}
	if err := put(low, raised, during, j.fresh(w.active)); err != nil {
		return 0, err
	}
	fenced := w.next
	w.low, w.next, w.expiring = low, low.Seq, true
	progress := func(low layout.LowMark) error { return put(low, stillExpiring(low), during, j.fresh(w.lowSeen)) }
	renew := func() error {
		if j.Clock.Since(w.lowSeen) < j.FenceWindow/(2*knowledgePart) {
			return nil
		}
		return put(w.low, stillExpiring(w.low), during, nil) // the condition fails if it is gone
	}
	orphans, err := w.removeOrphans(ctx, m, marks, renew)
	if err != nil {
		return orphans, err
	}
	if err := renew(); err != nil {
		return orphans, err
	}
	removed, err := w.remove(ctx, m, Span{1, fenced - 1}, progress)
	removed += orphans
	if err != nil {
		return removed, err
	}
	saved, err := j.removeSnapshots(ctx, m, w.pid, low.Seq-1, w.lowSeen)
	removed += saved
	if err != nil {
		return removed, err
	}
	if err := renew(); err != nil {
		return removed, err
	}
	if err := w.expireRest(ctx, m, marks, w.lowSeen); err != nil {
		return removed, err
	}
	return removed, putWithExpiry(j, func(expires int64, fresh func() error) error {
		expires += int64(j.lowMarkOutlives() / time.Second)
		return put(w.low, stillExpiring(w.low), expires, both(j.fresh(w.lowSeen), fresh))
	})
}

// fenceNext puts the fence of a purge at the next number, or fails with a conflict if something
// else is stored there.
func (w *Writer) fenceNext(ctx context.Context, m *dynamo.Meter, low int64) error {
	return putWithExpiry(w.journal, func(expires int64, fresh func() error) error {
		store := w.journal.Store.While(both(w.journal.fresh(w.active), fresh))
		slot, err := store.Fence(ctx, m, w.pid, w.next, low, expires)
		if err != nil {
			return err
		}
		// The fence of another purge with the same low mark and another expiry would do as well:
		// both know the same, remove the same, and end when somebody uses the persistence id again.
		// It is refused only so that the second purge learns of the first.
		if slot.Low != low || slot.Expires != expires {
			conflict := w.conflict(slot)
			w.End(conflict)
			return conflict
		}
		return nil
	})
}

// neverExpires is the expiry of a low mark while its persistence id is being purged: the end of the
// year 9999.
const neverExpires = 253_402_300_799

// removeOrphans puts tombstones at the events, seals and fences below the end of the removal. They
// are there because a snapshot newer than the journal has raised the low mark over them. When the
// low mark has expired, nothing would hide the events, and the others would still take their
// numbers. removeOrphans returns how many events there were. renew is called between two steps.
func (w *Writer) removeOrphans(
	ctx context.Context, m *dynamo.Meter, marks layout.Marks, renew func() error,
) (int64, error) {
	store, removed := w.journal.Store.WithLeftovers(), int64(0)
	last := (w.low.Removed - 1) / layout.PartitionSize
	err := store.EachExisting(ctx, m, w.pid, marks, 0, last, func(p int64) (bool, error) {
		if err := renew(); err != nil {
			return false, err
		}
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

// expireRest puts an expiry on the other marks, by what was known at a moment. High marks are
// hints, which a writer that has recovered meanwhile does not need, and of the low marks in all
// shards the highest counts.
func (w *Writer) expireRest(ctx context.Context, m *dynamo.Meter, marks layout.Marks, known clock.Moment) error {
	store, expires := w.journal.Store, w.journal.TombstoneExpiry()
	expire := func(item layout.Attributes, condition MarkCondition) error {
		err := store.PutMark(ctx, m, item, condition, w.journal.fresh(known))
		if err != nil && !errors.Is(err, ErrMarkMoved) {
			return fmt.Errorf("let the marks expire: %w", err)
		}
		return nil
	}
	for _, seq := range marks.HighMarks {
		if err := expire(store.Keys.EncodeHighMark(w.pid, seq, expires), HighMarkStays(seq)); err != nil {
			return err
		}
	}
	for _, seq := range marks.LowMarks {
		if store.Keys.LowMark(w.pid, seq) == store.Keys.LowMark(w.pid, w.low.Seq) {
			continue
		}
		low := layout.LowMark{Seq: seq, Removed: seq}
		if err := expire(store.Keys.EncodeLowMark(w.pid, low, nil, expires), LowMarkStays(low)); err != nil {
			return err
		}
	}
	return nil
}

// stillExpiring is the condition under which a purge records its progress on the low mark: nobody
// uses the persistence id again.
func stillExpiring(low layout.LowMark) MarkCondition {
	return LowMarkExpires(low)
}

// endIfMoved ends the writer if a mark has moved: another writer uses the persistence id.
func (w *Writer) endIfMoved(err error) error {
	if !errors.Is(err, ErrMarkMoved) {
		return err
	}
	return w.endOvertaken()
}

// removeSnapshots deletes the snapshots of a persistence id up to a sequence number, while the
// journal is what it was known to be at a moment: those of the next life have the same numbers. A
// journal without a snapshot table has none.
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
