package dynajournal

import (
	"errors"
	"fmt"
	"time"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/protocol"
	"github.com/dynajournal/dynajournal/internal/provision"
)

// Errors of a writer, for errors.Is. After each of them but ErrRejected and ErrClosed the writer
// has ended: what the caller does is recover again, which tells what stands in the journal now.
var (
	// ErrWriterConflict: another writer has taken the sequence number. The error is a
	// *ConflictError. It does not prove that nothing was written: of an atomic write members may
	// have landed, which nobody will ever see. It does prove that nobody has seen or will see any
	// of the events.
	ErrWriterConflict = protocol.ErrWriterConflict

	// ErrOutcomeUnknown: the write may be done or not, or still come to be done; another may even
	// have seen it and deleted it. The error is an *OutcomeUnknownError. Recovery finds it, or
	// makes sure that it never appears.
	ErrOutcomeUnknown = protocol.ErrOutcomeUnknown

	// ErrWriterEnded: the writer was used after it had ended.
	ErrWriterEnded = protocol.ErrWriterEnded

	// ErrRejected: the events can't be stored: they can't be serialized or are too large. The error
	// is a *RejectedError. Nothing was written and no sequence number was used; the writer lives
	// on.
	ErrRejected = protocol.ErrRejected

	// ErrSequenceExhausted: the persistence id has no sequence number left for the events. Nothing
	// was written, the writer lives on.
	ErrSequenceExhausted = protocol.ErrSequenceExhausted
)

// Errors of a request to DynamoDB, for errors.Is. Returned by a writer's methods they mean that
// nothing was written, or only parts of an atomic write, which nobody will ever see; where the
// writer may go on after one, its method says so.
var (
	// ErrThrottled: DynamoDB refused for want of capacity until the retries were used up. Try
	// later, raise the table's capacity, or Config.Retries.
	ErrThrottled = dynamo.ErrThrottled

	// ErrUnavailable: there was no answer, or none that is DynamoDB's, until the retries were used
	// up. Check the endpoint.
	ErrUnavailable = dynamo.ErrUnavailable

	// ErrDenied: credentials are missing, wrong or expired, or the policy lacks a permission. The
	// text names it.
	ErrDenied = dynamo.ErrDenied

	// ErrTableNotFound: there is no such table in this Region or at this endpoint. Make it with
	// CreateTables.
	ErrTableNotFound = dynamo.ErrTableNotFound

	// ErrInvalidRequest: DynamoDB finds the request wrong. If the table is not one of ours this
	// says so; else it is a bug.
	ErrInvalidRequest = dynamo.ErrInvalidRequest

	// ErrCollectionFull: the partition of a table with a local index has reached 10 GB. It is
	// permanent until items of the persistence id are removed.
	ErrCollectionFull = dynamo.ErrCollectionFull
)

// Other errors, for errors.Is.
var (
	// ErrClosed: the journal is closed, or was closed while the operation was under way.
	ErrClosed = errors.New("the journal is closed")

	// ErrInvalidArgument: an argument or a field of Config is wrong. The error is an
	// *ArgumentError. Nothing was sent.
	ErrInvalidArgument = errors.New("invalid argument")

	// ErrTableSchema: the table's key is not that of a journal (par, a string, and num, a number).
	// It belongs to something else, or to an older layout.
	ErrTableSchema = provision.ErrTableSchema

	// ErrHeaderMismatch: the configuration contradicts the journal's header, or the header can't be
	// understood.
	ErrHeaderMismatch = provision.ErrHeaderMismatch

	// ErrNoHeader: the table was made for native journals, and has no header of this one: its
	// making was cut short, or it is another journal's table. CreateTables finishes the making, and
	// makes one of that name.
	ErrNoHeader = provision.ErrNoHeader

	// ErrIndex: the index of persistence ids can't be used: there is none of the configured name,
	// it has another key, or it is still being filled. Make or mend it with UpdateTables, wait, or
	// list by a scan.
	ErrIndex = provision.ErrIndex

	// ErrCorruptItem: a stored item can't be read. The error is an *ItemError, which names key and
	// attribute. Nothing behind the item was handed out.
	ErrCorruptItem = protocol.ErrCorruptItem

	// ErrContentConflict: where a history was to be copied to, something else stands. The error is
	// a *ContentConflictError. Nothing was written over; what was equal up to there stays. Copy to
	// another journal, or purge the persistence id there.
	ErrContentConflict = protocol.ErrContentConflict

	// ErrTooLate: so much of the fence window has passed since the journal was read that nothing
	// may be written by it any more, as after the machine slept. What was not sent yet was not
	// sent. Recover again, or call the operation again.
	ErrTooLate = protocol.ErrTooLate

	// ErrClock: this machine's clock and the service's are too far apart for a deletion, whose
	// tombstones would vanish too early or too late. The error is a *ClockError. Nothing was
	// written. Correct the clock.
	ErrClock = protocol.ErrClock

	// ErrDeletedMeanwhile: while a recovery was handing out events, those that were to follow were
	// deleted. Load the newest snapshot and recover again.
	ErrDeletedMeanwhile = protocol.ErrDeletedMeanwhile

	// ErrHole: more sequence numbers in a row are missing than any writer leaves, with something
	// behind them. The error is a *HoleError, which names them and the marks. Nothing behind them
	// was handed out. A mark or an item was put there wrongly, or a JVM has lost its journal and
	// gone on after a snapshot. Verify names what is there. To go on behind the hole, read from its
	// last number + 1, or recover after a snapshot of its last number or later.
	ErrHole = protocol.ErrHole
)

// HoleError names the sequence numbers that are missing. errors.Is ErrHole.
type HoleError struct {
	PersistenceID string
	// First and Last are the first and the last number that is missing.
	First, Last int64
	// HighMark and LowMark are the highest marks, 0 if there are none.
	HighMark, LowMark int64
}

func (e *HoleError) Error() string { return (*protocol.HoleError)(e).Error() }

// Is makes it ErrHole.
func (e *HoleError) Is(target error) bool { return target == ErrHole }

// ConflictError says who has taken a sequence number. errors.Is ErrWriterConflict.
type ConflictError struct {
	PersistenceID string
	// SequenceNumber is the one that was to be written.
	SequenceNumber int64
	// WriterUUID is the writer whose event stands there; empty if what stands there is no event but
	// a deleted or sealed number, or names no writer, as in older layouts.
	WriterUUID string
}

func (e *ConflictError) Error() string { return (*protocol.ConflictError)(e).Error() }

// Is makes it ErrWriterConflict.
func (e *ConflictError) Is(target error) bool { return target == ErrWriterConflict }

// OutcomeUnknownError names a write of which the outcome is not known. errors.Is ErrOutcomeUnknown.
type OutcomeUnknownError struct {
	PersistenceID string
	// First and Last are the sequence numbers that were to be written.
	First, Last int64
	// Err is why: a lost answer, or the context's end.
	Err error
}

func (e *OutcomeUnknownError) Error() string { return (*protocol.OutcomeUnknownError)(e).Error() }

// Is makes it ErrOutcomeUnknown.
func (e *OutcomeUnknownError) Is(target error) bool { return target == ErrOutcomeUnknown }

func (e *OutcomeUnknownError) Unwrap() error { return e.Err }

// MaybeApplied reports true. See the function MaybeApplied.
func (*OutcomeUnknownError) MaybeApplied() bool { return true }

// ClockError says how far the clocks are apart. errors.Is ErrClock.
type ClockError struct {
	// Local is what this machine's clock showed when the service's showed Service.
	Local, Service time.Time
	// Offset is how far the local clock is ahead, Limit how far it may be off: a tenth of the fence
	// window.
	Offset, Limit time.Duration
}

func (e *ClockError) Error() string { return (*protocol.ClockError)(e).Error() }

// Is makes it ErrClock.
func (e *ClockError) Is(target error) bool { return target == ErrClock }

// RejectedError says why events can't be stored. errors.Is ErrRejected.
type RejectedError struct {
	PersistenceID string
	// Index is the place of the event in the call, from 0; -1 if it is the atomic write as a whole.
	Index int
	// Size and Limit are in bytes, or in events for an atomic write of too many; both 0 if the size
	// is not the reason.
	Size, Limit int
	// Err is why.
	Err error
}

func (e *RejectedError) Error() string { return (*protocol.RejectedError)(e).Error() }

// Is makes it ErrRejected.
func (e *RejectedError) Is(target error) bool { return target == ErrRejected }

func (e *RejectedError) Unwrap() error { return e.Err }

// ContentConflictError names the first number at which the target of a copy holds something else.
// errors.Is ErrContentConflict.
type ContentConflictError struct {
	PersistenceID  string
	SequenceNumber int64
	// Detail says in words what stands there.
	Detail string
}

func (e *ContentConflictError) Error() string { return (*protocol.ContentConflictError)(e).Error() }

// Is makes it ErrContentConflict.
func (e *ContentConflictError) Is(target error) bool { return target == ErrContentConflict }

// ArgumentError names an argument that is wrong. errors.Is ErrInvalidArgument.
type ArgumentError struct {
	// Argument is its name, for a field of Config with Config before it.
	Argument string
	Value    any
	Reason   string
}

func (e *ArgumentError) Error() string {
	return fmt.Sprintf("%v: %s = %v: %s", ErrInvalidArgument, e.Argument, quoted(e.Value), e.Reason)
}

// Is makes it ErrInvalidArgument.
func (e *ArgumentError) Is(target error) bool { return target == ErrInvalidArgument }

// mustNotBeNegative is the reason that most arguments can be wrong for.
const mustNotBeNegative = "it must not be negative"

// quoted shows a string in quotes, cut where it is long, and anything else as it is.
func quoted(v any) any {
	const most = 60
	s, ok := v.(string)
	if !ok {
		return v
	}
	if len(s) > most {
		return fmt.Sprintf("%.*q… (%d bytes)", most, s, len(s))
	}
	return fmt.Sprintf("%q", s)
}

// ItemError names the stored item that can't be read. errors.Is ErrCorruptItem.
type ItemError struct {
	Table string
	// Par and Num are the item's key.
	Par string
	Num int64
	// Attribute is the one that can't be read.
	Attribute string
	// Err is why.
	Err error
}

func (e *ItemError) Error() string { return (*protocol.ItemError)(e).Error() }

// Is makes it ErrCorruptItem.
func (e *ItemError) Is(target error) bool { return target == ErrCorruptItem }

func (e *ItemError) Unwrap() error { return e.Err }

// DamagedSnapshotError names a snapshot that is stored and can't be read: its item, or a part of
// it, is missing or damaged. errors.Is ErrCorruptItem. Restore its items from a backup. Or go on
// without it: load an older snapshot with SnapshotCriteria.MaxSequenceNumber below it, if
// Bounds.Lowest is at most the number behind that one; then save anew, or delete the damaged one.
type DamagedSnapshotError struct {
	PersistenceID  string
	SequenceNumber int64
	// Err is why; an *ItemError where an item can't be read.
	Err error
}

func (e *DamagedSnapshotError) Error() string {
	return fmt.Sprintf("the snapshot of %q at %d is damaged: %v", e.PersistenceID, e.SequenceNumber, e.Err)
}

// Is makes it ErrCorruptItem.
func (e *DamagedSnapshotError) Is(target error) bool { return target == ErrCorruptItem }

func (e *DamagedSnapshotError) Unwrap() error { return e.Err }
