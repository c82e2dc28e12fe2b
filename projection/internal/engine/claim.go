package engine

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// Only one process at a time calls an at-least-once handler. Before the call, the run puts a claim
// into the row: its token. Other runs wait until the claim is released, or until it is as old as
// Config.ClaimTimeout: then the process of the claim counts as dead, and another run replaces the
// claim. Clocks of different processes are not compared: the age of a claim is the time for which
// this process has seen it. On Lambda, a claim names the deadline of its invocation, and ends with
// the invocation.
//
// The offset is stored on condition that the row still has the claim. So a run that was suspended
// for longer stores nothing.

// ClaimedHandler handles steps under a claim of the row.
type ClaimedHandler interface {
	// Together returns how many of the next steps one call handles.
	Together(steps []Step) int
	// Handle handles a step, or several events. before is the offset that would be stored in the
	// row now.
	Handle(ctx context.Context, r *Run, steps []Step, state *Row, before Offset) error
}

// ClaimWrites is the number of writes of the row for steps that are handled under a claim: the
// claim, and its release together with the offset.
const ClaimWrites = 2

// claimedError reports that another run has claimed the row.
type claimedError struct{ claim string }

func (e *claimedError) Error() string { return "claimed by " + e.claim }

// UnderClaim claims the row, calls a handler for the steps, and then stores the offset and releases
// the claim in one write. It reports whether it has handled all steps: it starts no further call
// after a third of Config.ClaimTimeout.
func (r *Run) UnderClaim(ctx context.Context, h ClaimedHandler, state *Row, steps []Step) (bool, error) {
	if err := r.cutShort(ctx, state, &steps[0]); err != nil {
		return false, err
	}
	if err := r.claim(ctx, state); err != nil {
		return false, err
	}
	limit := r.Group.Config.CallTime()
	start, reached, done := time.Now(), state.Offset, 0
	if r.paying {
		start = r.took
	}
	alone := 0 // steps before this index are handled one by one: a call with several failed
	var next []Step
	calls := func() error {
		for done < len(steps) && ctx.Err() == nil {
			if done > 0 && time.Since(start) >= limit {
				break
			}
			next = steps[done : done+1]
			if done >= alone {
				next = steps[done : done+h.Together(steps[done:])]
			}
			err := r.call(ctx, next, limit, func(ctx context.Context) error { return h.Handle(ctx, r, next, state, reached) })
			if err != nil {
				return err
			}
			done += len(next)
			reached = steps[done-1].To
		}
		return nil
	}
	failed := apart(calls) // in one goroutine: a goroutine for each call costs more
	for failed != nil && len(next) > 1 {
		alone = done + len(next)
		failed = apart(calls)
	}
	err := r.unclaim(ctx, state, steps, done, reached, failed)
	if failure := new(HandlerError); err == nil || errors.As(err, &failure) {
		r.Handled(steps[:done])
	}
	return done == len(steps), err
}

// claim claims the row, on condition that the row is unchanged since it was read. A payment has
// already claimed the row.
func (r *Run) claim(ctx context.Context, state *Row) error {
	c := Change{Set: dynamo.Attributes{}}
	state.notice(r.opening, &c)
	if state.Claim == r.Token {
		return r.store(ctx, c, ClaimedBy(r.Token))
	}
	only := state.Unchanged().And(state.SameClaim())
	if r.Of.MakeOnce {
		only = only.And(state.sameMade())
	}
	r.claimed = true
	c.Set[attrClaim] = Text(r.Token)
	if r.CountsInRow() {
		state.Attempts++
		c.count(state.Attempts)
	}
	err := r.Group.Table.Update(ctx, r.Key, c, only)
	if err == nil && state.Claim != "" {
		r.claimChanged(ctx, ClaimTakenOver)
	}
	return err
}

// store changes the row, unless the change is empty.
func (r *Run) store(ctx context.Context, c Change, only Condition) error {
	if len(c.Set) == 0 && len(c.Removed) == 0 {
		return nil
	}
	return r.Group.Table.Update(ctx, r.Key, c, only)
}

// unclaim stores the offset that the handler has reached, releases the claim, and returns the
// failure of the handler. A payment retains its claim until it ends. unclaim also stores if the
// group is stopping, so that another process need not wait.
func (r *Run) unclaim(
	ctx context.Context, state *Row, steps []Step, done int, reached Offset, failed error,
) error {
	store := context.WithoutCancel(ctx) // bounded by the journal's OperationTimeout
	c := Change{}
	if reached != state.Offset || state.Started && !r.paying {
		c = r.Moved(reached)
	}
	r.giveBack(&c)
	state.forget(done, &c)
	state.removeMade(steps[done:], &c)
	only := ClaimedBy(r.Token)
	delay := new(DelayedError)
	waits := errors.As(failed, &delay)
	if waits && r.CountsInRow() && !r.paying && reached == state.Offset { // not an attempt
		state.Attempts--
		c.count(state.Attempts)
	}
	if failed == nil || ctx.Err() != nil || waits {
		err := r.store(store, c, only)
		r.released(store, err)
		if err == nil {
			r.applied = r.applied || reached != state.Offset
			r.Cache(state.At(reached))
		}
		if delay.Err != nil {
			err = errors.Join(err, delay)
		}
		return errors.Join(err, context.Cause(ctx))
	}
	failure, next := r.Failure(&steps[done], failed), state.At(reached)
	if r.CountsInRow() && (done > 0 || r.paying && !r.Counted) { // the first attempt at this step
		next.Attempts = 1
		c.count(next.Attempts)
	}
	if r.LastAttempt(reached, next.Attempts) {
		err := r.Stick(store, failure, c, only)
		r.released(store, err)
		return err
	}
	if err := r.store(store, c, only); err != nil {
		r.released(store, err)
		return err
	}
	r.released(store, nil)
	r.Cache(next)
	return failure
}

// giveBack makes a change of the row release the claim. A payment retains its claim until it ends.
func (r *Run) giveBack(c *Change) {
	if !r.paying {
		c.Removed = append(c.Removed, attrClaim)
	}
}

// released records that the row no longer has the claim of the run. err is the result of the write
// that releases the claim: if it does not show whether the write was done, the row may still have
// the claim.
func (r *Run) released(ctx context.Context, err error) {
	if errors.Is(err, ErrAgain) {
		r.claimChanged(ctx, ClaimLost)
	}
	if stuck := new(stuckNowError); err == nil || errors.Is(err, ErrAgain) || errors.As(err, &stuck) {
		r.claimed = false
	}
}

// release removes the claim of this run, or a claim that it may take over, if there is nothing to
// handle.
func (r *Run) release(ctx context.Context, state *Row) error {
	if state.Claim == "" || r.paying {
		return nil
	}
	return r.Group.Table.Update(ctx, r.Key, Change{Removed: []string{attrClaim}}, state.SameClaim())
}

// SameClaim returns the condition that the claim of a row has not changed since it was read.
func (r *Row) SameClaim() Condition {
	if r.Claim == "" {
		return Condition{"attribute_not_exists(" + attrClaim + ")", dynamo.Attributes{}}
	}
	return ClaimedBy(r.Claim)
}

// ClaimedBy returns the condition that the row has a claim.
func ClaimedBy(claim string) Condition {
	return Condition{attrClaim + " = :oldclaim", dynamo.Attributes{":oldclaim": Text(claim)}}
}

// claimSlack is how long after the end of an invocation its claims are still respected, as clocks
// differ.
const claimSlack = 5 * time.Second

// claimUntil returns the token of a run whose process is killed at end.
func claimUntil(token string, end time.Time) string {
	return token + "@" + strconv.FormatInt(end.Unix()+1, 10)
}

// claimOver reports whether a claim is of an invocation that has ended. Lambda kills the process at
// the deadline of the invocation, so no process has to watch the claim.
func claimOver(claim string, now time.Time) bool {
	_, end, ok := strings.Cut(claim, "@")
	if !ok {
		return false
	}
	seconds, err := strconv.ParseInt(end, 10, 64)
	return err == nil && now.Unix() > seconds+int64(claimSlack/time.Second)
}
