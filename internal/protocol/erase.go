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
// The deletions need no condition: the low mark is known to be stored since lowSeen, and is read
// again in time.
//
// What a torn atomic write has left up to the number torn is erased, too.
func (w *Writer) erase(ctx context.Context, m *dynamo.Meter, began clock.Moment, torn int64) (int64, error) {
	j := w.journal
	marks, err := w.reread(ctx, m)
	if err != nil {
		return 0, err
	}
	last := max(w.next-1, torn) / layout.PartitionSize
	if err := w.leadToEmptyBlock(ctx, m); err != nil {
		return 0, err
	}
	before, err := w.raiseLowMark(ctx, m, w.next, nothingBehind, began)
	if err != nil {
		return 0, err
	}
	removed, err := j.removeSnapshots(ctx, m, w.pid, math.MaxInt64, w.lowSeen)
	if err != nil {
		return removed, err
	}
	err = j.Store.EachExisting(ctx, m, w.pid, marks, 0, last, func(p int64) (bool, error) {
		if err := w.checkErasing(ctx, m); err != nil {
			return false, err
		}
		slots, err := j.Store.Partition(ctx, m, w.pid, p)
		if err != nil {
			return false, err
		}
		keys, counted := make([]dynamo.Attributes, len(slots)), int64(0)
		for i, s := range slots {
			keys[i] = j.Store.Keys.Event(w.pid, s.SequenceNr).Attributes()
			// A deletion has removed other items below this number.
			if s.Event != nil || s.SequenceNr >= before {
				counted++
			}
		}
		if err := j.Store.Client.BatchDelete(ctx, m, j.Store.Table, keys, j.fresh(w.lowSeen)); err != nil {
			return true, fmt.Errorf("erase partition %d: %w", p, err)
		}
		removed += counted
		return len(slots) > 0, nil
	})
	if err != nil {
		return removed, err
	}
	// A JVM that starts now continues after the high mark, which leads it to its own events later.
	// A low mark alone would not.
	marksLeft := [][]layout.Key{j.Store.Keys.LowMarks(w.pid), j.Store.Keys.HighMarks(w.pid)}
	if err := w.checkErasing(ctx, m); err != nil {
		return removed, err
	}
	for _, left := range marksLeft {
		keys := make([]dynamo.Attributes, len(left))
		for i, key := range left {
			keys[i] = key.Attributes()
		}
		if err := j.Store.Client.BatchDelete(ctx, m, j.Store.Table, keys, j.fresh(w.lowSeen)); err != nil {
			return removed, fmt.Errorf("erase the marks: %w", err)
		}
	}
	return removed, nil
}

// leadToEmptyBlock raises the high mark to the block after that of the highest number, in a shared
// journal. A JVM that starts during the erasure finds that block empty, and continues in it. In the
// block of the highest number it would continue after whatever is left there. The numbers in
// between are skipped; they are free again when everything is erased.
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
