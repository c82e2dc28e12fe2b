package dynajournal

import (
	"errors"

	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/errorform"
	"github.com/dynajournal/dynajournal/internal/lifetime"
	"github.com/dynajournal/dynajournal/internal/protocol"
	"github.com/dynajournal/dynajournal/internal/provision"
)

// Errors of a writer, for errors.Is. After ErrWriterConflict and ErrOutcomeUnknown the writer has
// ended: recover again to find out what is stored. See also [MaybeApplied].
var (
	// ErrWriterConflict: another writer has taken the sequence number. The error is a
	// *ConflictError. No reader has seen or will see any of the events, though some events of an
	// atomic write may be stored.
	ErrWriterConflict = protocol.ErrWriterConflict

	// ErrOutcomeUnknown: the events may be written, or may still be written. Another process may
	// even have read and deleted them. The error is an *OutcomeUnknownError. The next recovery
	// reads the events if they are stored by then. If they are not, they can still appear until the
	// next event is written there.
	ErrOutcomeUnknown = protocol.ErrOutcomeUnknown

	// ErrWriterEnded: the writer had ended before the call. The error wraps the cause, which
	// Writer.Err returns. Nothing was written.
	ErrWriterEnded = lifetime.ErrWriterEnded

	// ErrRejected: the events can't be serialized or are too large. The error is a *RejectedError.
	// Nothing was written, no sequence number was used, and the writer continues.
	ErrRejected = protocol.ErrRejected

	// ErrSequenceExhausted: the persistence id has no sequence numbers left for the events. Nothing
	// was written, and the writer continues.
	ErrSequenceExhausted = protocol.ErrSequenceExhausted

	// ErrVersion: the last visible event has another sequence number than the caller expected. The
	// error is a *VersionError. Nothing was written, and the writer continues.
	ErrVersion = protocol.ErrVersion

	// ErrSnapshotMissing: events were deleted because a snapshot has their state, and there is no
	// snapshot that is as new. The snapshot table is the wrong one, was restored to an earlier time
	// than the journal, or was not copied. Restore or copy it. If the snapshots are lost for good,
	// purge the persistence id. The error is a *SnapshotMissingError. No event was written.
	ErrSnapshotMissing = protocol.ErrSnapshotMissing

	// ErrPurged: the persistence id was purged after the state from which the recovery would
	// continue was saved or read. Recover from the beginning, without that state. The error is a
	// *PurgedError. No event was written.
	ErrPurged = protocol.ErrPurged

	// ErrSnapshotAhead: the snapshot is newer than the journal. Probably only the journal table was
	// restored to an earlier time, or one of the tables is the wrong one. Restore the journal to
	// the time of the snapshot, delete the snapshots that are above the journal's highest number,
	// or purge the persistence id. If the events are lost for good, recover once with
	// RecoverOptions.JournalLost. The error is a *SnapshotAheadError. No event was written.
	ErrSnapshotAhead = protocol.ErrSnapshotAhead

	// ErrSkipped: AppendEach did not write the event, because an event before it had failed.
	ErrSkipped = errors.New("not written, because an event before it failed")
)

// Errors of a request to DynamoDB, for errors.Is. From Writer.Append they mean that no reader will
// see any of the events. For other methods, [MaybeApplied] reports whether a part was done.
var (
	// ErrThrottled: DynamoDB throttled the request until Config.OperationTimeout was over. The text
	// names the limit and the table or index if DynamoDB does. errors.As finds them in the SDK's
	// *types.ThrottlingException or *types.ProvisionedThroughputExceededException. A limit of a key
	// range means a hot key: spread the writes. Otherwise try later, or raise the table's capacity.
	ErrThrottled = dynamo.ErrThrottled

	// ErrUnavailable: there was no response, or no response from DynamoDB, until the retries were
	// used up. Check the endpoint. If the endpoint hangs, Config.OperationTimeout is usually over
	// first: the error is then context.DeadlineExceeded.
	ErrUnavailable = dynamo.ErrUnavailable

	// ErrDenied: credentials are missing, wrong or expired, or the policy lacks the permission that
	// the text of the error names.
	ErrDenied = dynamo.ErrDenied

	// ErrTableNotFound: the table does not exist in this region or at this endpoint. [CreateTables]
	// creates it.
	ErrTableNotFound = dynamo.ErrTableNotFound

	// ErrInvalidRequest: DynamoDB refuses the request as invalid. The table is used by another
	// program, or this package has a bug.
	ErrInvalidRequest = dynamo.ErrInvalidRequest

	// ErrCollectionFull: the items of the persistence id have reached 10 GB, the limit of tables
	// with a local index. Writing fails until items of the persistence id are removed.
	ErrCollectionFull = dynamo.ErrCollectionFull
)

// Other errors, for errors.Is.
var (
	// ErrClosed: the journal was closed before or during the call.
	ErrClosed = core.ErrClosed

	// ErrInvalidArgument: an argument or a field of Config is wrong. The error is an
	// *ArgumentError. Nothing was sent.
	ErrInvalidArgument = core.ErrInvalidArgument

	// ErrTableSchema: the table does not have a journal's key, which is par (a string) and num (a
	// number). It belongs to another program, or to an older layout.
	ErrTableSchema = provision.ErrTableSchema

	// ErrHeaderMismatch: the configuration contradicts the journal's header, this version does not
	// understand the header, or an earlier version made this native journal. In the last case,
	// [UpdateTables] raises its version.
	ErrHeaderMismatch = provision.ErrHeaderMismatch

	// ErrNoHeader: the table was made for native journals, and has no header of this one. Either
	// CreateTables did not finish, or the table contains only journals with other names.
	// [CreateTables] finishes the journal, or adds it.
	ErrNoHeader = provision.ErrNoHeader

	// ErrIndex: the index of persistence ids does not exist under the configured name, has another
	// key, or is still being filled. Add it with UpdateTables, wait, or set IDsOptions.Scan.
	ErrIndex = provision.ErrIndex

	// ErrCorruptItem: a stored item can't be read. The error is an *ItemError, which names its key
	// and attribute, or a *DamagedSnapshotError. No event at or after the item was returned.
	ErrCorruptItem = protocol.ErrCorruptItem

	// ErrContentConflict: the target of a copy has different content at a sequence number. The
	// error is a *ContentConflictError. Nothing was overwritten. Copy to another journal, or purge
	// the persistence id.
	ErrContentConflict = protocol.ErrContentConflict

	// ErrTooLate: too much of the fence window has passed since the journal was read, for example
	// while the machine was asleep. The rest of the operation was therefore not sent. Recover, or
	// call the operation again.
	ErrTooLate = protocol.ErrTooLate

	// ErrClock: the clocks of this machine and of the service differ too much for a deletion: its
	// tombstones would expire too early or too late. The error is a *ClockError. Nothing was
	// deleted. Correct this machine's clock.
	ErrClock = protocol.ErrClock

	// ErrDeletedMeanwhile: events were deleted before the recovery had replayed them. Load the
	// newest snapshot and recover again.
	ErrDeletedMeanwhile = protocol.ErrDeletedMeanwhile

	// ErrEventMissing: nothing is stored at a sequence number of a native journal, although an
	// event of a later write shows that there was an event: an item was lost. The error is an
	// *EventMissingError. No event after the missing ones was returned, and a recovery has sealed
	// nothing. [Journal.Verify] reports where to restore the items. To continue without them,
	// repair the journal with VerifyOptions.SealMissing, or set SkipMissing in the options of the
	// call.
	ErrEventMissing = protocol.ErrEventMissing

	// ErrHole: more sequence numbers in a row are missing than a writer can leave, and a higher one
	// is taken. The error is a *HoleError. No event after them was returned. Either an item was put
	// there by mistake, or a JVM has lost its journal and continued after a snapshot: see
	// [Journal.Verify]. To continue, read from the number after the hole, or recover after a
	// snapshot of the hole's last number or later.
	ErrHole = protocol.ErrHole
)

// MaybeApplied reports whether the call that returned err may have changed what readers find:
// whether its change, or a part of it, is stored or may still be stored. If so, read what is stored
// before you repeat a change that is not idempotent. If MaybeApplied returns false, the call has
// changed nothing that a reader finds, and may be repeated as it is.
//
// A call that sends several writes at the same time, such as the parts of a snapshot, may report
// true although all of them were refused: the first refusal cancels the other writes in flight.
//
// The methods and functions that change what is stored:
//
//   - [Writer.Append], [Writer.AppendAt]: true only for [ErrOutcomeUnknown]. Recover the
//     persistence id to find out. For all other errors, including [ErrWriterConflict] and
//     [ErrVersion], no reader will ever see any of the events.
//   - [Writer.AppendEach]: for the error of an [Outcome], as for Append. For the error of the call,
//     also true if any of the events was written: append only the events that were not.
//   - [Writer.DeleteTo], [Writer.Purge], [Journal.DeleteSnapshots], [DeleteTables]: true if any
//     request that deletes or marks was or may have been done. All may be repeated: they continue
//     where they stopped. After an error of Purge, recover first.
//   - [Journal.SaveSnapshot], [Journal.CopySnapshot], [Journal.PutRecords],
//     [Journal.UpgradeEvents], [Journal.Repair], [Journal.RepairAll], [CreateTables],
//     [UpdateTables]: true if any request that writes was or may have been done. All are
//     idempotent.
//   - [Journal.Recover] and the methods that read: false. The seals and marks that a recovery
//     stores do not change what readers find, so it may always be repeated.
//
// The methods with the same names in package legacy return errors with the same meaning. For an
// error of the caller's own code, such as a Recover handler, MaybeApplied reports the result for
// the errors that it wraps. For [ErrWriterEnded], [ErrClosed], [ErrInvalidArgument], [ErrRejected]
// and [ErrVersion] alone it reports false, because nothing was sent.
func MaybeApplied(err error) bool { return errorform.MaybeApplied(err) }
