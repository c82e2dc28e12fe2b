package dynajournal

import (
	"context"

	"github.com/dynajournal/dynajournal/internal/core"
)

// Writer appends events to a persistence id, and deletes them. [Journal.Recover] returns it. It is
// safe for concurrent use: its calls run one after the other, in order, so an event is written only
// when the event before it is durable.
//
// A writer ends with the first error after which it does not know what is stored:
// [ErrWriterConflict], [ErrOutcomeUnknown], or an error after which a part of an atomic write is
// stored. [Writer.Purge] also ends it. Every call then returns [ErrWriterEnded], and [Writer.Err]
// returns the cause. Recover again to get a new writer. A writer uses no resources and need not be
// closed.
type Writer struct{ writerHandle }

// writerHandle gives the other packages of this module access to the core.
type writerHandle = core.WriterHandle

func (w *Writer) core() *core.Writer { return core.WriterIn(&w.writerHandle) }

// PersistenceID returns the persistence id of the writer.
func (w *Writer) PersistenceID() string { return w.core().PersistenceID() }

// WriterUUID returns the UUID that is stored with every event of this writer.
func (w *Writer) WriterUUID() string { return w.core().UUID() }

// RecoveryCost returns the cost of the recovery that returned the writer.
func (w *Writer) RecoveryCost() Cost { return Cost(w.core().RecoveryCost()) }

// DeletedTo returns the highest sequence number that was deleted at the time of the recovery, or 0
// if none was. If it is above RecoverOptions.After or RecoverOptions.Snapshot, the events between
// the two were not replayed: the state is incomplete unless it was loaded from a snapshot that
// contains them.
func (w *Writer) DeletedTo() int64 { return w.core().DeletedTo() }

// Err returns the error that ended the writer, or nil while it may write. It does not wait for the
// calls in flight.
//
// It is the error of the call that ended the writer: [ErrWriterConflict], [ErrOutcomeUnknown], or a
// request error after which a part of an atomic write is stored. After a purge it says that the
// writer has purged the persistence id. After [Journal.Close] it is [ErrClosed], unless the writer
// had ended before.
func (w *Writer) Err() error { return w.core().Err() }

// NextSequenceNumber returns the sequence number of the next event. It waits for the calls in
// flight.
//
// Errors: [ErrWriterEnded], [ErrClosed], and the error of ctx.
func (w *Writer) NextSequenceNumber(ctx context.Context) (int64, error) { return w.core().Next(ctx) }

// DeleteResult is the result of a deletion.
type DeleteResult struct {
	// Lowest is the lowest sequence number that is not deleted.
	Lowest int64
	// Removed is the number of sequence numbers that this call has removed. It includes numbers
	// that an interrupted deletion had left.
	Removed int64
	Cost    Cost
}

// DeleteTo deletes all events up to a sequence number, or up to the last visible event if its
// number is lower. The highest sequence number stays taken for good. After the last visible event
// there can be numbers that are sealed or contain a part of an atomic write that failed. When
// events follow them, a later deletion removes these numbers.
//
// It first stores the low mark: from then on readers do not find the events. Then it replaces the
// items of the events with tombstones. These keep the numbers taken for Config.FenceWindow, so that
// a writer that was paused meanwhile can't write there.
//
// After an error the deletion may be partially done ([MaybeApplied] reports whether). The result
// then describes the part that was done, and the writer continues unless the error is
// [ErrWriterConflict]. Repeat the call to finish the deletion; any later deletion also finishes it.
// If ctx ends, the deletion stops between two steps.
//
// Errors: [ErrInvalidArgument], [ErrClock], [ErrTooLate], [ErrCorruptItem], [ErrWriterConflict],
// [ErrWriterEnded], [ErrClosed], and request errors.
func (w *Writer) DeleteTo(ctx context.Context, sequenceNumber int64) (DeleteResult, error) {
	return w.deleteTo(ctx, sequenceNumber, false)
}

// DeleteCovered is [Writer.DeleteTo] for a caller that has saved a snapshot at the sequence number
// or after it, and always loads that snapshot or a newer one from now on. The low mark records
// this: a recovery without such a snapshot returns [ErrSnapshotMissing], instead of continuing
// without the deleted events.
func (w *Writer) DeleteCovered(ctx context.Context, sequenceNumber int64) (DeleteResult, error) {
	return w.deleteTo(ctx, sequenceNumber, true)
}

func (w *Writer) deleteTo(ctx context.Context, sequenceNumber int64, covered bool) (DeleteResult, error) {
	if sequenceNumber < 0 {
		return DeleteResult{}, &ArgumentError{"sequence number", sequenceNumber, core.MustNotBeNegative}
	}
	r, err := w.core().DeleteTo(ctx, sequenceNumber, covered)
	return DeleteResult{r.Lowest, r.Count, Cost(r.Cost)}, err
}

// PurgeOptions are the options of Purge.
type PurgeOptions struct {
	// Now removes every item at once, so nothing fences earlier writers. Set it only if the
	// persistence id has no other writer and is not being repaired: a writer that was paused could
	// continue writing. If a request of the purge got no response, do not use the id for 15
	// minutes, because the request can be in flight that long. Also do not use the id while a
	// projection may still be handling its events: the first numbers are used again, and a run that
	// reads one part before the purge and the other part after it would mix the two lives.
	//
	// Defaults to false in a native journal. In a journal that is shared with a JVM, a purge always
	// removes every item at once.
	Now bool
}

// PurgeResult is the result of a purge.
type PurgeResult struct {
	// Removed is the number of sequence numbers and snapshots that were removed. It does not
	// include numbers that a deletion had removed before, or the number that the purge itself
	// takes.
	Removed int64
	Cost    Cost
}

// Purge removes the snapshots and the events of the persistence id, and ends the writer.
//
// In a native journal sequence numbers never restart. The purge takes the next number to fence
// earlier writers, and events that are written later have the numbers after it. The low mark
// records this for good, with the persistence id in its key: do not put personal data in an id. The
// purge also leaves tombstones, which expire after Config.FenceWindow. A snapshot that is saved
// during the purge, or later from an earlier state, is not used after the purge, and the next purge
// removes it.
//
// With PurgeOptions.Now, and in a journal that is shared with a JVM, nothing is left, and the id
// starts again at 1. Snapshots are then not fenced: a snapshot that is saved during the purge, or
// later from an earlier state, stays.
//
// Purge does not read every number of an id whose numbers were mostly deleted before. Among more
// than 100,000 deleted numbers it can miss runs of fewer than 100 items, and among more than a
// million also longer runs.
//
// [ErrWriterConflict] means that another writer has written, before the purge or after it had
// fenced earlier writers; the events of that writer stay. After another error the purge may be
// partially done ([MaybeApplied] reports whether): recover, and repeat the purge with the new
// writer. Errors are those documented on [Writer.DeleteTo].
func (w *Writer) Purge(ctx context.Context, opts PurgeOptions) (PurgeResult, error) {
	r, err := w.core().Purge(ctx, opts.Now)
	return PurgeResult{r.Count, Cost(r.Cost)}, err
}
