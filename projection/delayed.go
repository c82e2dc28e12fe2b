package projection

import "github.com/dynajournal/dynajournal/projection/internal/engine"

// Delayed returns an error with which a handler says that it could not do its work for a reason
// that passes, such as an outage of what it writes to. The group calls it again with growing
// pauses, as after any failure, but counts no attempt: the persistence id does not become stuck. It
// wraps err, and is nil if err is.
func Delayed(err error) error { return engine.Delayed(err) }
