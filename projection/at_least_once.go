package projection

import (
	"context"
	"errors"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/safeguard"
)

// handlerShare is the part of Config.ClaimTimeout for which a run begins to handle events, and
// again that for which one call may last. So a run ends before its claim counts as dead.
const handlerShare = 3

// atLeastOnce claims the row, calls the handler for each step, and stores the offset and releases
// the claim in one write. It reports whether it has handled all steps: it stops when a third of
// Config.ClaimTimeout is over.
func (r *run) atLeastOnce(ctx context.Context, state *row, steps []step) (bool, error) {
	if err := r.cutShort(ctx, state, &steps[0]); err != nil {
		return false, err
	}
	if err := r.claim(ctx, state, steps); err != nil {
		return false, err
	}
	limit := r.group.config.ClaimTimeout / handlerShare
	began, reached, done := time.Now(), state.offset, 0
	var failed error
	for i := range steps {
		if done > 0 && time.Since(began) >= limit {
			break
		}
		if failed = r.call(ctx, limit, func(ctx context.Context) error { return r.handle(ctx, &steps[i], state) }); failed != nil {
			break
		}
		reached = steps[i].to
		done++
	}
	err := r.settle(ctx, state, steps, done, reached, failed)
	if failure := new(HandlerError); err == nil || errors.As(err, &failure) {
		r.count.handled(steps[:done])
	}
	return done == len(steps), err
}

// claim claims the row, under the condition that it is as it was read.
func (r *run) claim(ctx context.Context, state *row, steps []step) error {
	if state.claim == r.token || !safeguard.ProjectionClaimed {
		return nil
	}
	only := state.unchanged().and(state.sameClaim())
	if !safeguard.ProjectionClaimWaited {
		only = state.unchanged()
	}
	r.claimed = true
	c := change{set: dynamo.Attributes{attrClaim: text(r.token)}}
	state.notice(steps, &c)
	if r.invocation != nil {
		state.attempts++
		c.count(state.attempts)
	}
	return r.group.table.update(ctx, r.key, c, only)
}

// handle calls the handler for a step.
func (r *run) handle(ctx context.Context, s *step, state *row) error {
	switch {
	case s.purge:
		if h, ok := r.of.handler.(PurgeHandler); ok {
			return h.HandlePurge(ctx, Purge{r.pid, state.seq})
		}
		return nil
	case s.leftOut:
		return nil
	case s.event == nil:
		if h, ok := r.of.handler.(GapHandler); ok {
			return h.HandleGap(ctx, Gap{r.pid, s.first, s.last})
		}
		return nil
	}
	return eachEvent(s, func(event dynajournal.Event) error { return r.of.handler.Handle(ctx, event) })
}

// settle stores how far the handler has come, releases the claim, and returns the failure of the
// handler. When the group ends, that is done all the same, so that another process need not wait.
func (r *run) settle(
	ctx context.Context, state *row, steps []step, done int, reached offset, failed error,
) error {
	store := context.WithoutCancel(ctx) // bounded by the journal's OperationTimeout
	c := change{removed: []string{attrClaim}}
	if reached != state.offset || state.begun {
		c = r.moved(reached)
		c.removed = append(c.removed, attrClaim)
	}
	state.forget(done, &c)
	only := claimedBy(r.token)
	if !safeguard.ProjectionOffsetGuarded {
		only = condition{"attribute_exists(" + attrPar + ")", dynamo.Attributes{}}
	}
	if !safeguard.ProjectionClaimed {
		only = state.unchanged()
	}
	delayed := new(delayedError)
	waits := errors.As(failed, &delayed) && safeguard.TagOutageAwaited
	if waits && r.invocation != nil && reached == state.offset { // it was no attempt
		state.attempts--
		c.count(state.attempts)
	}
	if failed == nil || ctx.Err() != nil || waits {
		err := r.group.table.update(store, r.key, c, only)
		r.released(err)
		if err == nil {
			r.keep(state.at(reached))
		}
		if !safeguard.ProjectionOffsetDone && errors.Is(err, errAgain) {
			return nil
		}
		if delayed.err != nil {
			err = errors.Join(err, delayed)
		}
		return errors.Join(err, context.Cause(ctx))
	}
	failure, next := r.failure(&steps[done], failed), state.at(reached)
	if done > 0 && r.invocation != nil { // the attempt at this step is the first one
		next.attempts = 1
		c.count(next.attempts)
	}
	if r.lastAttempt(next.attempts) {
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
