package projection

import (
	"context"
	"errors"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// handlerShare is the part of Config.ClaimTimeout for which a run begins to handle events, and
// again that for which one call may last. So a run ends before its claim counts as dead.
const handlerShare = 3

// atLeastOnce claims the row, calls the handler for the steps, and stores the offset and releases
// the claim in one write. It reports whether it has handled all steps: it stops when a third of
// Config.ClaimTimeout is over.
func (r *run) atLeastOnce(ctx context.Context, state *row, steps []step) (bool, error) {
	if err := r.cutShort(ctx, state, &steps[0]); err != nil {
		return false, err
	}
	if err := r.claim(ctx, state); err != nil {
		return false, err
	}
	limit := r.group.config.ClaimTimeout / handlerShare
	began, reached, done := time.Now(), state.offset, 0
	alone := 0 // steps before it are handed over alone, as a call with several has failed
	var failed error
	for done < len(steps) && ctx.Err() == nil {
		if done > 0 && time.Since(began) >= limit {
			break
		}
		next := steps[done : done+1]
		if done >= alone {
			next = steps[done : done+r.together(steps[done:])]
		}
		failed = r.call(ctx, limit, func(ctx context.Context) error { return r.handle(ctx, next, state, reached) })
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
	err := r.settle(ctx, state, steps, done, reached, failed)
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
	if r.invocation != nil {
		state.attempts++
		c.count(state.attempts)
	}
	return r.group.table.update(ctx, r.key, c, only)
}

// handle calls the handler for a step, or for several events. Before them is the offset that the
// row would get now.
func (r *run) handle(ctx context.Context, steps []step, state *row, before offset) error {
	s := &steps[0]
	switch {
	case s.purge:
		if h, ok := r.of.handler.(PurgeHandler); ok {
			return h.HandlePurge(ctx, Purge{r.pid, state.seq, s.to.seq})
		}
		return nil
	case s.leftOut:
		return nil
	case s.event == nil:
		if h, ok := r.of.handler.(GapHandler); ok {
			return h.HandleGap(ctx, Gap{r.pid, s.first, s.last})
		}
		return nil
	case r.of.outbox != nil:
		return r.send(ctx, s, state, before)
	}
	if h, ok := r.of.handler.(BatchHandler); ok {
		return r.handleBatch(ctx, h, steps)
	}
	return r.eachEvent(ctx, s, func(event dynajournal.Event) error { return r.of.handler.Handle(ctx, event) })
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
	state.removeMade(steps[done:], &c)
	only := claimedBy(r.token)
	delayed := new(delayedError)
	waits := errors.As(failed, &delayed)
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
