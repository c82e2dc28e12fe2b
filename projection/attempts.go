package projection

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
	behind offset
	count  int
}

// and returns the failures with one more behind an offset.
func (f failures) and(behind offset) failures {
	if f.behind != behind {
		f.count = 0
	}
	return failures{behind, f.count + 1}
}

// countsInRow reports whether the row counts attempts. Otherwise the process counts failures.
func (r *run) countsInRow() bool { return r.invocation != nil }

// lastAttempt notes a failure behind an offset, of an attempt that the row counts on Lambda, and
// reports whether it makes the persistence id stuck. One that is resumed is stuck already.
func (r *run) lastAttempt(behind offset, attempt int64) bool {
	r.failed = r.earlier.and(behind)
	if !r.countsInRow() {
		return r.failed.count >= r.group.config.Attempts && !r.resume
	}
	return attempt >= int64(r.group.config.Attempts)
}

// lateAfter is how old a record is that may have been tried often. It leaves enough of the day
// after which the stream forgets a record for the attempts that are counted then.
const lateAfter = time.Hour

// countBefore counts an attempt before the handler is called, if the records are late.
func (r *run) countBefore(ctx context.Context, state *row, first *step) error {
	if r.invocation == nil || !r.invocation.late {
		return nil
	}
	if err := r.cutShort(ctx, state, first); err != nil {
		return err
	}
	only := state.unchanged().and(state.sameClaim())
	state.attempts++
	r.counted = true
	return r.group.table.update(ctx, r.key, change{set: dynamo.Attributes{attrAttempts: number(state.attempts)}}, only)
}

// attempt returns which attempt behind the offset of a row has failed.
func (r *run) attempt(at *row) int64 {
	if r.counted {
		return at.attempts
	}
	return at.attempts + 1
}

// countFailure counts a failure that no claim has counted, and returns it.
func (r *run) countFailure(ctx context.Context, failure *HandlerError, attempt int64, only condition) error {
	if !r.countsInRow() {
		return failure
	}
	c := change{set: dynamo.Attributes{attrAttempts: number(attempt)}}
	if err := r.group.table.update(ctx, r.key, c, only); err != nil {
		return err
	}
	return failure
}

// cutShort makes a persistence id stuck of which too many attempts had no end.
func (r *run) cutShort(ctx context.Context, state *row, first *step) error {
	if !r.countsInRow() || state.attempts < mostCutShort*int64(r.group.config.Attempts) {
		return nil
	}
	failure := r.failure(first, fmt.Errorf("%d attempts have ended before the handler returned", state.attempts))
	return r.stick(ctx, failure, change{removed: []string{attrClaim}}, state.unchanged().and(state.sameClaim()))
}

// remove adds an attribute to those that are removed, once.
func (c *change) remove(name string) {
	if !slices.Contains(c.removed, name) {
		c.removed = append(c.removed, name)
	}
}

// count sets the number of attempts.
func (c *change) count(attempts int64) {
	if c.set == nil {
		c.set = dynamo.Attributes{}
	}
	c.set[attrAttempts] = number(attempts)
	c.removed = slices.DeleteFunc(c.removed, func(name string) bool { return name == attrAttempts })
}
