package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// attrAttempts is how many attempts of invocations of Lambda to go on behind the offset have begun
// or failed. It is missing if there are none.
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

// failures is how often a handler has failed in a row behind an offset. One behind another offset
// is of another event, and counts from 1 again.
type failures struct {
	behind Offset
	count  int
}

// and returns the failures with one more behind an offset.
func (f failures) and(behind Offset) failures {
	if f.behind != behind {
		f.count = 0
	}
	return failures{behind, f.count + 1}
}

// CountsInRow reports whether the row counts attempts. Otherwise the process counts failures.
func (r *Run) CountsInRow() bool { return r.invocation != nil || r.paying }

// LastAttempt notes a failure behind an offset, of an attempt that the row counts on Lambda, and
// reports whether it makes the persistence id stuck. One that is resumed is stuck already.
func (r *Run) LastAttempt(behind Offset, attempt int64) bool {
	r.failed = r.earlier.and(behind)
	if !r.CountsInRow() {
		return r.failed.count >= r.Group.Config.Attempts && !r.resume
	}
	return attempt >= int64(r.Group.Config.Attempts)
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

// Attempt returns which attempt behind the offset of a row has failed.
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
	if !r.CountsInRow() || state.Attempts < mostCutShort*int64(r.Group.Config.Attempts) {
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
