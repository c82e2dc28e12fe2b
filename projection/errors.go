package projection

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/dynajournal/dynajournal"
)

// Errors, for errors.Is. Those of the journal are returned as well, such as
// [dynajournal.ErrInvalidArgument] and [dynajournal.ErrThrottled].
var (
	// ErrClaimed: a process is handling the persistence id. Try again later.
	ErrClaimed = errors.New("a process is handling the persistence id")

	// ErrInUse: processes run the projection. Stop them first.
	ErrInUse = errors.New("the projection is in use")

	// ErrInvalidEvent: an event of Lambda is not one of the stream of the journal table. The error
	// is an *EventError. Nothing was handled.
	ErrInvalidEvent = errors.New("the event is not one of the stream of the journal table")

	// ErrNoProjection: no group of the journal has run a projection of that name.
	ErrNoProjection = errors.New("there is no such projection")

	// ErrNotStuck: the persistence id is not stuck.
	ErrNotStuck = errors.New("the persistence id is not stuck")

	// ErrNoTable: the projections table does not exist, or has another key. Make it with
	// dynajournal.CreateTables and TableOptions.Projections, or `dynajournal tables create
	// --projections`.
	ErrNoTable = errors.New("the projections table can't be used")

	// ErrInvalidMessage: the function of an [Outbox] has returned messages that can't be sent.
	ErrInvalidMessage = errors.New("the message is not valid")

	// ErrNoDeadLetter: there is no such dead letter. It may have been sent or discarded.
	ErrNoDeadLetter = errors.New("there is no such dead letter")

	// ErrNoOffsetsTable: the table dynajournal_offsets of a SQL database can't be used. It could
	// not be made, has other columns, or a permission is missing.
	ErrNoOffsetsTable = errors.New("the table dynajournal_offsets can't be used")

	// ErrNoStream: the journal table has no stream. Add one with dynajournal.CreateTables and
	// TableOptions.Stream, or `dynajournal tables create --stream`.
	ErrNoStream = errors.New("the journal table has no stream")

	// ErrNoTagIndex: the table does not exist, or has no index of tags. Make it with
	// [CreateTagIndex].
	ErrNoTagIndex = errors.New("there is no index of tags")

	// ErrTagIndexRestored: the table of an index of tags is not the one that the index was made in:
	// it was restored from a backup, or copied. So it may lack entries that its projection does not
	// add again. Build the index anew in another table, or call [AcceptRestoredTagIndex] if the
	// projections table was restored with it.
	ErrTagIndexRestored = errors.New("the table of the index of tags was restored")

	// ErrOtherOffsets: the offsets of a projection are in another place: it was of another kind
	// before, or is waited for with [WaitFor] although it is one of [SQL].
	ErrOtherOffsets = errors.New("the offsets of the projection are in another place")

	// ErrPanic: a handler has panicked. The error is a *PanicError.
	ErrPanic = errors.New("the handler has panicked")

	// ErrRefused: the target of an [Outbox] will never take the message. A [Target] returns it.
	ErrRefused = errors.New("the target refuses the message")

	// ErrReplicated: the journal table has replicas in other Regions. The conditions of writes do
	// not hold across Regions, so neither the journal nor its projections are safe there. See
	// Config.AllowReplicas.
	ErrReplicated = errors.New("the journal table is replicated to other Regions")

	// ErrResetting: a [Operator.Reset] or a [Operator.Remove] of the projection was interrupted.
	// Call it again.
	ErrResetting = errors.New("the reset or removal of the projection was interrupted")

	// ErrRunning: the group runs already.
	ErrRunning = errors.New("the group runs already")

	// ErrStuck: the persistence id is stuck, as its handler has failed too often. The error is a
	// *StuckError. Correct the cause and call [Group.Resume].
	ErrStuck = errors.New("the persistence id is stuck")

	// ErrTransactionEnded: the transaction that a handler of [SQL] was called with has ended before
	// the offset was stored: the handler has ended it, or the database has after an error that the
	// handler did not return.
	ErrTransactionEnded = errors.New("the transaction has ended within the handler")

	// ErrUnsupported: the operation does not work on a projection of that kind.
	ErrUnsupported = errors.New("not supported for this kind of projection")

	// ErrTooManyItems: a transactional handler has returned more items than fit into a transaction
	// with the row. Nothing was written.
	ErrTooManyItems = errors.New("too many items for one transaction")

	// ErrTooManyRequests: too many requests of operators wait. Try again when processes of the
	// group have carried them out.
	ErrTooManyRequests = errors.New("too many requests wait for processes of the group")
)

// HandlerError is the failure of a handler, or of the reading of an event.
type HandlerError struct {
	// Projection is the name of the group and of the projection, such as billing/balances.
	Projection    string
	PersistenceID string
	// SequenceNumber is the number of the event, or the last number of the gap. It is 0 if the
	// journal could not be read.
	SequenceNumber int64
	Err            error
}

func (e *HandlerError) Error() string {
	if e.SequenceNumber == 0 {
		return fmt.Sprintf("projection %s of %q: %v", e.Projection, e.PersistenceID, e.Err)
	}
	return fmt.Sprintf("projection %s of %q at %d: %v", e.Projection, e.PersistenceID, e.SequenceNumber, e.Err)
}

func (e *HandlerError) Unwrap() error { return e.Err }

// PanicError is a panic of a handler. It is an ErrPanic.
type PanicError struct {
	// Value is the value of the panic, Stack the stack of the goroutine.
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("%v: %v", ErrPanic, e.Value) }

// Is reports whether target is ErrPanic.
func (e *PanicError) Is(target error) bool { return target == ErrPanic }

// Unwrap returns the value of the panic, if that is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// StuckError names a persistence id that is stuck. It is an ErrStuck.
type StuckError struct {
	// Projection is the name of the group and of the projection, such as billing/balances.
	Projection    string
	PersistenceID string
	// Offset is the number up to which events were handled.
	Offset int64
	// Reason is the text of the last failure, shortened.
	Reason string
}

func (e *StuckError) Error() string {
	return fmt.Sprintf("projection %s of %q: %v behind %d: %s", e.Projection, e.PersistenceID, ErrStuck, e.Offset, e.Reason)
}

// Is reports whether target is ErrStuck.
func (e *StuckError) Is(target error) bool { return target == ErrStuck }

// errAgain reports that a row has changed since it was read: the run begins again at the row.
var errAgain = errors.New("the row has changed")

// passes reports whether a request may succeed later without a change of anything.
func passes(err error) bool {
	return errors.Is(err, dynajournal.ErrThrottled) || errors.Is(err, dynajournal.ErrUnavailable)
}

// ends reports whether a group can't go on after an error of a request. Credentials that were not
// there in time are there later.
func ends(err error) bool {
	denied := errors.Is(err, dynajournal.ErrDenied) && !errors.Is(err, context.DeadlineExceeded)
	offsets := errors.Is(err, ErrNoOffsetsTable) || errors.Is(err, ErrOtherOffsets)
	return offsets || denied || errors.Is(err, dynajournal.ErrClosed) || errors.Is(err, dynajournal.ErrTableNotFound)
}

// maxReason is how many bytes of the text of a failure are stored.
const maxReason = 500

// shorten returns at most maxReason bytes of a text as UTF-8, and a sign for a rune that is cut.
func shorten(reason string) string {
	return strings.ToValidUTF8(reason[:min(len(reason), maxReason)], "\uFFFD")
}

func argument(name string, value any, reason string) error {
	return &dynajournal.ArgumentError{Argument: name, Value: value, Reason: reason}
}
