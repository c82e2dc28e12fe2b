package dynajournal

import (
	"time"

	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/internal/protocol"
)

// EventMissingError reports the sequence numbers at which events are missing. It matches
// ErrEventMissing.
type EventMissingError struct {
	PersistenceID string
	// First and Last are the first and the last missing number. There may be more missing numbers
	// after Last.
	First, Last int64
	// Next is the number of an event that was written after the missing ones.
	Next int64
}

func (e *EventMissingError) Error() string { return (*protocol.EventMissingError)(e).Error() }

// Is reports whether target is ErrEventMissing.
func (e *EventMissingError) Is(target error) bool { return target == ErrEventMissing }

// HoleError reports the sequence numbers that are missing. It matches ErrHole.
type HoleError struct {
	PersistenceID string
	// First and Last are the first and the last missing number.
	First, Last int64
	// HighMark and LowMark are the highest marks, or 0 without any.
	HighMark, LowMark int64
}

func (e *HoleError) Error() string { return (*protocol.HoleError)(e).Error() }

// Is reports whether target is ErrHole.
func (e *HoleError) Is(target error) bool { return target == ErrHole }

// ConflictError reports the writer that has taken a sequence number. It matches ErrWriterConflict.
type ConflictError struct {
	PersistenceID string
	// SequenceNumber is the number at which the event should have been written.
	SequenceNumber int64
	// WriterUUID is the UUID of the writer whose event is stored there. It is empty if the number
	// is deleted or sealed, or if the event does not name its writer, as in older layouts.
	WriterUUID string
}

func (e *ConflictError) Error() string { return (*protocol.ConflictError)(e).Error() }

// Is reports whether target is ErrWriterConflict.
func (e *ConflictError) Is(target error) bool { return target == ErrWriterConflict }

// OutcomeUnknownError reports the events that may be written. It matches ErrOutcomeUnknown.
type OutcomeUnknownError struct {
	PersistenceID string
	// First and Last are the sequence numbers of the first and the last event.
	First, Last int64
	// Err is the cause: a lost response, or the end of the context.
	Err error
}

func (e *OutcomeUnknownError) Error() string { return (*protocol.OutcomeUnknownError)(e).Error() }

// Is reports whether target is ErrOutcomeUnknown.
func (e *OutcomeUnknownError) Is(target error) bool { return target == ErrOutcomeUnknown }

func (e *OutcomeUnknownError) Unwrap() error { return e.Err }

// MaybeApplied returns true. See the function MaybeApplied.
func (*OutcomeUnknownError) MaybeApplied() bool { return true }

// VersionError reports the sequence number that the caller expected, and the number of the last
// visible event. It matches ErrVersion.
type VersionError struct {
	PersistenceID string
	// Expected is the number that the caller passed. Last is the number that Writer.Last returns.
	Expected, Last int64
}

func (e *VersionError) Error() string { return (*protocol.VersionError)(e).Error() }

// Is reports whether target is ErrVersion.
func (e *VersionError) Is(target error) bool { return target == ErrVersion }

// SnapshotMissingError reports that events were deleted because a snapshot has their state, and
// that the snapshot is missing. It matches ErrSnapshotMissing.
type SnapshotMissingError struct {
	PersistenceID string
	// DeletedTo is the number of the last event that was deleted because a snapshot has its state.
	// A snapshot at that number or after it must exist.
	DeletedTo int64
	// Newest is the number of the newest snapshot that was found or given, or 0 without any.
	Newest int64
}

func (e *SnapshotMissingError) Error() string { return (*protocol.SnapshotMissingError)(e).Error() }

// Is reports whether target is ErrSnapshotMissing.
func (e *SnapshotMissingError) Is(target error) bool { return target == ErrSnapshotMissing }

// PurgedError reports the state from which a recovery would continue, and the purge that has
// removed that state. It matches ErrPurged.
type PurgedError struct {
	PersistenceID string
	// Known is the number of the last event in the state: the snapshot's number, or
	// RecoverOptions.After.
	Known int64
	// Purged is the highest number that the purge has taken. The next events have higher numbers.
	Purged int64
}

func (e *PurgedError) Error() string { return (*protocol.PurgedError)(e).Error() }

// Is reports whether target is ErrPurged.
func (e *PurgedError) Is(target error) bool { return target == ErrPurged }

// SnapshotAheadError reports a snapshot that is newer than the journal. It matches
// ErrSnapshotAhead.
type SnapshotAheadError struct {
	PersistenceID string
	// Snapshot is the sequence number of the snapshot. Highest is the highest number of the
	// journal.
	Snapshot, Highest int64
}

func (e *SnapshotAheadError) Error() string { return (*protocol.SnapshotAheadError)(e).Error() }

// Is reports whether target is ErrSnapshotAhead.
func (e *SnapshotAheadError) Is(target error) bool { return target == ErrSnapshotAhead }

// ClockError reports the difference between the clocks. It matches ErrClock.
type ClockError struct {
	// Local is the time of this machine's clock at the moment when the service's clock showed
	// Service.
	Local, Service time.Time
	// Offset is the time by which the local clock is ahead. Limit is the largest allowed offset, a
	// tenth of the fence window.
	Offset, Limit time.Duration
}

func (e *ClockError) Error() string { return (*protocol.ClockError)(e).Error() }

// Is reports whether target is ErrClock.
func (e *ClockError) Is(target error) bool { return target == ErrClock }

// RejectedError reports why events can't be stored. It matches ErrRejected.
type RejectedError struct {
	PersistenceID string
	// Index is the index of the event among the arguments, or -1 for the atomic write as a whole.
	Index int
	// Size and Limit are in bytes, or in events if an atomic write has too many events. Both are 0
	// if the size is not the reason.
	Size, Limit int
	// Err is the reason.
	Err error
}

func (e *RejectedError) Error() string { return (*protocol.RejectedError)(e).Error() }

// Is reports whether target is ErrRejected.
func (e *RejectedError) Is(target error) bool { return target == ErrRejected }

func (e *RejectedError) Unwrap() error { return e.Err }

// ContentConflictError reports the first sequence number at which the target of a copy has
// different content. It matches ErrContentConflict.
type ContentConflictError struct {
	PersistenceID  string
	SequenceNumber int64
	// Detail describes the content of the target.
	Detail string
}

func (e *ContentConflictError) Error() string { return (*protocol.ContentConflictError)(e).Error() }

// Is reports whether target is ErrContentConflict.
func (e *ContentConflictError) Is(target error) bool { return target == ErrContentConflict }

// ArgumentError reports an invalid argument or field. It matches ErrInvalidArgument.
type ArgumentError struct {
	// Argument is the name of the argument, or of a type and its field, such as Config.Endpoint.
	Argument string
	Value    any
	Reason   string
}

func (e *ArgumentError) Error() string { return (*core.ArgumentError)(e).Error() }

// Is reports whether target is ErrInvalidArgument.
func (e *ArgumentError) Is(target error) bool { return target == ErrInvalidArgument }

// ItemError reports a stored item that can't be read. It matches ErrCorruptItem.
type ItemError struct {
	Table string
	// Par and Num are the item's key.
	Par string
	Num int64
	// Attribute is the name of the attribute that can't be read.
	Attribute string
	// Err is the reason.
	Err error
}

func (e *ItemError) Error() string { return (*protocol.ItemError)(e).Error() }

// Is reports whether target is ErrCorruptItem.
func (e *ItemError) Is(target error) bool { return target == ErrCorruptItem }

func (e *ItemError) Unwrap() error { return e.Err }

// DamagedSnapshotError reports a stored snapshot that can't be read because one of its items is
// missing or damaged. It matches ErrCorruptItem.
//
// Restore the items from a backup. Or load an older snapshot, with
// SnapshotCriteria.MaxSequenceNumber below the damaged one. The older snapshot can be used if
// Bounds.Lowest is at most its number plus one. Then save a new snapshot, or delete the damaged
// one.
type DamagedSnapshotError struct {
	PersistenceID  string
	SequenceNumber int64
	// Err is the reason. It is an *ItemError if an item can't be read.
	Err error
}

func (e *DamagedSnapshotError) Error() string { return (*core.DamagedSnapshotError)(e).Error() }

// Is reports whether target is ErrCorruptItem.
func (e *DamagedSnapshotError) Is(target error) bool { return target == ErrCorruptItem }

func (e *DamagedSnapshotError) Unwrap() error { return e.Err }
