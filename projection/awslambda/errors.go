package awslambda

import "errors"

// Errors for errors.Is. Errors of the journal and of package projection are also returned.
var (
	// ErrInvalidEvent: an event of Lambda is not from the stream of the journal table, or is
	// malformed. The error is an *EventError. Nothing was handled.
	ErrInvalidEvent = errors.New("invalid event of the journal table's stream")
)
