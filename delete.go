package dynajournal

import (
	"context"
	"fmt"

	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// DeleteResult says what a deletion has done.
type DeleteResult struct {
	// Lowest is the first sequence number that is not deleted.
	Lowest int64
	// Removed is how many sequence numbers were removed by this call, those of an earlier one that
	// it finished included.
	Removed int64
	Cost    Cost
}

// DeleteTo deletes all events up to a sequence number, or up to the highest if that is lower. The
// highest sequence number stays. The low mark is stored first: from then on no reader sees the
// events. Then their items are replaced by tombstones, which keep their numbers taken for
// Config.FenceWindow, so that a writer that was paused meanwhile can't write there. What a deletion
// that was cut short left, the next one removes.
//
// Errors leave the writer alive, and the deletion begun or not: it can be called again. A context
// that ends stops it between two steps.
func (w *Writer) DeleteTo(ctx context.Context, sequenceNumber int64) (DeleteResult, error) {
	if sequenceNumber < 0 {
		return DeleteResult{}, &ArgumentError{"sequence number", sequenceNumber, mustNotBeNegative}
	}
	var result DeleteResult
	cost, err := w.remove(ctx, func(ctx context.Context, m *dynamo.Meter) error {
		var err error
		result.Removed, err = w.state.DeleteTo(ctx, m, sequenceNumber)
		result.Lowest = w.state.Lowest()
		if err != nil {
			err = itemError(w.journal.config.JournalTable, err)
			return fmt.Errorf("delete events of %q to %d: %w", w.PersistenceID(), sequenceNumber, err)
		}
		return nil
	})
	result.Cost = cost
	return result, err
}

// PurgeOptions say how a persistence id is purged.
type PurgeOptions struct {
	// Now removes every item at once. It needs that no other writer of the persistence id lives,
	// and no repair of it runs: one that was paused could write on as if nothing had happened. Nor
	// may the id be used again while anything of the purge can be under way, which is 15 minutes
	// after a request of it had no answer. A journal that is shared with a JVM always does so.
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

// Purge removes all trace of the persistence id: its snapshots, its events, its marks. The writer
// ends. What is left are tombstones and marks that expire after Config.FenceWindow; until then the
// id can be used again, going on after its highest sequence number, which the purge itself raises
// by one: it fences the writers that were there before. With PurgeOptions.Now, and in a journal
// that is shared with a JVM, nothing is left, and the id begins again at 1. Snapshots are not
// fenced: one that is saved while the id is purged, or later from a state of before, outlives the
// purge.
//
// Of a long-lived id, most of which was deleted before, not every number is looked at: less than
// 100 items in a row that are alone among more than 100,000 deleted numbers can be missed, and more
// among more than a million.
//
// ErrWriterConflict says that another writer has written, before the purge began or after it had
// fenced the others: then what that one has written stays. Other errors leave a part removed: call
// it again, with a new writer.
func (w *Writer) Purge(ctx context.Context, opts PurgeOptions) (PurgeResult, error) {
	var result PurgeResult
	cost, err := w.remove(ctx, func(ctx context.Context, m *dynamo.Meter) error {
		var err error
		if result.Removed, err = w.state.Purge(ctx, m, opts.Now); err != nil {
			return fmt.Errorf("purge %q: %w", w.PersistenceID(), itemError(w.journal.config.JournalTable, err))
		}
		return nil
	})
	result.Cost = cost
	return result, err
}
