package protocol

import (
	"context"
	"fmt"
	"math"

	"github.com/dynajournal/dynajournal/internal/clock"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// erase deletes every item of the persistence id. It raises the low mark first and deletes it last:
// what a crash leaves looks deleted, and not like a journal with holes.
//
// No other writer may be active, but one may have written since this writer recovered. Its
// acknowledged events must not be erased.
//
// The deletions need no condition: the low mark was known to be stored at lowSeen, and erase reads
// it again before that time is too long ago.
//
// erase also deletes what a torn atomic write has left, up to the number torn.
func (w *Writer) erase(ctx context.Context, m *dynamo.Meter, start clock.Moment, torn int64) (int64, error) {
	j := w.journal
	marks, err := w.reread(ctx, m)
	if err != nil {
		return 0, err
	}
	last := max(w.next-1, torn) / layout.PartitionSize
	if err := w.leadToEmptyBlock(ctx, m); err != nil {
		return 0, err
	}
	before, err := w.raiseLowMark(ctx, m, w.next, withoutSnapshot, start)
	if err != nil {
		return 0, err
	}
	removed, err := j.removeSnapshots(ctx, m, w.pid, math.MaxInt64, w.lowSeen)
	if err != nil {
		return removed, err
	}
	err = j.Store.EachExisting(ctx, m, w.pid, marks, 0, last, func(p int64) (bool, error) {
		there, counted, err := w.erasePartition(ctx, m, p, before)
		removed += counted
		return there, err
	})
	if err != nil {
		return removed, err
	}
	return removed, w.eraseMarks(ctx, m)
}

// erasePartition deletes the items of a partition. It reports whether there were any. counted is
// the number of events, and of other items from the number before on: an earlier deletion has
// counted the other items below.
func (w *Writer) erasePartition(
	ctx context.Context, m *dynamo.Meter, p, before int64,
) (there bool, counted int64, err error) {
	if err := w.checkErasing(ctx, m); err != nil {
		return false, 0, err
	}
	store := w.journal.Store
	slots, err := store.Partition(ctx, m, w.pid, p)
	if err != nil {
		return false, 0, err
	}
	keys := make([]dynamo.Attributes, len(slots))
	for i, s := range slots {
		keys[i] = store.Keys.Event(w.pid, s.SequenceNr).Attributes()
		if s.Event != nil || s.SequenceNr >= before {
			counted++
		}
	}
	if err := store.Client.BatchDelete(ctx, m, store.Table, keys, w.journal.fresh(w.lowSeen)); err != nil {
		return true, 0, fmt.Errorf("erase partition %d: %w", p, err)
	}
	return len(slots) > 0, counted, nil
}

// eraseMarks deletes the low marks, and then the high marks. A JVM that starts in between continues
// after the high mark, which leads it to its own events later. A low mark alone would not.
func (w *Writer) eraseMarks(ctx context.Context, m *dynamo.Meter) error {
	store := w.journal.Store
	marksLeft := [][]layout.Key{store.Keys.LowMarks(w.pid), store.Keys.HighMarks(w.pid)}
	if err := w.checkErasing(ctx, m); err != nil {
		return err
	}
	for _, left := range marksLeft {
		keys := make([]dynamo.Attributes, len(left))
		for i, key := range left {
			keys[i] = key.Attributes()
		}
		if err := store.Client.BatchDelete(ctx, m, store.Table, keys, w.journal.fresh(w.lowSeen)); err != nil {
			return fmt.Errorf("erase the marks: %w", err)
		}
	}
	return nil
}

// leadToEmptyBlock raises the high mark of a shared journal to the block after the highest
// number's. A JVM that starts during the erasure finds that block empty, and continues in it. In
// the block of the highest number it would continue after the items that are left there. The
// numbers in between are skipped. They are free again after the erasure.
func (w *Writer) leadToEmptyBlock(ctx context.Context, m *dynamo.Meter) error {
	empty := layout.HighestBlock(w.next-1) + layout.PartitionSize
	if !w.journal.Store.Shared() || w.next == 1 || empty < 0 {
		return nil
	}
	if err := w.raiseHighMark(ctx, m, empty); err != nil {
		return err
	}
	w.next, w.last = empty+1, ""
	return nil
}

// checkErasing checks that the low mark is still the one this purge has put, unless that was
// confirmed a short time ago.
func (w *Writer) checkErasing(ctx context.Context, m *dynamo.Meter) error {
	j, seen := w.journal, w.journal.Clock.Now()
	if j.Clock.Since(w.lowSeen) < j.FenceWindow/(2*knowledgePart) {
		return nil
	}
	marks, err := j.Store.LowMark(ctx, m, w.pid)
	if err != nil {
		return err
	}
	if marks.Low.Seq != w.low.Seq {
		return w.endIfMoved(ErrMarkMoved)
	}
	w.lowSeen = seen
	return nil
}
