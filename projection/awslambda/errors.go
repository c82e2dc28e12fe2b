package awslambda

import "errors"

// Errors, for errors.Is. Those of the journal and of package projection are returned as well.
var (
	// ErrInvalidEvent: an event of Lambda is not one of the stream of the journal table. The error
	// is an *EventError. Nothing was handled.
	ErrInvalidEvent = errors.New("the event is not one of the stream of the journal table")
)
