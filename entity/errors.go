package entity

import (
	"errors"
	"fmt"

	"github.com/dynajournal/dynajournal"
)

// Errors of commands, for errors.Is. Errors of the journal are returned as well, such as
// [dynajournal.ErrThrottled] and [dynajournal.ErrRejected]. [dynajournal.MaybeApplied] reports
// whether the events of a failed command may be stored.
var (
	// ErrBusy: too many commands wait for the entity. Nothing was written. Try later, or raise
	// Options.MaxWaiting.
	ErrBusy = errors.New("too many commands wait for the entity")

	// ErrClosed: the entities were closed. Nothing was written.
	ErrClosed = errors.New("the entities are closed")

	// ErrContended: other writers were faster at every attempt. The error is a [*ContendedError].
	// Nothing was written. Try later, or send the commands of an entity to one process.
	ErrContended = errors.New("other writers were faster at every attempt")

	// ErrDuplicate: a command with this id was done before. The error is a [*DuplicateError].
	ErrDuplicate = errors.New("the command was done before")

	// ErrOutcomeUnknown: the events of the command may be stored. The error wraps the cause. Send
	// the command again with its id (see [CommandID]), or read the state.
	ErrOutcomeUnknown = dynajournal.ErrOutcomeUnknown

	// ErrPanic: a function of the program has panicked. The error is a [*PanicError]. Nothing was
	// written. A command gets this error at once, even if it has read events that are still being
	// written and may never be stored.
	ErrPanic = errors.New("panic")

	// ErrRecoveryTimeout: an entity could not be loaded, or could not catch up with other writers,
	// within Options.RecoveryTimeout. Nothing was written, unless the error is also
	// ErrOutcomeUnknown. Try later, or raise the timeout.
	ErrRecoveryTimeout = errors.New("the recovery took too long")

	// ErrReentrant: a command has called a method of the entities that run it. The result of a
	// command must depend on the state alone: run other commands before or after it. The inner call
	// wrote nothing.
	ErrReentrant = errors.New("called by a command that is being decided")

	// ErrVersion: the entity is not at the version that At requires. The error is a
	// [*dynajournal.VersionError]. Nothing was written.
	ErrVersion = dynajournal.ErrVersion
)

// ContendedError reports how often a command was decided. It matches ErrContended.
type ContendedError struct {
	PersistenceID string
	// Attempts is how often the command was decided.
	Attempts int
	// Err is the last conflict.
	Err error
}

func (e *ContendedError) Error() string {
	return fmt.Sprintf("command of %q: %v (%d): %v", e.PersistenceID, ErrContended, e.Attempts, e.Err)
}

// Is reports whether target is ErrContended.
func (e *ContendedError) Is(target error) bool { return target == ErrContended }

func (e *ContendedError) Unwrap() error { return e.Err }

// MaybeApplied returns false. See [dynajournal.MaybeApplied].
func (*ContendedError) MaybeApplied() bool { return false }

// DuplicateError has the version that a command has led to. It matches ErrDuplicate. A command can
// be a duplicate of itself: if the response of its write was lost, and its events were deleted
// before the entity looked for them. Then the command was done, but its result is not known.
type DuplicateError struct {
	PersistenceID string
	// CommandID is the id of the command.
	CommandID string
	// Version is the sequence number of the last event of the command.
	Version int64
}

func (e *DuplicateError) Error() string {
	return fmt.Sprintf("command %q of %q: %v, with version %d", e.CommandID, e.PersistenceID, ErrDuplicate, e.Version)
}

// Is reports whether target is ErrDuplicate.
func (e *DuplicateError) Is(target error) bool { return target == ErrDuplicate }

// PanicError is a panic of a function of the program: a command, or one of the functions of Type.
// It matches ErrPanic.
type PanicError struct {
	PersistenceID string
	// Event is the event that Evolve was called with, or nil if another function has panicked.
	// SequenceNumber is the number of Event, or 0 if it is not stored.
	Event          any
	SequenceNumber int64
	// Value is the value of the panic. Stack is the stack of the goroutine.
	Value any
	Stack []byte
}

func (e *PanicError) Error() string {
	switch {
	case e.Event == nil:
		return fmt.Sprintf("command of %q: panic: %v", e.PersistenceID, e.Value)
	case e.SequenceNumber == 0:
		return fmt.Sprintf("command of %q: Evolve of a %T: panic: %v", e.PersistenceID, e.Event, e.Value)
	}
	return fmt.Sprintf("load %q: Evolve of event %d, a %T: panic: %v", e.PersistenceID, e.SequenceNumber, e.Event, e.Value)
}

// Is reports whether target is ErrPanic.
func (e *PanicError) Is(target error) bool { return target == ErrPanic }

// Unwrap returns the value of the panic, if that is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// unknownError is the error of a command whose events may be written.
type unknownError struct {
	pid string
	err error
}

func (e *unknownError) Error() string {
	return fmt.Sprintf("command of %q: it is not known whether its events were written: %v", e.pid, e.err)
}

// Is reports whether target is ErrOutcomeUnknown.
func (e *unknownError) Is(target error) bool { return target == ErrOutcomeUnknown }

func (e *unknownError) Unwrap() error { return e.err }

// MaybeApplied returns true. See [dynajournal.MaybeApplied].
func (*unknownError) MaybeApplied() bool { return true }

// notWrittenError reports that a command wrote nothing. Its cause may be the error of another
// command's write.
type notWrittenError struct {
	pid string
	err error
}

func (e *notWrittenError) Error() string { return fmt.Sprintf("command of %q: %v", e.pid, e.err) }

func (e *notWrittenError) Unwrap() error { return e.err }

// MaybeApplied returns false. See [dynajournal.MaybeApplied].
func (*notWrittenError) MaybeApplied() bool { return false }
