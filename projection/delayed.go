package projection

import "github.com/dynajournal/dynajournal/projection/internal/engine"

// Delayed returns an error that reports a temporary failure of a handler, such as an outage of the
// system that it writes to. The group calls the handler again with growing pauses, as after any
// failure, but does not count an attempt: the persistence id does not become stuck. The error wraps
// err. Delayed returns nil if err is nil.
func Delayed(err error) error { return engine.Delayed(err) }
