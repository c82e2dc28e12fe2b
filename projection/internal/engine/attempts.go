package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// attrAttempts counts the attempts to handle the event after the offset, by payments and by Lambda
// invocations, that have started or failed. It is missing if there are none.
//
// The count is in the row because another process may make the next attempt. The claim for an
// at-least-once handler counts an attempt before the handler is called, so an event that kills its
// process is also counted. Other handlers have no claim: their attempts are counted before the call
// only if the records are late.
const attrAttempts = "attempts"

// mostCutShort is the multiple of Config.Attempts after which a persistence id becomes stuck
// although its handler has neither failed nor succeeded: the handler was killed with its process,
// or needs more time than the invocation has. Something else may be the cause, so the multiple is
// more than 1. It is bounded because the stream retains a record for only 24 hours.
const mostCutShort = 10

// failures counts consecutive failures of a handler after an offset, and records the time of the
// first. A failure after another offset concerns another event, and restarts the count.
type failures struct {
	after Offset
	count int
	since time.Time
}

// and returns f with one more failure after an offset.
func (f failures) and(after Offset) failures {
	if f.count == 0 || f.after != after {
		f = failures{after: after, since: time.Now()}
	}
	f.count++
	return f
}

// CountsInRow reports whether attempts are counted in the row. Otherwise the process counts
// failures in memory.
func (r *Run) CountsInRow() bool { return r.invocation != nil || r.paying }

// LastAttempt records a failure after an offset, and reports whether the persistence id becomes
// stuck: the handler has failed often enough, and for long enough. attempt is the number of the
// attempt in the row, and is used only if CountsInRow. A persistence id that was stuck before
// becomes stuck again.
func (r *Run) LastAttempt(after Offset, attempt int64) bool {
	r.failed = r.earlier.and(after)
	if r.wasStuck {
		return true
	}
	if !r.CountsInRow() {
		attempt = int64(r.failed.count)
	}
	return attempt >= int64(r.Group.Config.Attempts) && r.failingFor(after) >= r.Group.Config.StuckAfter
}

// failingFor returns how long the handler has failed after an offset. Without the index of debts, a
// persistence id that waits delays the group, so only the number of attempts counts.
func (r *Run) failingFor(after Offset) time.Duration {
	switch {
	case !r.Group.indexed.Load():
		return r.Group.Config.StuckAfter
	case !r.paying:
		return time.Since(r.failed.since)
	case r.applied || r.state != nil && after != r.state.Offset:
		return 0 // the payment has handled something, so this is another event
	}
	if r.failingSince.IsZero() {
		return 0
	}
	return r.Group.Now().Sub(r.failingSince)
}

// cutShortFor returns how long attempts have been cut short, or have failed.
func (r *Run) cutShortFor() time.Duration {
	switch {
	case !r.paying || !r.Group.indexed.Load():
		return r.Group.Config.StuckAfter
	case r.failingSince.IsZero():
		return r.Group.Now().Sub(r.since)
	}
	return r.Group.Now().Sub(r.failingSince)
}

// LateAfter is the age from which a record may have been tried often. Enough of the 24 hours for
// which the stream retains a record is left for the attempts that are counted from then on.
const LateAfter = time.Hour

// CountBefore counts an attempt before the handler is called, if the records are late. A payment
// has already counted it with its claim. After too many attempts that were cut short, CountBefore
// makes the persistence id stuck.
func (r *Run) CountBefore(ctx context.Context, state *Row, first *Step) error {
	if err := r.cutShort(ctx, state, first); err != nil {
		return err
	}
	if r.invocation == nil || !r.invocation.Late || r.paying {
		return nil
	}
	only := state.Unchanged().And(state.SameClaim())
	state.Attempts++
	r.Counted = true
	return r.Group.Table.Update(ctx, r.Key, Change{Set: dynamo.Attributes{attrAttempts: Number(state.Attempts)}}, only)
}

// Attempt returns the number of the failed attempt after the offset of a row.
func (r *Run) Attempt(at *Row) int64 {
	if r.Counted {
		return at.Attempts
	}
	return at.Attempts + 1
}

// CountFailure stores the number of a failed attempt that no claim has counted, if CountsInRow, and
// returns failure.
func (r *Run) CountFailure(ctx context.Context, failure *HandlerError, attempt int64, only Condition) error {
	if !r.CountsInRow() {
		return failure
	}
	c := Change{Set: dynamo.Attributes{attrAttempts: Number(attempt)}}
	if err := r.Group.Table.Update(ctx, r.Key, c, only); err != nil {
		return err
	}
	return failure
}

// cutShort makes a persistence id stuck if too many attempts were cut short.
func (r *Run) cutShort(ctx context.Context, state *Row, first *Step) error {
	many := state.Attempts >= mostCutShort*int64(r.Group.Config.Attempts)
	if !r.CountsInRow() || !many || r.cutShortFor() < r.Group.Config.StuckAfter {
		return nil
	}
	failure := r.Failure(first, fmt.Errorf("%d attempts have ended before the handler returned", state.Attempts))
	return r.Stick(ctx, failure, Change{Removed: []string{attrClaim}}, state.Unchanged().And(state.SameClaim()))
}

// remove adds an attribute to Removed, unless it is already there.
func (c *Change) remove(name string) {
	if !slices.Contains(c.Removed, name) {
		c.Removed = append(c.Removed, name)
	}
}

// count sets the number of attempts.
func (c *Change) count(attempts int64) {
	if c.Set == nil {
		c.Set = dynamo.Attributes{}
	}
	c.Set[attrAttempts] = Number(attempts)
	c.Removed = slices.DeleteFunc(c.Removed, func(name string) bool { return name == attrAttempts })
}
