package dynajournal

import (
	"cmp"
	"context"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/errorform"
)

// otherReason is the word for an error that is not an error of this package.
const otherReason = "other"

// reasons are the words of [Reason]. An error comes before the errors that it can wrap.
var reasons = []errorform.Reason{
	{Err: ErrOutcomeUnknown, Word: "outcome_unknown"},
	{Err: ErrWriterEnded, Word: "writer_ended"},
	{Err: ErrWriterConflict, Word: "writer_conflict"},
	{Err: ErrVersion, Word: "version"},
	{Err: ErrRejected, Word: "rejected"},
	{Err: ErrSequenceExhausted, Word: "sequence_exhausted"},
	{Err: ErrSkipped, Word: "skipped"},
	{Err: ErrSnapshotMissing, Word: "snapshot_missing"},
	{Err: ErrSnapshotAhead, Word: "snapshot_ahead"},
	{Err: ErrPurged, Word: "purged"},
	{Err: ErrDeletedMeanwhile, Word: "deleted_meanwhile"},
	{Err: ErrEventMissing, Word: "event_missing"},
	{Err: ErrHole, Word: "hole"},
	{Err: ErrCorruptItem, Word: "corrupt_item"},
	{Err: ErrContentConflict, Word: "content_conflict"},
	{Err: ErrTooLate, Word: "too_late"},
	{Err: ErrClock, Word: "clock"},
	{Err: ErrTableSchema, Word: "table_schema"},
	{Err: ErrHeaderMismatch, Word: "header_mismatch"},
	{Err: ErrNoHeader, Word: "no_header"},
	{Err: ErrIndex, Word: "index"},
	{Err: ErrThrottled, Word: "throttled"},
	{Err: ErrDenied, Word: "denied"},
	{Err: ErrTableNotFound, Word: "table_not_found"},
	{Err: ErrCollectionFull, Word: "collection_full"},
	{Err: ErrInvalidRequest, Word: "invalid_request"},
	{Err: ErrUnavailable, Word: "unavailable"},
	{Err: dynamo.ErrConditionFailed, Word: "condition_failed"},
	{Err: ErrInvalidArgument, Word: "invalid_argument"},
	{Err: ErrClosed, Word: "closed"},
	{Err: context.Canceled, Word: "canceled"},
	{Err: context.DeadlineExceeded, Word: "deadline_exceeded"},
}

// Reason returns a short, stable word for an error, for the attributes of metrics and logs:
// throttled for [ErrThrottled], outcome_unknown for [ErrOutcomeUnknown], and so on. If an error
// wraps several errors, the most specific one determines the word. Reason returns condition_failed
// for a request whose condition does not hold, canceled and deadline_exceeded for the errors of
// contexts, "other" for any other error, and "" for nil.
//
// entity.Reason and projection.Reason also know the errors of their packages.
func Reason(err error) string {
	if err == nil {
		return ""
	}
	return cmp.Or(errorform.WordOf(err, reasons), otherReason)
}
