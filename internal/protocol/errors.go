package protocol

import (
	"errors"
	"fmt"
	"time"

	"github.com/dynajournal/dynajournal/internal/layout"
)

// The errors that callers distinguish. The root package documents the state of the data after each.
var (
	ErrWriterConflict    = errors.New("another writer has written to this persistence id")
	ErrOutcomeUnknown    = errors.New("it is not known whether the events were written")
	ErrRejected          = errors.New("the events are rejected")
	ErrSequenceExhausted = errors.New("there are no sequence numbers left")
	ErrCorruptItem       = errors.New("a stored item can't be read")
	ErrContentConflict   = errors.New("the target has other content")
	ErrTooLate           = errors.New("too much time has passed since the journal was read")
	ErrClock             = errors.New("the clock is off")
	ErrVersion           = errors.New("the last event has another sequence number")
	ErrSnapshotMissing   = errors.New("a snapshot is missing")
	ErrPurged            = errors.New("the persistence id was purged meanwhile")
	ErrSnapshotAhead     = errors.New("a snapshot is ahead of its journal")
)

// PurgedError names the state from which a recovery continues, and the purge that has removed it.
type PurgedError struct {
	PersistenceID string
	// Known is the number of the last event that the state has.
	Known int64
	// Purged is the last number of the purged lives. The present life begins after it.
	Purged int64
}

func (e *PurgedError) Error() string {
	return fmt.Sprintf("%v: %q: the state is from number %d, and everything up to %d was purged: "+
		"recover from the beginning, without a snapshot", ErrPurged, e.PersistenceID, e.Known, e.Purged)
}

// Is reports whether target is ErrPurged.
func (e *PurgedError) Is(target error) bool { return target == ErrPurged }

// SnapshotMissingError names the last event that was deleted because a snapshot contains it, and
// the newest snapshot that was found.
type SnapshotMissingError struct {
	PersistenceID string
	// DeletedTo is the number of that event. There must be a snapshot at this number or after it.
	DeletedTo int64
	// Newest is the number of the newest snapshot that was found, or 0 if no snapshot was found.
	Newest int64
}

func (e *SnapshotMissingError) Error() string {
	newest := "no snapshot was found"
	if e.Newest > 0 {
		newest = fmt.Sprintf("the newest snapshot is at %d", e.Newest)
	}
	return fmt.Sprintf("%v: %q: the events up to %d were deleted because a snapshot has their state, but %s: "+
		"is it the right snapshot table, were both tables restored to the same time, were the snapshots also copied?",
		ErrSnapshotMissing, e.PersistenceID, e.DeletedTo, newest)
}

// Is reports whether target is ErrSnapshotMissing.
func (e *SnapshotMissingError) Is(target error) bool { return target == ErrSnapshotMissing }

// SnapshotAheadError names the number of a snapshot, and the highest number of the journal, which
// is lower.
type SnapshotAheadError struct {
	PersistenceID     string
	Snapshot, Highest int64
}

func (e *SnapshotAheadError) Error() string {
	return fmt.Sprintf("%v: %q: the snapshot is at %d, and the journal ends at %d: was only the journal table "+
		"restored to an earlier time, or is a table the wrong one? Restore the journal to the time of the snapshot, "+
		"delete the snapshots after %d, purge the persistence id, or recover with RecoverOptions.JournalLost",
		ErrSnapshotAhead, e.PersistenceID, e.Snapshot, e.Highest, e.Highest)
}

// Is reports whether target is ErrSnapshotAhead.
func (e *SnapshotAheadError) Is(target error) bool { return target == ErrSnapshotAhead }

// VersionError names the number of the last event that the caller expected, and the actual number.
type VersionError struct {
	PersistenceID  string
	Expected, Last int64
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("%v: %q: expected %d, got %d; nothing written",
		ErrVersion, e.PersistenceID, e.Expected, e.Last)
}

// Is reports whether target is ErrVersion.
func (e *VersionError) Is(target error) bool { return target == ErrVersion }

// ConflictError names a sequence number that another writer has taken.
type ConflictError struct {
	PersistenceID  string
	SequenceNumber int64
	// WriterUUID is the writer of the event stored there, or empty if no event is stored or the
	// event names no writer.
	WriterUUID string
}

func (e *ConflictError) Error() string {
	by := "it is deleted or sealed, or the event there names no writer"
	if e.WriterUUID != "" {
		by = fmt.Sprintf("writer %s has written it", e.WriterUUID)
	}
	return fmt.Sprintf("%v: %q, sequence number %d: %s: recover it again",
		ErrWriterConflict, e.PersistenceID, e.SequenceNumber, by)
}

// Is reports whether target is ErrWriterConflict.
func (e *ConflictError) Is(target error) bool { return target == ErrWriterConflict }

// OutcomeUnknownError names a write whose outcome is unknown.
type OutcomeUnknownError struct {
	PersistenceID string
	First, Last   int64
	Err           error
}

func (e *OutcomeUnknownError) Error() string {
	return fmt.Sprintf("%v: %q, sequence numbers %d to %d: recover it again: %v",
		ErrOutcomeUnknown, e.PersistenceID, e.First, e.Last, e.Err)
}

// Is reports whether target is ErrOutcomeUnknown.
func (e *OutcomeUnknownError) Is(target error) bool { return target == ErrOutcomeUnknown }

func (e *OutcomeUnknownError) Unwrap() error { return e.Err }

// MaybeApplied reports true.
func (*OutcomeUnknownError) MaybeApplied() bool { return true }

// ClockError reports the difference between the local clock and the service's.
type ClockError struct {
	Local, Service time.Time
	Offset, Limit  time.Duration
}

func (e *ClockError) Error() string {
	return fmt.Sprintf("%v by %v: this machine says %s, the service %s, and a deletion allows %v: correct the clock, and delete again",
		ErrClock, e.Offset, e.Local.UTC().Format(time.RFC3339), e.Service.UTC().Format(time.RFC3339), e.Limit)
}

// Is reports whether target is ErrClock.
func (e *ClockError) Is(target error) bool { return target == ErrClock }

// RejectedError reports why events can't be stored.
type RejectedError struct {
	PersistenceID string
	// Index is the index of the event in the call, from 0, or -1 for the atomic write as a whole.
	Index       int
	Size, Limit int
	Err         error
}

func (e *RejectedError) Error() string {
	what := "the atomic write"
	if e.Index >= 0 {
		what = fmt.Sprintf("event %d of the call", e.Index)
	}
	if e.Limit > 0 {
		return fmt.Sprintf("%v: %q: %s: %v: %d, the limit is %d",
			ErrRejected, e.PersistenceID, what, e.Err, e.Size, e.Limit)
	}
	return fmt.Sprintf("%v: %q: %s: %v", ErrRejected, e.PersistenceID, what, e.Err)
}

// Is reports whether target is ErrRejected.
func (e *RejectedError) Is(target error) bool { return target == ErrRejected }

func (e *RejectedError) Unwrap() error { return e.Err }

// The reasons of a rejection.
var (
	errNoMetadata    = errors.New("the old event format can't store its time, metadata or tags")
	errItemTooLarge  = errors.New("its item has too many bytes")
	errBatchTooLarge = errors.New("it has too many bytes")
	errTooManyEvents = errors.New("it has too many events")
)

// ContentConflictError names the first number at which the target of an import has other content.
type ContentConflictError struct {
	PersistenceID  string
	SequenceNumber int64
	Detail         string
}

func (e *ContentConflictError) Error() string {
	return fmt.Sprintf("%v: %q, sequence number %d: %s",
		ErrContentConflict, e.PersistenceID, e.SequenceNumber, e.Detail)
}

// Is reports whether target is ErrContentConflict.
func (e *ContentConflictError) Is(target error) bool { return target == ErrContentConflict }

// RecordError reports why a record can't be imported: records are out of order or have gaps, or an
// atomic write lacks members.
type RecordError struct {
	SequenceNumber int64
	Reason         string
}

func (e *RecordError) Error() string { return fmt.Sprintf("record %d: %s", e.SequenceNumber, e.Reason) }

// ItemError names a stored item that can't be read, and its table.
type ItemError struct {
	Table     string
	Par       string
	Num       int64
	Attribute string
	Err       error
}

func (e *ItemError) Error() string {
	return fmt.Sprintf("%v: table %q, par=%q num=%d: attribute %q: %v",
		ErrCorruptItem, e.Table, e.Par, e.Num, e.Attribute, e.Err)
}

// Is reports whether target is ErrCorruptItem.
func (e *ItemError) Is(target error) bool { return target == ErrCorruptItem }

func (e *ItemError) Unwrap() error { return e.Err }

// InTable returns an *ItemError in place of an error that wraps a *layout.ItemError, and any other
// error unchanged.
func InTable(table string, err error) error {
	if item, ok := errors.AsType[*layout.ItemError](err); ok {
		return &ItemError{table, item.Key.Par, item.Key.Num, item.Attribute, item.Err}
	}
	return err
}
