package protocol

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/dynajournal/dynajournal/internal/clock"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/safeguard"
	"github.com/dynajournal/dynajournal/internal/snapshots"
)

// errPurged is why a writer has ended that has purged its persistence id.
var errPurged = errors.New("it has purged the persistence id")

// Purge removes all trace of the persistence id, and ends the writer. It returns how many numbers
// and snapshots it has removed. With now, and in a shared journal, it erases every item at once;
// else tombstones and marks are left, which expire. The caller has the turn.
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
	switch {
	case now:
		return w.erase(ctx, m, began)
	case w.next == 1: // there is nothing that a writer of before could know
		return w.journal.removeSnapshots(ctx, m, w.pid, math.MaxInt64)
	}
	return w.retire(ctx, m, began)
}

// retire leaves nothing of the persistence id but tombstones and marks that expire. The order of
// its steps keeps it safe:
//
//   - First the next number is fenced. From then on no earlier writer can write, and one that
//     recovers raises the low mark itself, to what the fence says, before it goes on.
//   - Then the low mark is raised beyond the fence, with an expiry that never comes. A writer that
//     recovers now puts it anew without one before it writes. The condition of whatever this purge
//     sends late does not hold any more then.
//   - Only then is anything removed.
//   - When everything is removed, the low mark is put with its real expiry. If it had that before,
//     it could vanish while a purge that was cut short has left events, which would be seen again.
//
// No step is sent by knowledge that is too old: the low mark is known to be stored since lowSeen,
// and is put anew before that is too long ago.
func (w *Writer) retire(ctx context.Context, m *dynamo.Meter, began clock.Moment) (int64, error) {
	j, seen := w.journal, w.journal.Clock.Now()
	marks, err := j.Store.Marks(ctx, m, w.pid)
	if err != nil {
		return 0, err
	}
	if err := j.checkClock(began); err != nil {
		return 0, err
	}
	w.lowSeen = seen
	low := layout.LowMark{Seq: w.next, Removed: max(marks.Low.Removed, 1)}
	if w.next <= layout.MaxSequenceNumber {
		low.Seq = w.next + 1
	}
	if safeguard.Fence && w.next <= layout.MaxSequenceNumber {
		if err := w.fenceNext(ctx, m, low.Seq); err != nil {
			return 0, err
		}
	}
	put := func(low layout.LowMark, condition MarkCondition, expires int64, before func() error) error {
		seen := j.Clock.Now()
		item := j.Store.Keys.EncodeLowMark(w.pid, low, nil, expires)
		if err := w.takenOver(j.Store.PutMark(ctx, m, item, condition, before)); err != nil {
			return err
		}
		w.lowSeen = seen
		return nil
	}
	during := int64(neverExpires)
	if !safeguard.PurgeLasts {
		during = j.TombstoneExpiry()
	}
	raised := LowMarkRises(low)
	if marks.Low.Seq == low.Seq { // no number is left: nobody can write
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
	saved, err := j.removeSnapshots(ctx, m, w.pid, low.Seq-1)
	removed += saved
	if err != nil {
		return removed, err
	}
	if err := renew(); err != nil {
		return removed, err
	}
	if err := w.expireRest(ctx, m, marks); err != nil {
		return removed, err
	}
	return removed, whileYoung(j, func(expires int64, young func() error) error {
		return put(w.low, stillExpiring(w.low), expires, both(j.fresh(w.lowSeen), young))
	})
}

// fenceNext puts the fence of a purge at the next number, or fails with a conflict if something
// else is stored there.
func (w *Writer) fenceNext(ctx context.Context, m *dynamo.Meter, low int64) error {
	return whileYoung(w.journal, func(expires int64, young func() error) error {
		store := w.journal.Store.While(both(w.journal.fresh(w.active), young))
		slot, err := store.Fence(ctx, m, w.pid, w.next, low, expires)
		if err != nil {
			return err
		}
		// The fence of another purge with the same low mark, and another expiry, would do as well:
		// both know the same, remove the same, and end when somebody uses the persistence id again.
		// To refuse it only tells the second purge that there is a first.
		if safeguard.FenceMet && (slot.Low != low || slot.Expires != expires) {
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

// removeOrphans turns the events that are stored below where removal has come into tombstones: a
// snapshot newer than the journal has raised the low mark over them. Nothing would hide them when
// the low mark has vanished. renew is called between two steps.
func (w *Writer) removeOrphans(ctx context.Context, m *dynamo.Meter, marks layout.Marks, renew func() error) (int64, error) {
	j, removed := w.journal, int64(0)
	last := (w.low.Removed - 1) / layout.PartitionSize
	err := j.Store.EachExisting(ctx, m, w.pid, marks, 0, last, func(p int64) (bool, error) {
		if err := renew(); err != nil {
			return false, err
		}
		slots, err := j.Store.Partition(ctx, m, w.pid, p)
		if err != nil {
			return false, err
		}
		there := len(slots) > 0
		slots = slices.DeleteFunc(slots, func(s layout.Slot) bool { return s.Event == nil || s.SequenceNr >= w.low.Removed })
		for safeguard.Orphans && len(slots) > 0 {
			first, n := slots[0].SequenceNr, 1
			for n < len(slots) && slots[n].SequenceNr == first+int64(n) {
				n++
			}
			if err := w.entomb(ctx, m, first, first+int64(n)); err != nil {
				return true, err
			}
			removed += int64(n)
			slots = slots[n:]
		}
		return there, nil
	})
	return removed, err
}

// expireRest lets the other marks expire. High marks are hints, which a writer that has recovered
// meanwhile can do without, and of the low marks in all shards the highest counts.
func (w *Writer) expireRest(ctx context.Context, m *dynamo.Meter, marks layout.Marks) error {
	store, expires := w.journal.Store, w.journal.TombstoneExpiry()
	expire := func(item layout.Attributes, condition MarkCondition) error {
		err := store.PutMark(ctx, m, item, condition, w.journal.fresh(w.lowSeen))
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

// stillExpiring is the condition under which a purge says on the low mark how far it has come:
// nobody has begun to use the persistence id again.
func stillExpiring(low layout.LowMark) MarkCondition {
	if !safeguard.TakenOver {
		return LowMarkStays(low)
	}
	return LowMarkExpires(low)
}

// takenOver ends the writer where a mark has moved: another has begun to use the persistence id.
func (w *Writer) takenOver(err error) error {
	if !errors.Is(err, ErrMarkMoved) {
		return err
	}
	return w.overtaken()
}

// removeSnapshots deletes the snapshots of a persistence id up to a sequence number. A journal
// without a snapshot table has none.
func (j *Journal) removeSnapshots(ctx context.Context, m *dynamo.Meter, pid string, to int64) (int64, error) {
	c := snapshots.Everything()
	c.MaxSeq = to
	removed, err := j.Snapshots.Delete(ctx, m, pid, c)
	if errors.Is(err, dynamo.ErrTableNotFound) {
		return 0, nil
	}
	return removed, err
}
