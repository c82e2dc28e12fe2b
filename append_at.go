package dynajournal

import (
	"context"

	"github.com/dynajournal/dynajournal/internal/core"
)

// AppendAt is [Writer.Append] under the condition that the last visible event has the sequence
// number last, as [Writer.Last] returns it: 0 for a persistence id without any event. It is for
// callers that decided by a state of that version.
//
// The writer compares in its turn, after the calls before it and without a request. Of two calls
// with the same last, one at most succeeds. What another writer has written, the writer finds only
// with its own write: then the error is [ErrWriterConflict].
//
// Errors are [ErrVersion] and those of [Writer.Append]. After ErrVersion nothing was written, and
// the writer goes on.
func (w *Writer) AppendAt(ctx context.Context, last int64, events ...any) (AppendResult, error) {
	if last < 0 {
		return AppendResult{}, &ArgumentError{"last", last, core.MustNotBeNegative}
	}
	encoded, err := w.encodeAll(ctx, events)
	if err != nil {
		return AppendResult{}, err
	}
	result, err := w.core().AppendAt(ctx, last, encoded)
	return appendResult(result), err
}

// Last returns the sequence number of the last visible event, the version of the persistence id: 0
// if there never was an event. It waits for the calls in flight.
//
// An event is visible if [Journal.Events] returns it, or returned it before it was deleted. Numbers
// that are sealed, missing, or taken by an atomic write that failed are not visible, so Last can be
// lower than the number before [Writer.NextSequenceNumber].
//
// Deleting the last event does not change Last. After a recovery from a snapshot it is at least the
// number of the snapshot, and after a deletion by a JVM at least the last number that the JVM has
// deleted. After a purge it is the number that the purge has taken after the highest, until all
// trace of the persistence id has expired.
//
// Errors: [ErrWriterEnded], [ErrClosed], and that of ctx.
func (w *Writer) Last(ctx context.Context) (int64, error) { return w.core().Last(ctx) }
