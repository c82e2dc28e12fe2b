package outbox

import (
	"errors"

	"github.com/dynajournal/dynajournal/projection/internal/engine"
)

// Errors for errors.Is. Errors of the journal and of package projection are also returned.
var (
	// ErrInvalidMessage: the [MessageFunc] of an outbox has returned messages that can't be sent.
	ErrInvalidMessage = errors.New("the message is not valid")

	// ErrNoDeadLetter: the dead letter does not exist. It may have been sent or discarded.
	ErrNoDeadLetter = errors.New("there is no such dead letter")

	// ErrRefused: the target of an outbox will never accept the message. A [Target] returns it.
	ErrRefused = engine.ErrRefused

	// ErrTooManyRequests: too many requests of operators are waiting. Try again when processes of
	// the group have carried them out.
	ErrTooManyRequests = errors.New("too many requests wait for processes of the group")
)
