package protocol

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/google/uuid"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// Recover calls emit with the events of a recovering request. It returns a writer that continues
// after the highest sequence number, or after the snapshot if that is higher and the journal is
// lost. It returns a *VersionError if the journal ends before the first number of a request without
// a snapshot.
func (j *Journal) Recover(ctx context.Context, req *Request, emit func(*layout.Event) error) (*Writer, error) {
	w := &Writer{uuid: uuid.NewString(), remover: remover{journal: j, pid: req.PersistenceID}, active: j.Clock.Now()}
	w.alone = w.active
	w.Open(req.PersistenceID)
	found, err := w.find(ctx, req, emit)
	if err != nil {
		return nil, err
	}
	w.next, w.low, w.last = found.Highest+1, found.Marks.Low, found.Last
	w.farMark, w.time, w.timed = found.FarMark, found.Time, found.Timed
	w.visible = found.Visible
	if err := w.checkFound(req, &found); err != nil {
		return nil, err
	}
	if err := w.leadToHighest(ctx, &found); err != nil {
		return nil, err
	}
	w.deletedTo = max(found.Marks.Low.Seq-1, 0)
	if !req.Latest {
		w.logDeleted(ctx, req.From-1)
	}
	if err := w.reachSnapshot(ctx, req, &found); err != nil {
		return nil, err
	}
	return w, nil
}

// checkFound checks that the journal belongs to the state that the request continues from, and ends
// where the request expects.
func (w *Writer) checkFound(req *Request, found *Result) error {
	if err := req.checkLife(found.Marks.Low); err != nil {
		return err
	}
	before := req.From - 1
	switch {
	case req.Snapshot && before < found.Marks.Low.Behind:
		return &SnapshotMissingError{w.pid, found.Marks.Low.Behind, before}
	case !req.Snapshot && before > found.Highest:
		return &VersionError{w.pid, before, w.Last()}
	case req.Expect != nil:
		return w.CheckLast(*req.Expect)
	}
	return nil
}

// leadToHighest raises the high mark if no mark leads to the block of the highest number.
func (w *Writer) leadToHighest(ctx context.Context, found *Result) error {
	if layout.HighestBlock(found.Highest) <= w.journal.Store.Leads(found.Marks) {
		return nil
	}
	// The handler may have taken long.
	if err := w.refresh(ctx, &w.recovery); err != nil {
		return err
	}
	return w.raiseHighMark(ctx, &w.recovery, found.Highest)
}

// reachSnapshot raises the low mark over the snapshot of the request, if the journal ends before
// the snapshot, or if an earlier recovery was interrupted while it did so.
func (w *Writer) reachSnapshot(ctx context.Context, req *Request, found *Result) error {
	snapshot := req.From - 1
	if snapshot > found.Highest {
		w.journal.Store.lost(ctx, w.pid, &SnapshotAheadError{w.pid, snapshot, found.Highest})
		if err := w.refresh(ctx, &w.recovery); err != nil {
			return err
		}
		return w.continueAfterSnapshot(ctx, &w.recovery, snapshot, found.Marks)
	}
	sealed := snapshot == found.Highest && found.Last == "" && found.Marks.Low.Seq <= snapshot
	if req.Snapshot && sealed && w.journal.Store.Shared() {
		return w.finishSnapshot(ctx, &w.recovery, snapshot, found.Marks)
	}
	return nil
}

// find reads the journal for a recovery. If Request.Latest is set, and the newest item is enough,
// it reads only the marks and that item.
func (w *Writer) find(ctx context.Context, req *Request, emit func(*layout.Event) error) (Result, error) {
	if req.Latest {
		if found, ok, err := w.journal.Store.latest(ctx, &w.recovery, w.pid); ok || err != nil {
			return found, err
		}
	}
	return w.journal.Store.Replay(ctx, &w.recovery, *req, emit)
}

// logDeleted logs that a recovery began below the low mark, so the caller's state lacks the deleted
// events. An entity without a snapshot may not need them; an entity whose snapshot is too old does.
// Only the second case is a warning: a program that deletes everything recovers from the beginning
// each time.
func (w *Writer) logDeleted(ctx context.Context, after int64) {
	if after >= w.deletedTo {
		return
	}
	level := slog.LevelDebug
	if after > 0 {
		level = slog.LevelWarn
	}
	w.journal.Logger.Log(ctx, level, "recovered from a number below the low mark", "event", "journal.recovered_below_low_mark",
		"persistence_id", w.pid, "after", after, "deleted_to", w.deletedTo)
}

// continueAfterSnapshot lets the writer continue after a snapshot that is newer than the journal.
// First it closes writes that may be in flight (see closeLastWrite), and fences the number after
// the journal's highest: a writer that does not know of the snapshot can't write below the low
// mark, and a writer that recovers now raises the low mark itself. Then it raises the low mark, so
// that the next recovery starts where this writer continues.
func (w *Writer) continueAfterSnapshot(
	ctx context.Context, m *dynamo.Meter, snapshot int64, marks layout.Marks,
) error {
	if err := w.closeLastWrite(ctx, m); err != nil {
		return err
	}
	store := w.journal.Store.While(w.journal.fresh(w.active))
	if w.next <= layout.MaxSequenceNumber {
		slot, err := store.Fence(ctx, m, w.pid, w.next, snapshot+1, w.low.Purged)
		if err != nil {
			return err
		}
		if slot.Low != snapshot+1 || slot.Purges {
			return w.conflict(slot)
		}
	}
	if store.Shared() && snapshot > w.next {
		if err := store.TakeLast(ctx, m, w.pid, snapshot); err != nil {
			return err
		}
	} else if layout.HighestBlock(snapshot) > 0 {
		if err := w.raiseHighMark(ctx, m, snapshot); err != nil {
			return err
		}
	}
	return w.raiseToSnapshot(ctx, m, snapshot, marks)
}

// finishSnapshot completes an earlier recovery after the same snapshot, which crashed after
// TakeLast had sealed the number and before it raised the low mark. The fence of that recovery is
// stored.
func (w *Writer) finishSnapshot(
	ctx context.Context, m *dynamo.Meter, snapshot int64, marks layout.Marks,
) error {
	slots, err := w.journal.Store.Span(ctx, m, w.pid, snapshot, snapshot)
	if err != nil || len(slots) == 0 || !slots[0].Seal() {
		return err
	}
	return w.raiseToSnapshot(ctx, m, snapshot, marks)
}

// raiseToSnapshot raises the low mark over a snapshot that is newer than the journal.
func (w *Writer) raiseToSnapshot(
	ctx context.Context, m *dynamo.Meter, snapshot int64, marks layout.Marks,
) error {
	store := w.journal.Store.While(w.journal.fresh(w.active))
	low := store.LowMarkAt(layout.LowMark{
		Seq: snapshot + 1, Removed: snapshot + 1, Behind: marks.Low.Behind, Purged: marks.Low.Purged,
	}, marks, snapshot)
	if err := store.RaiseLowMark(ctx, m, w.pid, low); err != nil {
		return fmt.Errorf("continue after the snapshot at %d: %w", snapshot, err)
	}
	w.low, w.next, w.last = low, snapshot+1, ""
	return nil
}
