package protocol

import (
	"context"
	"fmt"

	"github.com/dynajournal/dynajournal/internal/layout"
)

// overlap is the state of an import for the numbers that are already stored in the target. They are
// all compared before anything is changed. Until then the writes of missing events are deferred,
// and the low mark of the records is pending: raising it removes events of the target that can't be
// compared, because they are deleted in the source.
//
// These events may be removed if an event after them was compared equal. Two events with the same
// number and the same writer are one write, even in a copy, and their writer had read all events
// before. So the events below are the ones that were deleted in the source.
type overlap struct {
	// allCompared reports that everything was compared, and that changes may be made.
	allCompared bool
	// equal is the highest number at which an event was compared equal. Everything below it belongs
	// to the same history.
	equal int64
	// pending is the last low mark of the records if it was not put yet, or nil.
	pending *layout.LowMark

	deferred       []func(context.Context) error
	deferredEvents int
	deferredBytes  int
}

// currentLow returns the low mark by which the next records are judged.
func (in *Import) currentLow() layout.LowMark {
	if in.pending != nil {
		return *in.pending
	}
	return in.low
}

// mustDefer reports whether the target may have items after a number that were not compared yet.
func (in *Import) mustDefer(seq int64) bool {
	return !in.allCompared && seq < in.highest
}

// deferWrite defers a write until everything was compared. It fails if more events are missing than
// the members of one atomic write: an interrupted copy does not lack more.
func (in *Import) deferWrite(missing []*layout.Event, write func(context.Context) error) error {
	in.deferred = append(in.deferred, write)
	for _, e := range missing {
		in.deferredEvents++
		in.deferredBytes += len(e.Bytes)
		if in.deferredEvents > in.journal.MaxBatchEvents || in.deferredBytes > in.journal.MaxBatchBytes {
			return in.conflict(e.SequenceNr,
				"it is missing in the target, and more events are missing before the next one than an interrupted copy leaves")
		}
	}
	return nil
}

// finishComparison ends the comparison, and makes the changes that were deferred: first the low
// mark, then the missing events.
func (in *Import) finishComparison(ctx context.Context) error {
	if low := in.pending; low != nil {
		if err := in.raiseLowMark(ctx, *low); err != nil {
			return err
		}
		in.pending = nil
	}
	if in.allCompared {
		return nil
	}
	in.allCompared, in.equal = true, max(in.equal, in.highest)
	deferred := in.deferred
	in.deferred = nil
	for _, write := range deferred {
		if err := write(ctx); err != nil {
			return err
		}
	}
	return in.raiseHighMark(ctx, in.highest)
}

// checkUnchanged checks that no other writer has written or deleted in the target since the import
// began: these changes were not compared. It is the last check before a low mark is put, so nothing
// waits between the two. If nothing was compared, it is needed only if the low mark goes beyond the
// next number of a writer.
func (in *Import) checkUnchanged(ctx context.Context, low layout.LowMark) error {
	uncompared := in.equal == 0 && (in.tip == 0 || low.Seq <= in.tip+1)
	if uncompared {
		return nil
	}
	if err := in.pace(ctx); err != nil {
		return err
	}
	marks, highest, err := in.journal.Store.Bounds(ctx, &in.meter, in.pid)
	if err != nil {
		return err
	}
	if marks.Low != in.low || highest != in.tip {
		return in.changedMeanwhile(highest)
	}
	return nil
}

// changedMeanwhile returns the error of an import whose target was changed by another writer.
func (in *Import) changedMeanwhile(highest int64) error {
	return in.conflict(highest,
		fmt.Sprintf("another writer has used the persistence id during the copy: the highest number was %d, and is now %d",
			in.tip, highest))
}
