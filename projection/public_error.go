package projection

import (
	"github.com/dynajournal/dynajournal/internal/errorform"
	"github.com/dynajournal/dynajournal/projection/internal/engine"
)

// public returns the public form of an error of a group.
func public(err error) error { return errorform.Public(err, publicForm) }

// publicForm returns the public form of an error, nil if that is the error itself.
func publicForm(err error) error {
	switch e := err.(type) { //nolint:errorlint // the chain is walked by errorform
	case *engine.HandlerError:
		return handlerError(e)
	case *engine.PanicError:
		return (*PanicError)(e)
	}
	return nil
}

// handlerError returns the public form of a failure.
func handlerError(e *engine.HandlerError) *HandlerError {
	return &HandlerError{e.Projection, e.PersistenceID, e.SequenceNumber, public(e.Err)}
}
