package dynajournal

import (
	"slices"

	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/internal/protocol"
)

// public returns the public form of an error of the protocol. An error that wraps one keeps its
// text and its chain.
func public(err error) error {
	if err == nil {
		return nil
	}
	form, _ := publicForm(err)
	return form
}

// publicForm is public. It also reports whether the public form is another error.
func publicForm(err error) (error, bool) { //nolint:revive // the error is the result
	switch e := err.(type) { //nolint:errorlint // publicForm walks the chain itself
	case *protocol.ConflictError:
		return (*ConflictError)(e), true
	case *protocol.OutcomeUnknownError:
		return &OutcomeUnknownError{e.PersistenceID, e.First, e.Last, public(e.Err)}, true
	case *protocol.VersionError:
		return (*VersionError)(e), true
	case *protocol.SnapshotMissingError:
		return (*SnapshotMissingError)(e), true
	case *protocol.PurgedError:
		return (*PurgedError)(e), true
	case *protocol.SnapshotAheadError:
		return (*SnapshotAheadError)(e), true
	case *protocol.ClockError:
		return (*ClockError)(e), true
	case *protocol.RejectedError:
		return (*RejectedError)(e), true
	case *protocol.ContentConflictError:
		return (*ContentConflictError)(e), true
	case *core.ArgumentError:
		return (*ArgumentError)(e), true
	case *core.DamagedSnapshotError:
		return (*DamagedSnapshotError)(e), true
	case *protocol.RecordError:
		return &ArgumentError{"records", e.SequenceNumber, e.Reason}, true
	case *protocol.EventMissingError:
		return (*EventMissingError)(e), true
	case *protocol.HoleError:
		return (*HoleError)(e), true
	case *protocol.ItemError:
		return (*ItemError)(e), true
	case *wrappedError:
		return err, false
	case interface{ Unwrap() error }:
		if form, other := publicForm(e.Unwrap()); other {
			return &wrappedError{err, []error{form}}, true
		}
	case interface{ Unwrap() []error }:
		var forms []error
		for _, part := range e.Unwrap() {
			if form, other := publicForm(part); other {
				forms = append(forms, form)
			}
		}
		if forms != nil {
			return &wrappedError{err, forms}, true
		}
	}
	return err, false
}

// wrappedError is an error that wraps errors of the protocol, with their public forms.
type wrappedError struct {
	error

	forms []error
}

// Unwrap returns the public forms, and after them the error itself.
func (e *wrappedError) Unwrap() []error { return append(slices.Clip(e.forms), e.error) }

// MaybeApplied reports what the error itself reports: an error inside of it, such as the cause of a
// writer's end, can be that of another call.
func (e *wrappedError) MaybeApplied() bool { return MaybeApplied(e.error) }
