package projection

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// A handler that runs at least once is called by one process at a time: the run that is to call it
// first puts a claim into the row, the token of the run. Other runs wait until the claim is
// released, or until it is as old as Config.ClaimTimeout: then its process counts as dead, and a
// run replaces the claim. No clock of another process is compared: the age of a claim is the time
// for which this process has seen it. On Lambda a claim ends with its invocation, whose deadline it
// names.
//
// The offset is stored under the condition that the row still has the claim. So a run that was
// paused for longer stores nothing.

// claimedHandler handles steps under a claim of the row.
type claimedHandler interface {
	// together returns how many of the next steps one call handles.
	together(steps []step) int
	// handle handles a step, or several events. before is the offset that the row would get now.
	handle(ctx context.Context, r *run, steps []step, state *row, before offset) error
}

// claimWrites is how often the row is written for steps that are handled under a claim: the claim,
// and its release with the offset.
const claimWrites = 2

// handlerShare is the part of Config.ClaimTimeout for which a run begins to handle events, and
// again that for which one call may last. So a run ends before its claim counts as dead.
const handlerShare = 3

// callTime returns how long a call of a handler may last.
func (c *Config) callTime() time.Duration { return c.ClaimTimeout / handlerShare }

// claimedError reports that another run has claimed the row.
type claimedError struct{ claim string }

func (e *claimedError) Error() string { return "claimed by " + e.claim }

// underClaim claims the row, calls a handler for the steps, and stores the offset and releases the
// claim in one write. It reports whether it has handled all steps: it stops when a third of
// Config.ClaimTimeout is over.
func (r *run) underClaim(ctx context.Context, h claimedHandler, state *row, steps []step) (bool, error) {
	if err := r.cutShort(ctx, state, &steps[0]); err != nil {
		return false, err
	}
	if err := r.claim(ctx, state); err != nil {
		return false, err
	}
	limit := r.group.config.callTime()
	began, reached, done := time.Now(), state.offset, 0
	alone := 0 // steps before it are handed over alone, as a call with several has failed
	var failed error
	for done < len(steps) && ctx.Err() == nil {
		if done > 0 && time.Since(began) >= limit {
			break
		}
		next := steps[done : done+1]
		if done >= alone {
			next = steps[done : done+h.together(steps[done:])]
		}
		failed = r.call(ctx, limit, func(ctx context.Context) error { return h.handle(ctx, r, next, state, reached) })
		if failed != nil && len(next) == 1 {
			break
		}
		if failed != nil {
			alone, failed = done+len(next), nil
			continue
		}
		done += len(next)
		reached = steps[done-1].to
	}
	err := r.unclaim(ctx, state, steps, done, reached, failed)
	if failure := new(HandlerError); err == nil || errors.As(err, &failure) {
		r.count.handled(steps[:done])
	}
	return done == len(steps), err
}

// claim claims the row, under the condition that it is as it was read.
func (r *run) claim(ctx context.Context, state *row) error {
	if state.claim == r.token {
		return nil
	}
	only := state.unchanged().and(state.sameClaim())
	if r.of.makeOnce {
		only = only.and(state.sameMade())
	}
	r.claimed = true
	c := change{set: dynamo.Attributes{attrClaim: text(r.token)}}
	state.notice(r.opening, &c)
	if r.countsInRow() {
		state.attempts++
		c.count(state.attempts)
	}
	return r.group.table.update(ctx, r.key, c, only)
}

// unclaim stores how far the handler has come, releases the claim, and returns the failure of the
// handler. It does so also when the group ends, so that another process need not wait.
func (r *run) unclaim(
	ctx context.Context, state *row, steps []step, done int, reached offset, failed error,
) error {
	store := context.WithoutCancel(ctx) // bounded by the journal's OperationTimeout
	c := change{removed: []string{attrClaim}}
	if reached != state.offset || state.begun {
		c = r.moved(reached)
		c.removed = append(c.removed, attrClaim)
	}
	state.forget(done, &c)
	state.removeMade(steps[done:], &c)
	only := claimedBy(r.token)
	delayed := new(delayedError)
	waits := errors.As(failed, &delayed)
	if waits && r.countsInRow() && reached == state.offset { // it was no attempt
		state.attempts--
		c.count(state.attempts)
	}
	if failed == nil || ctx.Err() != nil || waits {
		err := r.group.table.update(store, r.key, c, only)
		r.released(err)
		if err == nil {
			r.keep(state.at(reached))
		}
		if delayed.err != nil {
			err = errors.Join(err, delayed)
		}
		return errors.Join(err, context.Cause(ctx))
	}
	failure, next := r.failure(&steps[done], failed), state.at(reached)
	if done > 0 && r.countsInRow() { // the attempt at this step is the first one
		next.attempts = 1
		c.count(next.attempts)
	}
	if r.lastAttempt(reached, next.attempts) {
		err := r.stick(store, failure, c, only)
		r.released(err)
		return err
	}
	if err := r.group.table.update(store, r.key, c, only); err != nil {
		r.released(err)
		return err
	}
	r.released(nil)
	r.keep(next)
	return failure
}

// released notes that the row no longer has the claim of the run, if the write of its release is
// known to have ended.
func (r *run) released(err error) {
	if stuck := new(stuckNowError); err == nil || errors.Is(err, errAgain) || errors.As(err, &stuck) {
		r.claimed = false
	}
}

// release gives back a claim of this run, or one that it may take over, where there is nothing to
// handle.
func (r *run) release(ctx context.Context, state *row) error {
	if state.claim == "" {
		return nil
	}
	return r.group.table.update(ctx, r.key, change{removed: []string{attrClaim}}, state.sameClaim())
}

// sameClaim returns the condition that the claim of a row has not changed since it was read.
func (r *row) sameClaim() condition {
	if r.claim == "" {
		return condition{"attribute_not_exists(" + attrClaim + ")", dynamo.Attributes{}}
	}
	return claimedBy(r.claim)
}

// claimedBy returns the condition that a run has the claim.
func claimedBy(claim string) condition {
	return condition{attrClaim + " = :oldclaim", dynamo.Attributes{":oldclaim": text(claim)}}
}

// claimSlack is how long after the end of an invocation its claims are still respected, as clocks
// differ.
const claimSlack = 5 * time.Second

// claimUntil returns the token of a run whose process is killed at a time.
func claimUntil(token string, end time.Time) string {
	return token + "@" + strconv.FormatInt(end.Unix()+1, 10)
}

// claimOver reports whether a claim is of an invocation that was ended. Lambda kills the process at
// the deadline of the invocation, so that nobody needs to watch the claim until then.
func claimOver(claim string, now time.Time) bool {
	_, end, ok := strings.Cut(claim, "@")
	if !ok {
		return false
	}
	seconds, err := strconv.ParseInt(end, 10, 64)
	return err == nil && now.Unix() > seconds+int64(claimSlack/time.Second)
}
