package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/dynajournal/dynajournal"
)

// Errors that the public packages declare, with their meanings.
var (
	ErrNoTable        = errors.New("the projections table can't be used")
	ErrReplicated     = errors.New("the journal table is replicated to other Regions")
	ErrResetting      = errors.New("the reset or removal of the projection was interrupted")
	ErrNoStream       = errors.New("the journal table has no stream")
	ErrNoProjection   = errors.New("there is no such projection")
	ErrOtherOffsets   = errors.New("the offsets of the projection are in another place")
	ErrNoOffsetsTable = errors.New("the table dynajournal_offsets can't be used")
	ErrPanic          = errors.New("the handler has panicked")
	ErrRefused        = errors.New("the target refuses the message")
	ErrRunning        = errors.New("the group is already running")
	ErrUnsupported    = errors.New("not supported for this kind of projection")
)

// HandlerError is a projection.HandlerError.
type HandlerError struct {
	Projection     string
	PersistenceID  string
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

// PanicError is a projection.PanicError.
type PanicError struct {
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

// ErrAgain reports that a row has changed since it was read: the run reads it again.
var ErrAgain = errors.New("the row has changed")

// Passes reports whether err is temporary: the request may succeed later without any change.
func Passes(err error) bool {
	return errors.Is(err, dynajournal.ErrThrottled) || errors.Is(err, dynajournal.ErrUnavailable)
}

// denied reports whether a policy has denied a request. Credentials that did not come in time are
// not a denial.
func denied(err error) bool {
	return errors.Is(err, dynajournal.ErrDenied) && !errors.Is(err, context.DeadlineExceeded)
}

// outage reports whether a request may succeed later without a change of the program.
func (g *Group) outage(err error) bool {
	return Passes(err) || errors.Is(err, ErrAgain) || errors.Is(err, context.DeadlineExceeded) ||
		denied(err) && g.worked.Load()
}

// Fatal reports whether the group can't continue after the error of a request. A denial is fatal
// until the group has handled something: the program was set up with a wrong policy. After that a
// denial is an outage: the policy was changed, and can be changed back.
func (g *Group) Fatal(err error) bool {
	offsets := errors.Is(err, ErrNoOffsetsTable) || errors.Is(err, ErrOtherOffsets)
	return offsets || denied(err) && !g.worked.Load() ||
		errors.Is(err, dynajournal.ErrClosed) || errors.Is(err, dynajournal.ErrTableNotFound)
}

// maxReason is the maximum number of bytes of an error text that are stored.
const maxReason = 500

// Shorten returns the first maxReason bytes of a text as valid UTF-8, with U+FFFD in place of a
// rune that is cut.
func Shorten(reason string) string {
	return strings.ToValidUTF8(reason[:min(len(reason), maxReason)], "\uFFFD")
}

// Argument returns a *dynajournal.ArgumentError.
func Argument(name string, value any, reason string) error {
	return &dynajournal.ArgumentError{Argument: name, Value: value, Reason: reason}
}

// DelayedError reports that a handler could not do its work for a temporary reason. It does not
// count as a failure of the handler.
type DelayedError struct{ Err error }

func (e *DelayedError) Error() string { return e.Err.Error() }

func (e *DelayedError) Unwrap() error { return e.Err }

// Delayed returns a DelayedError that wraps an error, nil for nil.
func Delayed(err error) error {
	if err == nil {
		return nil
	}
	return &DelayedError{err}
}

// DelayedIfPasses returns a DelayedError for a temporary error of a request, and any other error as
// it is.
func DelayedIfPasses(err error) error {
	if err != nil && (Passes(err) || errors.Is(err, context.DeadlineExceeded)) {
		return Delayed(err)
	}
	return err
}
