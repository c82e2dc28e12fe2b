package protocol

import (
	"context"
	"errors"
	"fmt"

	"github.com/dynajournal/dynajournal/internal/clock"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// DeleteTo deletes all events up to a sequence number, or to the last visible one if that is lower.
// Numbers above it, which are sealed or belong to atomic writes that failed, stay: the low mark
// shows which event was the last one. DeleteTo returns the count of removed numbers. It starts over
// if the writer's knowledge becomes too old between two steps. If the persistence id was purged
// after the writer's recovery, the writer ends with a *ConflictError. The caller holds the turn.
//
// covered reports that a saved snapshot, at seq or after it, contains the deleted events.
func (w *Writer) DeleteTo(ctx context.Context, m *dynamo.Meter, seq int64, covered bool) (int64, error) {
	start, removed := w.journal.Clock.Now(), int64(0)
	for {
		n, err := w.deleteOnce(ctx, m, seq, covered, start)
		removed += n
		if !errors.Is(err, ErrTooLate) {
			return removed, err
		}
	}
}

// deleteOnce deletes as DeleteTo does, but returns ErrTooLate instead of starting over. start is
// the start of DeleteTo.
func (w *Writer) deleteOnce(
	ctx context.Context, m *dynamo.Meter, seq int64, covered bool, start clock.Moment,
) (int64, error) {
	if err := w.refresh(ctx, m); err != nil {
		return 0, err
	}
	last := w.Last()
	target := min(seq, last) + 1
	behind := int64(0)
	if covered {
		behind = target - 1
	}
	before, err := w.raiseLowMark(ctx, m, target, behind, start)
	if err != nil {
		return 0, err
	}
	put := func(progress layout.LowMark) error { return w.putProgress(ctx, m, progress) }
	return w.remove(ctx, m, Span{before, w.low.Seq - 1}, w.low.Seq-1, put)
}

// withoutSnapshot makes raiseLowMark put a low mark that does not rely on a snapshot: a purge also
// removes the snapshots.
const withoutSnapshot = -1

// raiseLowMark raises the low mark to target, and records the batch that it cuts. It does nothing
// if the low mark is already as high. It returns the first number that no earlier deletion has
// removed. It fails if a response since start shows that the clock is off. The Behind of the new
// low mark is at least behind, and 0 if behind is withoutSnapshot.
func (w *Writer) raiseLowMark(
	ctx context.Context, m *dynamo.Meter, target, behind int64, start clock.Moment,
) (int64, error) {
	for {
		marks, err := w.readLowMark(ctx, m, start)
		if err != nil {
			return 0, err
		}
		before := max(w.low.Removed, 1)
		if target <= w.low.First() {
			return before, nil
		}
		raised := layout.LowMark{Seq: target, Removed: w.journal.removalStart(w.low), Purged: w.low.Purged}
		if behind != withoutSnapshot {
			raised.Behind = max(w.low.Behind, behind)
		}
		err = w.putRaised(ctx, m, raised, marks)
		if !errors.Is(err, ErrMarkMoved) {
			return before, err
		}
	}
}

// readLowMark reads the low mark, and ends the writer if the persistence id was purged meanwhile.
// It fails if a response since start shows that the clock is off.
func (w *Writer) readLowMark(ctx context.Context, m *dynamo.Meter, start clock.Moment) (layout.Marks, error) {
	seen := w.journal.Clock.Now()
	marks, err := w.journal.Store.LowMark(ctx, m, w.pid)
	if err != nil {
		return layout.Marks{}, err
	}
	if err := w.journal.CheckClock(start); err != nil {
		return layout.Marks{}, err
	}
	w.lowSeen = seen
	if marks.Low.Purged != w.low.Purged {
		return layout.Marks{}, w.endOvertaken()
	}
	w.low = marks.Low
	return marks, nil
}

// putRaised puts a raised low mark in place of the one that was read, with the batch that it cuts.
// It returns ErrMarkMoved if another low mark is stored.
func (w *Writer) putRaised(ctx context.Context, m *dynamo.Meter, raised layout.LowMark, marks layout.Marks) error {
	var err error
	if raised.Cut, err = w.cut(ctx, m, raised.Seq-1, w.low); err != nil {
		return err
	}
	if w.journal.Store.Shared() && !raised.Cut.IsBatch() {
		// cut has found no whole batch. That is right only if the low mark has not moved: a JVM may
		// have removed members since.
		if marks, err = w.journal.Store.LowMark(ctx, m, w.pid); err != nil {
			return err
		}
		if marks.Low.Seq != w.low.Seq {
			return ErrMarkMoved
		}
	}
	raised = w.journal.Store.LowMarkAt(raised, marks, w.next-1)
	seen := w.journal.Clock.Now()
	if err := w.putLowMark(ctx, m, w.low, raised); err != nil {
		return fmt.Errorf("put the low mark: %w", err)
	}
	w.low, w.lowSeen = raised, seen
	return nil
}

// removalStart returns the number at which the removal after a low mark begins. In a shared journal
// the last deleted number may be a seal. The next deletion replaces it with a tombstone, which
// expires: otherwise each deletion of everything would leave a seal.
func (j *Journal) removalStart(low layout.LowMark) int64 {
	if j.Store.Shared() && low.Removed > 1 && low.Removed == low.Seq {
		return low.Removed - 1
	}
	return max(low.Removed, 1)
}

// cut returns the batch that continues after last, the last number to delete, if all its members up
// to last are stored or were cut before. The low mark names this batch: otherwise the remaining
// members would not count, as their batch is not whole.
func (w *Writer) cut(ctx context.Context, m *dynamo.Meter, last int64, low layout.LowMark) (layout.Batch, error) {
	store := w.journal.Store
	slots, err := store.Span(ctx, m, w.pid, last, last)
	if err != nil || len(slots) == 0 {
		return layout.Batch{}, err
	}
	if slots[0].Event == nil {
		// An earlier deletion cut it, and a JVM has replaced its low mark.
		return slots[0].Cut(), nil
	}
	b := slots[0].Event.Batch
	if !b.IsBatch() || b.Last <= last {
		return layout.Batch{}, nil
	}
	if b.Start < low.First() && !low.CutCompletes(b) {
		return layout.Batch{}, nil
	}
	there, err := store.Members(ctx, m, w.pid, b, max(b.Start, low.First()), last)
	if err != nil || !there {
		return layout.Batch{}, err
	}
	return b, nil
}

// progressStep is the count of numbers after whose removal the low mark records the progress. After
// a crash the next deletion removes at most as many numbers again.
const progressStep = 1000

// remove puts a tombstone at every number from the end of the previous removal to the low mark: at
// events, holes, and members of batches that can't become whole. It returns the count of these
// numbers that are in the span count. It skips holes wider than a writer can leave, because a
// damaged low mark can be too far from the events. Nothing is stored above the number last. put
// records the progress on the low mark.
func (w *Writer) remove(
	ctx context.Context, m *dynamo.Meter, count Span, last int64, put func(layout.LowMark) error,
) (int64, error) {
	removed, last := int64(0), min(last, w.low.Seq-1)
	for w.low.Removed < w.low.Seq {
		from, err := w.journal.Store.SkipHole(ctx, m, w.pid, max(w.low.Removed, 1), last)
		if err != nil {
			return removed, err
		}
		to := from + min(progressStep, last+1-from)
		if err := w.putTombstones(ctx, m, from, to); err != nil {
			return removed, err
		}
		removed += max(0, min(to-1, count.Last)-max(from, count.First)+1)
		progress := w.low
		if progress.Removed = to; to > last {
			progress.Removed = w.low.Seq
		}
		if err := put(progress); err != nil {
			return removed, err
		}
		w.low = progress
	}
	return removed, nil
}
