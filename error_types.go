package dynajournal

import (
	"time"

	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/internal/protocol"
)

// EventMissingError names sequence numbers at which events are missing. It is an ErrEventMissing.
type EventMissingError struct {
	PersistenceID string
	// First and Last are the first and the last of the missing numbers. There may be more after
	// Last.
	First, Last int64
	// Next is the number of an event that was written after them.
	Next int64
}

func (e *EventMissingError) Error() string { return (*protocol.EventMissingError)(e).Error() }

// Is reports whether target is ErrEventMissing.
func (e *EventMissingError) Is(target error) bool { return target == ErrEventMissing }

// HoleError names the sequence numbers that are missing. It is an ErrHole.
type HoleError struct {
	PersistenceID string
	// First and Last are the first and the last of the missing numbers.
	First, Last int64
	// HighMark and LowMark are the highest marks, 0 if there are none.
	HighMark, LowMark int64
}

func (e *HoleError) Error() string { return (*protocol.HoleError)(e).Error() }

// Is reports whether target is ErrHole.
func (e *HoleError) Is(target error) bool { return target == ErrHole }

// ConflictError names the writer that has taken a sequence number. It is an ErrWriterConflict.
type ConflictError struct {
	PersistenceID string
	// SequenceNumber is the number that was to be written.
	SequenceNumber int64
	// WriterUUID is the writer of the event that is stored there. It is empty if the number is
	// deleted or sealed, or if the event names no writer, as in older layouts.
	WriterUUID string
}

func (e *ConflictError) Error() string { return (*protocol.ConflictError)(e).Error() }

// Is reports whether target is ErrWriterConflict.
func (e *ConflictError) Is(target error) bool { return target == ErrWriterConflict }

// OutcomeUnknownError names the events that may be written. It is an ErrOutcomeUnknown.
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

// VersionError names the sequence number that the caller expected, and that of the last visible
// event. It is an ErrVersion.
type VersionError struct {
	PersistenceID string
	// Expected is the number that the caller gave, Last what Writer.Last returns.
	Expected, Last int64
}

func (e *VersionError) Error() string { return (*protocol.VersionError)(e).Error() }

// Is reports whether target is ErrVersion.
func (e *VersionError) Is(target error) bool { return target == ErrVersion }

// SnapshotMissingError names the event that a missing snapshot covers. It is an ErrSnapshotMissing.
type SnapshotMissingError struct {
	PersistenceID string
	// DeletedTo is the number of the last event that was deleted because a snapshot has its state:
	// a snapshot at that number, or after it, must be there.
	DeletedTo int64
	// Newest is the number of the newest snapshot that was found or given, or 0 if there is none.
	Newest int64
}

func (e *SnapshotMissingError) Error() string { return (*protocol.SnapshotMissingError)(e).Error() }

// Is reports whether target is ErrSnapshotMissing.
func (e *SnapshotMissingError) Is(target error) bool { return target == ErrSnapshotMissing }

// PurgedError names the state from which a recovery would continue, and the purge that has removed
// it. It is an ErrPurged.
type PurgedError struct {
	PersistenceID string
	// Known is the number of the last event that the state has: that of the snapshot, or
	// RecoverOptions.After.
	Known int64
	// Purged is the highest number that the purge has taken. The next events have higher numbers.
	Purged int64
}

func (e *PurgedError) Error() string { return (*protocol.PurgedError)(e).Error() }

// Is reports whether target is ErrPurged.
func (e *PurgedError) Is(target error) bool { return target == ErrPurged }

// SnapshotAheadError names the numbers of a snapshot that is newer than the journal. It is an
// ErrSnapshotAhead.
type SnapshotAheadError struct {
	PersistenceID string
	// Snapshot is the number of the snapshot. Highest is the highest number of the journal.
	Snapshot, Highest int64
}

func (e *SnapshotAheadError) Error() string { return (*protocol.SnapshotAheadError)(e).Error() }

// Is reports whether target is ErrSnapshotAhead.
func (e *SnapshotAheadError) Is(target error) bool { return target == ErrSnapshotAhead }

// ClockError names the difference between the clocks. It is an ErrClock.
type ClockError struct {
	// Local is the time of this machine's clock when the service's clock showed Service.
	Local, Service time.Time
	// Offset is by how much the local clock is ahead. Limit is the largest offset that is allowed,
	// a tenth of the fence window.
	Offset, Limit time.Duration
}

func (e *ClockError) Error() string { return (*protocol.ClockError)(e).Error() }

// Is reports whether target is ErrClock.
func (e *ClockError) Is(target error) bool { return target == ErrClock }

// RejectedError is the reason why events can't be stored. It is an ErrRejected.
type RejectedError struct {
	PersistenceID string
	// Index is the index of the event among the arguments, -1 for the atomic write as a whole.
	Index int
	// Size and Limit are in bytes, or in events if an atomic write has too many. Both are 0 if the
	// size is not the reason.
	Size, Limit int
	// Err is the reason.
	Err error
}

func (e *RejectedError) Error() string { return (*protocol.RejectedError)(e).Error() }

// Is reports whether target is ErrRejected.
func (e *RejectedError) Is(target error) bool { return target == ErrRejected }

func (e *RejectedError) Unwrap() error { return e.Err }

// ContentConflictError names the first sequence number at which the target of a copy holds other
// content. It is an ErrContentConflict.
type ContentConflictError struct {
	PersistenceID  string
	SequenceNumber int64
	// Detail describes what is stored there.
	Detail string
}

func (e *ContentConflictError) Error() string { return (*protocol.ContentConflictError)(e).Error() }

// Is reports whether target is ErrContentConflict.
func (e *ContentConflictError) Is(target error) bool { return target == ErrContentConflict }

// ArgumentError names the argument that is wrong. It is an ErrInvalidArgument.
type ArgumentError struct {
	// Argument is the name of the argument, or of the type and the field, such as Config.Endpoint.
	Argument string
	Value    any
	Reason   string
}

func (e *ArgumentError) Error() string { return (*core.ArgumentError)(e).Error() }

// Is reports whether target is ErrInvalidArgument.
func (e *ArgumentError) Is(target error) bool { return target == ErrInvalidArgument }

// ItemError names the stored item that can't be read. It is an ErrCorruptItem.
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

// DamagedSnapshotError names a stored snapshot that can't be read, as one of its items is missing
// or damaged. It is an ErrCorruptItem.
//
// Restore the items from a backup. Or load an older snapshot, with
// SnapshotCriteria.MaxSequenceNumber below the damaged one: that is right if Bounds.Lowest is at
// most the older snapshot's number plus one. Then save a new snapshot, or delete the damaged one.
type DamagedSnapshotError struct {
	PersistenceID  string
	SequenceNumber int64
	// Err is the reason; an *ItemError if an item can't be read.
	Err error
}

func (e *DamagedSnapshotError) Error() string { return (*core.DamagedSnapshotError)(e).Error() }

// Is reports whether target is ErrCorruptItem.
func (e *DamagedSnapshotError) Is(target error) bool { return target == ErrCorruptItem }

func (e *DamagedSnapshotError) Unwrap() error { return e.Err }
