package dynajournal

import (
	"context"

	"github.com/dynajournal/dynajournal/internal/core"
)

// Writer appends events to a persistence id, and deletes them. [Journal.Recover] returns it. It is
// safe for concurrent use: its calls run one after the other, in the order of the calls, so that an
// event is only written when the one before is durable.
//
// A writer ends with the first error after which it does not know what is stored:
// [ErrWriterConflict], [ErrOutcomeUnknown], or an error after which a part of an atomic write is
// stored. [Writer.Purge] ends it, too. Then every call returns [ErrWriterEnded], and [Writer.Err]
// the cause: recover again. A writer holds no resources and need not be closed.
type Writer struct{ writerHandle }

// writerHandle is how the other packages of this module reach the core.
type writerHandle = core.WriterHandle

func (w *Writer) core() *core.Writer { return core.WriterIn(&w.writerHandle) }

// PersistenceID returns the persistence id of the writer.
func (w *Writer) PersistenceID() string { return w.core().PersistenceID() }

// WriterUUID returns the UUID that is stored with every event of this writer.
func (w *Writer) WriterUUID() string { return w.core().UUID() }

// RecoveryCost returns the cost of the recovery that returned the writer.
func (w *Writer) RecoveryCost() Cost { return Cost(w.core().RecoveryCost()) }

// DeletedTo returns the highest sequence number that was deleted at the time of the recovery, 0 if
// none was. If it is above RecoverOptions.After or Snapshot, the events between the two were not
// replayed: the state is incomplete unless it was loaded from a snapshot that contains them.
func (w *Writer) DeletedTo() int64 { return w.core().DeletedTo() }

// Err returns why the writer has ended, nil while it may write. It may be called at any time: it
// does not wait for the calls in flight.
//
// The error is that of the call that ended the writer: [ErrWriterConflict], [ErrOutcomeUnknown], or
// an error of a request after which a part of an atomic write is stored. After a purge it is
// another error. After [Journal.Close] it is [ErrClosed], unless the writer had ended before.
func (w *Writer) Err() error { return w.core().Err() }

// NextSequenceNumber returns the sequence number of the next event. It waits for the calls in
// flight.
//
// Errors: [ErrWriterEnded], [ErrClosed], and that of ctx.
func (w *Writer) NextSequenceNumber(ctx context.Context) (int64, error) { return w.core().Next(ctx) }

// DeleteResult is the result of a deletion.
type DeleteResult struct {
	// Lowest is the lowest sequence number that is not deleted.
	Lowest int64
	// Removed is how many sequence numbers this call has removed, also of a deletion that was
	// interrupted before.
	Removed int64
	Cost    Cost
}

// DeleteTo deletes all events up to a sequence number, or up to the last visible one if that is
// lower. The highest sequence number stays taken for good. Above the last visible event can be
// numbers that are sealed or hold a part of an atomic write that failed: a later deletion removes
// them, when events follow.
//
// It stores the low mark first: from then on readers do not find the events. Then it replaces the
// items of the events by tombstones, which keep the numbers taken for Config.FenceWindow, so that a
// writer that was paused meanwhile can't write there.
//
// After an error the deletion may be done in part ([MaybeApplied] reports whether), the result is
// that of the part, and the writer continues unless it reports [ErrWriterConflict]. Repeat the call
// to finish the deletion; any later deletion finishes it, too. A context that ends stops the
// deletion between two steps.
//
// Errors: [ErrInvalidArgument], [ErrClock], [ErrTooLate], [ErrCorruptItem], [ErrWriterConflict],
// [ErrWriterEnded], [ErrClosed], and those of requests.
func (w *Writer) DeleteTo(ctx context.Context, sequenceNumber int64) (DeleteResult, error) {
	return w.deleteTo(ctx, sequenceNumber, false)
}

// DeleteCovered is [Writer.DeleteTo] for a caller that has saved a snapshot at the sequence number
// or after it, and loads that from now on. The low mark says so: whoever finds it and no such
// snapshot stops with [ErrSnapshotMissing] instead of going on without what the events have said.
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
	// Now removes every item at once, so that nothing fences earlier writers. Set it only if the
	// persistence id has no other writer and is not being repaired: a writer that was paused could
	// continue writing. If a request of the purge had no response, do not use the id for 15
	// minutes, for as long as the request can be in flight. Do not use it, either, while a
	// projection may still be handling its events: the first numbers are used again, and a run that
	// has read one part before the purge and the other after it would mix them.
	//
	// Defaults to false in a native journal. A purge in a journal that is shared with a JVM always
	// removes every item at once.
	Now bool
}

// PurgeResult is the result of a purge.
type PurgeResult struct {
	// Removed is how many sequence numbers and snapshots were removed, without those that a
	// deletion had removed before, and without the number that the purge itself takes.
	Removed int64
	Cost    Cost
}

// Purge removes the snapshots and the events of the persistence id, and ends the writer.
//
// In a native journal sequence numbers never begin again. The purge takes the next number to fence
// earlier writers, and events that are written later have the numbers after it. The low mark says
// so for good, with the persistence id in its key: an id is no place for personal data. Tombstones
// are left, too, which expire after Config.FenceWindow. A snapshot that is saved during the purge,
// or later from an earlier state, is not taken for one of the next life, and the next purge removes
// it.
//
// With PurgeOptions.Now, and in a journal that is shared with a JVM, nothing is left, and the id
// begins again at 1. Then snapshots are not fenced: one that is saved during the purge, or later
// from an earlier state, stays.
//
// If most numbers of an id were deleted before, Purge does not read all of them. It can miss fewer
// than 100 items in a row among more than 100,000 deleted numbers, and more items among more than a
// million.
//
// After [ErrWriterConflict], another writer has written, before the purge or after it had fenced
// earlier writers, and its events stay. After another error the purge may be done in part
// ([MaybeApplied] reports whether): recover, and repeat it with the new writer. Errors are those of
// [Writer.DeleteTo].
func (w *Writer) Purge(ctx context.Context, opts PurgeOptions) (PurgeResult, error) {
	r, err := w.core().Purge(ctx, opts.Now)
	return PurgeResult{r.Count, Cost(r.Cost)}, err
}
