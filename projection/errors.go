package projection

import (
	"errors"
	"fmt"

	"github.com/dynajournal/dynajournal/projection/internal/engine"
)

// Errors for errors.Is. Errors of the journal are also returned, such as
// [dynajournal.ErrInvalidArgument] and [dynajournal.ErrThrottled].
var (
	// ErrInUse: processes run the projection. Stop them first.
	ErrInUse = errors.New("the projection is in use")

	// ErrNoProjection: no group of the journal has run a projection with that name.
	ErrNoProjection = engine.ErrNoProjection

	// ErrNoTable: the projections table does not exist, or has another key. Make it with
	// dynajournal.CreateTables and TableOptions.Projections, or `dynajournal tables create
	// --projections`.
	ErrNoTable = engine.ErrNoTable

	// ErrNoStream: the journal table has no stream. Add one with dynajournal.CreateTables and
	// TableOptions.Stream, or `dynajournal tables create --stream`.
	ErrNoStream = engine.ErrNoStream

	// ErrOtherOffsets: the offsets of a projection are stored elsewhere. Either the projection was
	// of another kind before, or [WaitFor] was called for a projection of package sqlprojection.
	ErrOtherOffsets = engine.ErrOtherOffsets

	// ErrPanic: a handler has panicked or called runtime.Goexit. The error is a *PanicError.
	ErrPanic = engine.ErrPanic

	// ErrReplicated: the journal table has replicas in other Regions. The conditions of writes do
	// not hold across Regions, so neither the journal nor its projections are safe there. See
	// Config.AllowReplicas.
	ErrReplicated = engine.ErrReplicated

	// ErrResetting: operator.Operator.Reset or operator.Operator.Remove of the projection was
	// interrupted. Call it again.
	ErrResetting = engine.ErrResetting

	// ErrRunning: the group is already running.
	ErrRunning = engine.ErrRunning

	// ErrStuck: the persistence id is stuck, because its handler has failed too often. The error is
	// a *StuckError. Fix the cause and call [Group.Resume].
	ErrStuck = errors.New("the persistence id is stuck")

	// ErrUnsupported: the operation does not work on this kind of projection or journal.
	ErrUnsupported = engine.ErrUnsupported

	// ErrTooManyItems: a transactional handler has returned more items than fit into a transaction
	// with the row. Nothing was written.
	ErrTooManyItems = errors.New("too many items for one transaction")
)

// HandlerError reports that a handler failed, or that an event could not be read.
type HandlerError struct {
	// Projection is the name of the group and of the projection, such as billing/balances.
	Projection    string
	PersistenceID string
	// SequenceNumber is the number of the event, or the last number of the gap. It is 0 if the
	// journal could not be read.
	SequenceNumber int64
	Err            error
}

func (e *HandlerError) Error() string { return (*engine.HandlerError)(e).Error() }

func (e *HandlerError) Unwrap() error { return e.Err }

// PanicError reports that a handler panicked, or ended its goroutine with runtime.Goexit. It is an
// ErrPanic.
type PanicError struct {
	// Value is the value of the panic, or an error that names runtime.Goexit. Stack is the stack of
	// the goroutine at the panic.
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return (*engine.PanicError)(e).Error() }

// Is reports whether target is ErrPanic.
func (e *PanicError) Is(target error) bool { return target == ErrPanic }

// Unwrap returns the value of the panic, if that is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// StuckError reports that a persistence id is stuck. It is an ErrStuck.
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
	return fmt.Sprintf("projection %s of %q: %v at offset %d: %s", e.Projection, e.PersistenceID, ErrStuck, e.Offset, e.Reason)
}

// Is reports whether target is ErrStuck.
func (e *StuckError) Is(target error) bool { return target == ErrStuck }
