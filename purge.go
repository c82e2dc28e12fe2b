package dynajournal

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/dynajournal/dynajournal/internal/clock"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/protocol"
	"github.com/dynajournal/dynajournal/internal/safeguard"
	"github.com/dynajournal/dynajournal/internal/snapshots"
)

// PurgeOptions say how a persistence id is purged.
type PurgeOptions struct {
	// Now removes every item at once. It needs that no other writer of the persistence id lives, and no repair of it runs:
	// one that was paused could write on as if nothing had happened. Nor may the id be used again while anything of the
	// purge can be under way, which is 15 minutes after a request of it had no answer. A journal that is shared with a JVM
	// always does so.
	Now bool
}

// PurgeResult says what a purge has removed.
type PurgeResult struct {
	// Removed is how many sequence numbers and snapshots were removed: those that no deletion had
	// removed before, and events that one had left. The number that the purge itself takes is not
	// among them.
	Removed int64
	Cost    Cost
}

// errPurged is why a writer has ended that has purged its persistence id.
var errPurged = errors.New("it has purged the persistence id")

// Purge removes all trace of the persistence id: its snapshots, its events, its marks. The writer ends. What is left are
// tombstones and marks that expire after Config.FenceWindow; until then the id can be used again, going on after its highest
// sequence number, which the purge itself raises by one: it fences the writers that were there before. With
// PurgeOptions.Now, and in a journal that is shared with a JVM, nothing is left, and the id begins again at 1. Snapshots are
// not fenced: one that is saved while the id is purged, or later from a state of before, outlives the purge.
//
// Of a long-lived id, most of which was deleted before, not every number is looked at: less than
// 100 items in a row that are alone among more than 100,000 deleted numbers can be missed, and more
// among more than a million.
//
// ErrWriterConflict says that another writer has written, before the purge began or after it had fenced the others: then what
// that one has written stays. Other errors leave a part removed: call it again, with a new writer.
func (w *Writer) Purge(ctx context.Context, opts PurgeOptions) (PurgeResult, error) {
	ctx, done, err := w.journal.life.Read(ctx)
	if err != nil {
		return PurgeResult{}, err
	}
	defer done()
	if err := w.enter(ctx); err != nil {
		return PurgeResult{}, err
	}
	defer w.leave()
	var m dynamo.Meter
	removed, err := w.purge(ctx, &m, opts.Now || !w.journal.Native())
	result := PurgeResult{Removed: removed, Cost: m.Cost()}
	if err != nil {
		return result, fmt.Errorf("purge %q: %w", w.pid, itemError(w.journal.config.JournalTable, err))
	}
	w.end(errPurged)
	return result, nil
}

func (w *Writer) purge(ctx context.Context, m *dynamo.Meter, now bool) (int64, error) {
	began := w.journal.clock.Now()
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

// retire leaves nothing of the persistence id but tombstones and marks that expire. The order is what keeps it safe:
//
//   - first the next number is fenced: from then on no writer of before can write, and one that recovers raises the low mark
//     itself, to what the fence says, before it goes on;
//   - then the low mark is raised beyond the fence, with an expiry that never comes. A writer that recovers now puts it anew,
//     without, before it writes; so whatever of this purge comes late after that finds its condition not met;
//   - only then is anything removed;
//   - when all is, the low mark is put with the expiry that counts. Had it one before, what a purge that was cut short left
//     would be seen again, without what it had removed.
//
// No step is sent by knowledge that is too old: the low mark is known to be there since lowSeen,
// and is put anew where a step would come close to that.
func (w *Writer) retire(ctx context.Context, m *dynamo.Meter, began clock.Moment) (int64, error) {
	j, seen := w.journal, w.journal.clock.Now()
	marks, err := j.store.Marks(ctx, m, w.pid)
	if err != nil {
		return 0, err
	}
	if err := j.checkClock(began); err != nil {
		return 0, err
	}
	w.lowSeen = seen
	low := layout.LowMark{Seq: w.next, Removed: max(marks.Low.Removed, 1)}
	if w.next <= MaxSequenceNumber {
		low.Seq = w.next + 1
	}
	if safeguard.Fence && w.next <= MaxSequenceNumber {
		if err := w.fenceNext(ctx, m, low.Seq); err != nil {
			return 0, err
		}
	}
	put := func(low layout.LowMark, condition protocol.MarkCondition, expires int64, before func() error) error {
		seen := j.clock.Now()
		item := j.store.Keys.EncodeLowMark(w.pid, low, nil, expires)
		if err := w.takenOver(j.store.PutMark(ctx, m, item, condition, before)); err != nil {
			return err
		}
		w.lowSeen = seen
		return nil
	}
	during := int64(neverExpires)
	if !safeguard.PurgeLasts {
		during = j.tombstoneExpiry()
	}
	raised := protocol.LowMarkRises(low)
	if marks.Low.Seq == low.Seq { // no number is left: the mark can't be raised, and nobody can write
		raised = protocol.LowMarkStays(low)
	}
	if err := put(low, raised, during, j.fresh(w.active)); err != nil {
		return 0, err
	}
	fenced := w.next
	w.low, w.next, w.expiring = low, low.Seq, true
	progress := func(low layout.LowMark) error { return put(low, stillExpiring(low), during, j.fresh(w.lowSeen)) }
	renew := func() error {
		if j.clock.Since(w.lowSeen) < j.config.FenceWindow/(2*knowledgePart) {
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
	removed, err := w.remove(ctx, m, span{1, fenced - 1}, progress)
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
		store := w.journal.store.While(both(w.journal.fresh(w.active), young))
		slot, err := store.Fence(ctx, m, w.pid, w.next, low, expires)
		if err != nil {
			return err
		}
		// The fence of another purge with the same low mark, and another expiry, would do as well:
		// both know the same, remove the same, and end when somebody uses the persistence id again.
		// To refuse it only tells the second purge that there is a first.
		if safeguard.FenceMet && (slot.Low != low || slot.Expires != expires) {
			conflict := w.conflict(slot)
			w.end(conflict)
			return conflict
		}
		return nil
	})
}

// neverExpires is the expiry of a low mark while its persistence id is being purged: the end of the year 9999.
const neverExpires = 253_402_300_799

// removeOrphans turns events into tombstones that stand below where removal has come: a snapshot
// newer than the journal has raised the low mark over them. Nothing would hide them any more when
// that has vanished. renew is called between two steps.
func (w *Writer) removeOrphans(ctx context.Context, m *dynamo.Meter, marks layout.Marks, renew func() error) (int64, error) {
	j, removed := w.journal, int64(0)
	last := (w.low.Removed - 1) / layout.PartitionSize
	err := j.store.EachExisting(ctx, m, w.pid, marks, 0, last, func(p int64) (bool, error) {
		if err := renew(); err != nil {
			return false, err
		}
		slots, err := j.store.Partition(ctx, m, w.pid, p)
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

// expireRest lets the other marks expire: high marks are hints, which a writer that has recovered meanwhile can do without,
// and of the low marks in other shards the highest counts.
func (w *Writer) expireRest(ctx context.Context, m *dynamo.Meter, marks layout.Marks) error {
	store, expires := w.journal.store, w.journal.tombstoneExpiry()
	expire := func(item layout.Attributes, condition protocol.MarkCondition) error {
		err := store.PutMark(ctx, m, item, condition, w.journal.fresh(w.lowSeen))
		if err != nil && !errors.Is(err, protocol.ErrMarkMoved) {
			return fmt.Errorf("let the marks expire: %w", err)
		}
		return nil
	}
	for _, seq := range marks.HighMarks {
		if err := expire(store.Keys.EncodeHighMark(w.pid, seq, expires), protocol.HighMarkStays(seq)); err != nil {
			return err
		}
	}
	for _, seq := range marks.LowMarks {
		if store.Keys.LowMark(w.pid, seq) == store.Keys.LowMark(w.pid, w.low.Seq) {
			continue
		}
		low := layout.LowMark{Seq: seq, Removed: seq}
		if err := expire(store.Keys.EncodeLowMark(w.pid, low, nil, expires), protocol.LowMarkStays(low)); err != nil {
			return err
		}
	}
	return nil
}

// stillExpiring is the condition under which a purge says on the low mark how far it has come: nobody has begun to use the
// persistence id again.
func stillExpiring(low layout.LowMark) protocol.MarkCondition {
	if !safeguard.TakenOver {
		return protocol.LowMarkStays(low)
	}
	return protocol.LowMarkExpires(low)
}

// takenOver says that another writer has begun to use the persistence id that is being purged.
func (w *Writer) takenOver(err error) error {
	if !errors.Is(err, protocol.ErrMarkMoved) {
		return err
	}
	return w.overtaken()
}

// removeSnapshots deletes the snapshots of a persistence id up to a sequence number. Where there is no snapshot table there
// are none.
func (j *Journal) removeSnapshots(ctx context.Context, m *dynamo.Meter, pid string, to int64) (int64, error) {
	c := snapshots.Everything()
	c.MaxSeq = to
	removed, err := j.saved.Delete(ctx, m, pid, c)
	if errors.Is(err, ErrTableNotFound) {
		return 0, nil
	}
	return removed, err
}

// erase deletes every item of the persistence id. The low mark is raised first and deleted last, so that what a crash leaves
// half done looks deleted, not like a journal with holes.
//
// No other writer lives, but one may have written since this one recovered: what it was acknowledged is not for this one to
// erase.
//
// What is erased needs no condition: that the low mark is still there is known since lowSeen, and
// looked at again where a step would come close to that.
func (w *Writer) erase(ctx context.Context, m *dynamo.Meter, began clock.Moment) (int64, error) {
	j := w.journal
	marks, err := w.lookAgain(ctx, m)
	if err != nil && safeguard.EraseLooks {
		return 0, err
	}
	last := (w.next - 1) / layout.PartitionSize
	if err := w.leadToEmptyBlock(ctx, m); err != nil {
		return 0, err
	}
	before, err := w.raiseLowMark(ctx, m, w.next, began)
	if err != nil {
		return 0, err
	}
	removed, err := j.removeSnapshots(ctx, m, w.pid, math.MaxInt64)
	if err != nil {
		return removed, err
	}
	err = j.store.EachExisting(ctx, m, w.pid, marks, 0, last, func(p int64) (bool, error) {
		if err := w.stillErasing(ctx, m); err != nil {
			return false, err
		}
		slots, err := j.store.Partition(ctx, m, w.pid, p)
		if err != nil {
			return false, err
		}
		keys, counted := make([]dynamo.Attributes, len(slots)), int64(0)
		for i, s := range slots {
			keys[i] = j.store.Keys.Event(w.pid, s.SequenceNr).Attributes()
			if s.Event != nil || s.SequenceNr >= before { // other items below were removed by a deletion
				counted++
			}
		}
		if err := j.client.BatchDelete(ctx, m, j.config.JournalTable, keys, j.fresh(w.lowSeen)); err != nil {
			return true, fmt.Errorf("erase partition %d: %w", p, err)
		}
		removed += counted
		return len(slots) > 0, nil
	})
	if err != nil {
		return removed, err
	}
	// A JVM that begins now goes on after the high mark, which leads it to what it has written then.
	// A low mark alone would not.
	marksLeft := [][]layout.Key{j.store.Keys.LowMarks(w.pid), j.store.Keys.HighMarks(w.pid)}
	if !safeguard.HighMarksLast {
		slices.Reverse(marksLeft)
	}
	if err := w.stillErasing(ctx, m); err != nil {
		return removed, err
	}
	for _, left := range marksLeft {
		keys := make([]dynamo.Attributes, len(left))
		for i, key := range left {
			keys[i] = key.Attributes()
		}
		if err := j.client.BatchDelete(ctx, m, j.config.JournalTable, keys, j.fresh(w.lowSeen)); err != nil {
			return removed, fmt.Errorf("erase the marks: %w", err)
		}
	}
	return removed, nil
}

// leadToEmptyBlock raises the high mark to the block behind that of the highest number, in a shared
// journal. A JVM that begins while the items of the id are being erased finds that block empty, and
// goes on behind it. In the block of the highest number it would go on behind whatever is left of
// it. The numbers between are left out; they are free again as soon as everything is erased.
func (w *Writer) leadToEmptyBlock(ctx context.Context, m *dynamo.Meter) error {
	empty := layout.HighestBlock(w.next-1) + layout.PartitionSize
	if w.journal.Native() || w.next == 1 || empty < 0 || !safeguard.EmptyBlockFirst {
		return nil
	}
	if err := w.raiseHighMark(ctx, m, empty); err != nil {
		return err
	}
	w.next, w.last = empty+1, ""
	return nil
}

// stillErasing checks that the low mark is still as this purge raised it, where that is not known
// since a short time.
func (w *Writer) stillErasing(ctx context.Context, m *dynamo.Meter) error {
	j, seen := w.journal, w.journal.clock.Now()
	if j.clock.Since(w.lowSeen) < j.config.FenceWindow/(2*knowledgePart) {
		return nil
	}
	marks, err := j.store.LowMark(ctx, m, w.pid)
	if err != nil {
		return err
	}
	if marks.Low.Seq != w.low.Seq {
		return w.takenOver(protocol.ErrMarkMoved)
	}
	w.lowSeen = seen
	return nil
}
