package protocol

import (
	"errors"
	"fmt"
	"time"

	"github.com/dynajournal/dynajournal/internal/layout"
)

// The errors that callers tell apart. The root package documents what became of the data after
// each.
var (
	ErrWriterConflict    = errors.New("another writer has written to this persistence id")
	ErrOutcomeUnknown    = errors.New("it is not known whether the events were written")
	ErrWriterEnded       = errors.New("the writer has ended: recover the persistence id again")
	ErrRejected          = errors.New("the events are rejected")
	ErrSequenceExhausted = errors.New("there are no sequence numbers left")
	ErrCorruptItem       = errors.New("a stored item can't be read")
	ErrContentConflict   = errors.New("other content stands in the target")
	ErrTooLate           = errors.New("too much time has passed since the journal was read")
	ErrClock             = errors.New("the clock is off")
)

// ConflictError says who has taken a sequence number.
type ConflictError struct {
	PersistenceID  string
	SequenceNumber int64
	// WriterUUID is the writer of the event that is stored there; empty if no event is, or if it
	// names no writer.
	WriterUUID string
}

func (e *ConflictError) Error() string {
	by := "it is deleted or sealed, or what stands there names no writer"
	if e.WriterUUID != "" {
		by = fmt.Sprintf("writer %s has written it", e.WriterUUID)
	}
	return fmt.Sprintf("%v: %q, sequence number %d: %s: recover it again", ErrWriterConflict, e.PersistenceID, e.SequenceNumber, by)
}

// Is makes it ErrWriterConflict.
func (e *ConflictError) Is(target error) bool { return target == ErrWriterConflict }

// OutcomeUnknownError names a write of which the outcome is not known.
type OutcomeUnknownError struct {
	PersistenceID string
	First, Last   int64
	Err           error
}

func (e *OutcomeUnknownError) Error() string {
	return fmt.Sprintf("%v: %q, sequence numbers %d to %d: recover it again: %v", ErrOutcomeUnknown, e.PersistenceID, e.First, e.Last, e.Err)
}

// Is makes it ErrOutcomeUnknown.
func (e *OutcomeUnknownError) Is(target error) bool { return target == ErrOutcomeUnknown }

func (e *OutcomeUnknownError) Unwrap() error { return e.Err }

// MaybeApplied reports true.
func (*OutcomeUnknownError) MaybeApplied() bool { return true }

// ClockError says how far the local clock and the service's are apart.
type ClockError struct {
	Local, Service time.Time
	Offset, Limit  time.Duration
}

func (e *ClockError) Error() string {
	return fmt.Sprintf("%v by %v: this machine says %s, the service %s, and a deletion allows %v: correct the clock, and delete again",
		ErrClock, e.Offset, e.Local.UTC().Format(time.RFC3339), e.Service.UTC().Format(time.RFC3339), e.Limit)
}

// Is makes it ErrClock.
func (e *ClockError) Is(target error) bool { return target == ErrClock }

// RejectedError says why events can't be stored.
type RejectedError struct {
	PersistenceID string
	// Index is the place of the event in the call, from 0; -1 for the atomic write as a whole.
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
		return fmt.Sprintf("%v: %q: %s: %v: %d, the limit is %d", ErrRejected, e.PersistenceID, what, e.Err, e.Size, e.Limit)
	}
	return fmt.Sprintf("%v: %q: %s: %v", ErrRejected, e.PersistenceID, what, e.Err)
}

// Is makes it ErrRejected.
func (e *RejectedError) Is(target error) bool { return target == ErrRejected }

func (e *RejectedError) Unwrap() error { return e.Err }

// Reasons of a rejection.
var (
	errItemTooLarge  = errors.New("its item has too many bytes")
	errBatchTooLarge = errors.New("it has too many bytes")
	errTooManyEvents = errors.New("it has too many events")
)

// ContentConflictError names the first number at which the target of an import holds something
// else.
type ContentConflictError struct {
	PersistenceID  string
	SequenceNumber int64
	Detail         string
}

func (e *ContentConflictError) Error() string {
	return fmt.Sprintf("%v: %q, sequence number %d: %s", ErrContentConflict, e.PersistenceID, e.SequenceNumber, e.Detail)
}

// Is makes it ErrContentConflict.
func (e *ContentConflictError) Is(target error) bool { return target == ErrContentConflict }

// RecordError says why a record can't be imported: records are out of order or have gaps, or
// members of an atomic write are missing.
type RecordError struct {
	SequenceNumber int64
	Reason         string
}

func (e *RecordError) Error() string { return fmt.Sprintf("record %d: %s", e.SequenceNumber, e.Reason) }

// ItemError names a stored item that can't be read, with its table.
type ItemError struct {
	Table     string
	Par       string
	Num       int64
	Attribute string
	Err       error
}

func (e *ItemError) Error() string {
	return fmt.Sprintf("%v: table %q, par=%q num=%d: attribute %q: %v", ErrCorruptItem, e.Table, e.Par, e.Num, e.Attribute, e.Err)
}

// Is makes it ErrCorruptItem.
func (e *ItemError) Is(target error) bool { return target == ErrCorruptItem }

func (e *ItemError) Unwrap() error { return e.Err }

// InTable returns an *ItemError in the place of an error that has a *layout.ItemError in its chain,
// and any other error as it is.
func InTable(table string, err error) error {
	if item, ok := errors.AsType[*layout.ItemError](err); ok {
		return &ItemError{table, item.Key.Par, item.Key.Num, item.Attribute, item.Err}
	}
	return err
}
