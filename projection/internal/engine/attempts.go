package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// attrAttempts is how many attempts to handle the event after the offset have begun or failed:
// those of payments, and those of invocations of Lambda. It is missing if there are none.
//
// The next attempt may be made by another process, so the row counts. A handler that runs at least
// once is counted with the claim, before it is called: an event that ends its process counts, too.
// Other handlers have no claim. Of them it is counted before only if the records are late.
const attrAttempts = "attempts"

// mostCutShort is how many times Config.Attempts are the attempts after which a persistence id is
// stuck whose handler has neither failed nor succeeded: it was killed with its process, or needs
// more time than the invocation has. That can be the fault of something else, so it is more than 1.
// It is bounded, because the stream forgets a record after 24 hours.
const mostCutShort = 10

// failures is how often a handler has failed in a row after an offset, and since when. One after
// another offset is of another event, and counts from 1 again.
type failures struct {
	after Offset
	count int
	since time.Time
}

// and returns the failures with one more after an offset.
func (f failures) and(after Offset) failures {
	if f.count == 0 || f.after != after {
		f = failures{after: after, since: time.Now()}
	}
	f.count++
	return f
}

// CountsInRow reports whether the row counts attempts. Otherwise the process counts failures.
func (r *Run) CountsInRow() bool { return r.invocation != nil || r.paying }

// LastAttempt notes a failure after an offset, of an attempt that the row counts if CountsInRow,
// and reports whether it makes the persistence id stuck: the handler has failed often enough, and
// for long enough. One that was stuck is stuck again.
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

// failingFor returns for how long the handler has failed after an offset. Without the index of
// debts what waits holds up the group, so the number of attempts alone counts.
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

// cutShortFor returns for how long attempts have had no end, or have failed.
func (r *Run) cutShortFor() time.Duration {
	switch {
	case !r.paying || !r.Group.indexed.Load():
		return r.Group.Config.StuckAfter
	case r.failingSince.IsZero():
		return r.Group.Now().Sub(r.since)
	}
	return r.Group.Now().Sub(r.failingSince)
}

// LateAfter is how old a record is that may have been tried often. It leaves enough of the day
// after which the stream forgets a record for the attempts that are counted then.
const LateAfter = time.Hour

// CountBefore counts an attempt before the handler is called, if the records are late. A payment
// has counted it with its claim.
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

// Attempt returns which attempt after the offset of a row has failed.
func (r *Run) Attempt(at *Row) int64 {
	if r.Counted {
		return at.Attempts
	}
	return at.Attempts + 1
}

// CountFailure counts a failure that no claim has counted, and returns it.
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

// cutShort makes a persistence id stuck of which too many attempts had no end.
func (r *Run) cutShort(ctx context.Context, state *Row, first *Step) error {
	many := state.Attempts >= mostCutShort*int64(r.Group.Config.Attempts)
	if !r.CountsInRow() || !many || r.cutShortFor() < r.Group.Config.StuckAfter {
		return nil
	}
	failure := r.Failure(first, fmt.Errorf("%d attempts have ended before the handler returned", state.Attempts))
	return r.Stick(ctx, failure, Change{Removed: []string{attrClaim}}, state.Unchanged().And(state.SameClaim()))
}

// remove adds an attribute to those that are removed, once.
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
