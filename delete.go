package dynajournal

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"github.com/dynajournal/dynajournal/internal/clock"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/protocol"
	"github.com/dynajournal/dynajournal/internal/safeguard"
)

// DeleteResult says what a deletion has done.
type DeleteResult struct {
	// Lowest is the first sequence number that is not deleted.
	Lowest int64
	// Removed is how many sequence numbers were removed by this call, those of an earlier one that it finished included.
	Removed int64
	Cost    Cost
}

// DeleteTo deletes all events up to a sequence number; one beyond the highest stands for that. The highest sequence number
// stays. The events are gone for every reader as soon as the low mark stands, which is first; then their items are replaced
// by tombstones, which keep their numbers taken for Config.FenceWindow, so that a writer that was paused meanwhile can't
// write there. What a deletion that was cut short left, the next one removes.
//
// Errors leave the writer alive, and the deletion begun or not: it can be called again. A context that ends stops it
// between two steps.
func (w *Writer) DeleteTo(ctx context.Context, sequenceNumber int64) (DeleteResult, error) {
	if sequenceNumber < 0 {
		return DeleteResult{}, &ArgumentError{"sequence number", sequenceNumber, mustNotBeNegative}
	}
	ctx, done, err := w.journal.life.Read(ctx)
	if err != nil {
		return DeleteResult{}, err
	}
	defer done()
	if err := w.enter(ctx); err != nil {
		return DeleteResult{}, err
	}
	defer w.leave()
	var m dynamo.Meter
	removed, err := w.deleteTo(ctx, &m, sequenceNumber)
	result := DeleteResult{Lowest: w.low.Seq, Removed: removed, Cost: m.Cost()}
	if err != nil {
		return result, fmt.Errorf("delete events of %q to %d: %w", w.pid, sequenceNumber, itemError(w.journal.config.JournalTable, err))
	}
	return result, nil
}

// deleteTo deletes, and begins anew where the writer's knowledge has become too old between two
// steps.
func (w *Writer) deleteTo(ctx context.Context, m *dynamo.Meter, seq int64) (int64, error) {
	began, removed := w.journal.clock.Now(), int64(0)
	for {
		n, err := w.deleteOnce(ctx, m, seq, began)
		removed += n
		if !errors.Is(err, ErrTooLate) {
			return removed, err
		}
	}
}

// deleteOnce is a deletion that ends with ErrTooLate where it has to begin anew. began is when the
// whole deletion did.
func (w *Writer) deleteOnce(ctx context.Context, m *dynamo.Meter, seq int64, began clock.Moment) (int64, error) {
	if err := w.refresh(ctx, m); err != nil {
		return 0, err
	}
	target := min(seq, w.next-1) + 1
	if !safeguard.LowMarkFirst {
		w.lowSeen = began
		if err := w.entomb(ctx, m, w.low.First(), target); err != nil {
			return 0, err
		}
	}
	before, err := w.raiseLowMark(ctx, m, target, began)
	if err != nil {
		return 0, err
	}
	put := func(progress layout.LowMark) error { return w.putProgress(ctx, m, progress) }
	return w.remove(ctx, m, span{before, w.low.Seq - 1}, put)
}

// raiseLowMark puts the low mark, with the batch it cuts, unless it is as high already. It returns
// the first number that no deletion had removed before. It refuses where the clock is off: the
// answers since the operation began tell.
func (w *Writer) raiseLowMark(ctx context.Context, m *dynamo.Meter, target int64, began clock.Moment) (int64, error) {
	for {
		seen := w.journal.clock.Now()
		marks, err := w.journal.store.LowMark(ctx, m, w.pid)
		if err != nil {
			return 0, err
		}
		if err := w.journal.checkClock(began); err != nil {
			return 0, err
		}
		w.lowSeen = seen
		low := marks.Low
		before := max(low.Removed, 1)
		if w.low = low; target <= low.First() {
			return before, nil
		}
		raised := layout.LowMark{Seq: target, Removed: w.journal.removalBegin(low)}
		if raised.Cut, err = w.cut(ctx, m, target-1, low); err != nil {
			return 0, err
		}
		if safeguard.SecondLook && !raised.Cut.IsBatch() {
			// That nothing whole is cut holds only for the low mark it was judged by: another deletion may have turned
			// members into tombstones since.
			again, err := w.journal.store.LowMark(ctx, m, w.pid)
			if err != nil {
				return 0, err
			}
			if again.Low.Seq != low.Seq {
				continue
			}
			marks = again
		}
		raised = w.journal.store.LowMarkAt(raised, marks, w.next-1)
		seen = w.journal.clock.Now()
		switch err = w.putLowMark(ctx, m, raised); {
		case errors.Is(err, protocol.ErrMarkMoved):
			continue
		case err != nil:
			return 0, fmt.Errorf("put the low mark: %w", err)
		}
		w.low, w.lowSeen = raised, seen
		return before, nil
	}
}

// removalBegin is where the removal begins that follows a deletion to a low mark. In a shared
// journal the last number that was deleted may be a seal. It becomes a tombstone, which expires:
// otherwise each deletion of everything would leave a seal.
func (j *Journal) removalBegin(low layout.LowMark) int64 {
	if !j.Native() && safeguard.SealReplaced && low.Removed > 1 && low.Removed == low.Seq {
		return low.Removed - 1
	}
	return max(low.Removed, 1)
}

// cut is the batch that goes on beyond last, the last number to delete, if all its members up to there are there, or were
// cut before. It is told on the low mark, as otherwise the rest, without its beginning, would not count as whole.
func (w *Writer) cut(ctx context.Context, m *dynamo.Meter, last int64, low layout.LowMark) (layout.Batch, error) {
	store := w.journal.store
	if !safeguard.Cut {
		return layout.Batch{}, nil
	}
	slots, err := store.Span(ctx, m, w.pid, last, last)
	if err != nil || len(slots) == 0 || slots[0].Event == nil {
		return layout.Batch{}, err
	}
	b := slots[0].Event.Batch
	if !b.IsBatch() || b.Last <= last {
		return layout.Batch{}, nil
	}
	if safeguard.CutBefore && b.Start < low.First() && !low.CutCompletes(b) {
		return layout.Batch{}, nil
	}
	there, err := store.Members(ctx, m, w.pid, b, max(b.Start, low.First()), last)
	if err != nil || safeguard.CutWhole && !there {
		return layout.Batch{}, err
	}
	return b, nil
}

// progressStep is how many numbers are removed before the low mark says so: what a crash can make the next deletion do again.
const progressStep = 1000

// remove turns every number from where removal has come to the low mark into a tombstone: events,
// holes and parts of dead batches alike, and returns how many of them are among those to count.
// Holes wider than any that a writer leaves are left out: a damaged low mark can be farther from
// the events than can ever be removed. put says on the low mark how far it has come.
func (w *Writer) remove(ctx context.Context, m *dynamo.Meter, count span, put func(layout.LowMark) error) (int64, error) {
	removed := int64(0)
	for w.low.Removed < w.low.Seq {
		from, err := w.journal.store.SkipHole(ctx, m, w.pid, max(w.low.Removed, 1), w.low.Seq-1)
		if err != nil {
			return removed, err
		}
		to := from + min(progressStep, w.low.Seq-from)
		if err := w.entomb(ctx, m, from, to); err != nil {
			return removed, err
		}
		removed += max(0, min(to-1, count.last)-max(from, count.first)+1)
		progress := w.low
		progress.Removed = to
		if err := put(progress); err != nil {
			return removed, err
		}
		w.low = progress
	}
	return removed, nil
}

// entomb puts tombstones at the numbers lo up to hi - 1. That the low mark is still there is known
// since lowSeen: later than half the fence window the persistence id can have another life.
func (w *Writer) entomb(ctx context.Context, m *dynamo.Meter, lo, hi int64) error {
	known, rising := w.journal.fresh(w.lowSeen), w.rising(lo, hi)
	if err := w.entombBelow(ctx, m, lo, rising, known); err != nil {
		return fmt.Errorf("remove %d to %d: %w", lo, rising-1, err)
	}
	for seq := rising; seq < hi; seq++ {
		if err := w.entombOne(ctx, m, seq, known); err != nil {
			return fmt.Errorf("remove %d: %w", seq, err)
		}
	}
	return nil
}

// rising is the first of the numbers lo up to hi - 1 that is removed one by one, the lower ones
// first; hi if none is. These are, in a shared journal, the numbers in the block of the highest: a
// JVM goes on reading them. What a deletion that is cut short leaves of them is the end of what was
// there, as after a deletion of its own.
func (w *Writer) rising(lo, hi int64) int64 {
	if w.journal.Native() {
		return hi
	}
	return min(max(lo, layout.HighestBlock(w.next-1)), hi)
}

// entombBelow puts tombstones at the numbers lo up to hi - 1. They need no condition: below the low
// mark nothing counts, and a JVM does not look for its highest number there.
func (w *Writer) entombBelow(ctx context.Context, m *dynamo.Meter, lo, hi int64, known func() error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(w.journal.config.ReplayParallelism)
	for first := lo; first < hi; {
		n := min(int64(w.journal.config.MaxBatchWrite), hi-first)
		batch := first
		first += n
		group.Go(func() error { return w.entombBatch(ctx, m, batch, n, known) })
	}
	return group.Wait()
}

// entombOne puts a tombstone at a number, if something is stored there. One that comes late must
// not bring back what a JVM has removed meanwhile: that would be the last item of its block.
func (w *Writer) entombOne(ctx context.Context, m *dynamo.Meter, seq int64, known func() error) error {
	return whileYoung(w.journal, func(expires int64, young func() error) error {
		put := dynamo.Put{Table: w.journal.config.JournalTable, Item: w.tombstone(seq, expires), Before: both(known, young)}
		if safeguard.EntombedIfThere {
			put.Condition = protocol.Exists
		}
		err := w.journal.client.Put(ctx, m, put)
		if errors.Is(err, dynamo.ErrConditionFailed) {
			return nil
		}
		return err
	})
}

// entombBatch puts n tombstones, with an expiry that is young at every attempt.
func (w *Writer) entombBatch(ctx context.Context, m *dynamo.Meter, first, n int64, known func() error) error {
	for {
		expires, young := w.journal.expiry()
		writes := make([]types.WriteRequest, n)
		for i := range writes {
			item := w.tombstone(first+int64(i), expires)
			if safeguard.Tombstones {
				writes[i].PutRequest = &types.PutRequest{Item: item}
			} else {
				writes[i].DeleteRequest = &types.DeleteRequest{Key: w.journal.store.Keys.Event(w.pid, first+int64(i)).Attributes()}
			}
		}
		err := w.journal.client.BatchWrite(ctx, m, w.journal.config.JournalTable, writes, both(known, young))
		if !errors.Is(err, errExpiryOld) {
			return err
		}
	}
}

// tombstone is what a deleted number becomes. In a shared journal the highest number stays taken for good: a JVM looks for the
// highest number among what stands in its block, and would use this one again once it had expired before the others.
func (w *Writer) tombstone(seq, expires int64) layout.Attributes {
	if safeguard.HighestStays && !w.journal.Native() && seq == w.next-1 {
		return w.journal.store.Keys.EncodeSeal(w.pid, seq)
	}
	return w.journal.store.Keys.EncodeTombstone(w.pid, seq, expires)
}

// putProgress says on the low mark how far removal has come. A low mark that was raised meanwhile stays.
func (w *Writer) putProgress(ctx context.Context, m *dynamo.Meter, low layout.LowMark) error {
	store := w.journal.store
	item := store.Keys.EncodeLowMark(w.pid, low, w.journal.idsAttributes(w.pid), 0)
	seen := w.journal.clock.Now()
	switch err := store.PutMark(ctx, m, item, protocol.LowMarkStays(low), w.journal.fresh(w.lowSeen)); {
	case errors.Is(err, protocol.ErrMarkMoved): // so it is not known whether it is as it was
		return nil
	case err != nil:
		return fmt.Errorf("put the low mark: %w", err)
	}
	w.lowSeen = seen
	return nil
}
