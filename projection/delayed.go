package projection

// Delayed returns an error with which a handler of [AtLeastOnce] says that it could not do its work
// for a reason that passes, such as an outage of what it writes to. The group calls it again with
// growing pauses, as after any failure, but counts no attempt: the persistence id does not become
// stuck. It wraps err, and is nil if err is.
func Delayed(err error) error {
	if err == nil {
		return nil
	}
	return &delayedError{err}
}

// delayedError reports that a handler could not do its work for a reason that passes. That is no
// failure of the handler.
type delayedError struct{ err error }

func (e *delayedError) Error() string { return e.err.Error() }

func (e *delayedError) Unwrap() error { return e.err }
