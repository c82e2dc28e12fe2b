package dynamo

import "errors"

// errNotSent is the failure of a try whose context ended before it was sent.
var errNotSent = errors.New("the request was not sent")

func isNotSent(err error) bool { return errors.Is(err, errNotSent) }

// refusedError is the failure of an attempt that its check did not allow: it was not sent.
type refusedError struct{ reason error }

func (e *refusedError) Error() string { return e.reason.Error() }

// Unwrap gives the reason, and that the attempt was not sent.
func (e *refusedError) Unwrap() []error { return []error{e.reason, errNotSent} }
