package projection

import (
	"context"
	"errors"
	"runtime/debug"
	"time"

	"github.com/google/uuid"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// run brings a projection of one persistence id up to the end of the journal, page after page. It
// begins to read after it was made, so what was received before is done when it ends without an
// error. A page of a run goes this way:
//
//	read the row ───────────▶ it has the claim of another run: endClaimed
//	     │                    it is stuck: count the trigger, endDone
//	     ▼
//	locate the offset
//	     ▼
//	find the steps ─────────▶ none, and a number is missing that may still come: endUndecided
//	     │                    none: release the claim, endDone
//	     ▼
//	leave out events that the projection does not take
//	     ▼
//	apply the steps ────────▶ the handler has failed: endFailed, at last endStuck
//	     │                    the row has changed: read it again
//	     ▼
//	another page, or endDone
//
// Each request can fail: endUnreachable, or endFatal if the group can't continue.
type run struct {
	group *Group
	of    *member
	pid   string
	key   dynamo.Attributes
	// token names the run in the claim of the row.
	token string
	// takeOver is a claim that the run may replace: of a process that counts as dead, or of an
	// earlier run of this process whose end is unknown.
	takeOver string
	// earlier are the failures of the handler before the run, and failed those with that of the
	// run, if there is one.
	earlier, failed failures
	// invocation is the Lambda invocation that executes the run, or nil.
	invocation *invocation
	// counted reports whether this attempt is counted in the row already.
	counted bool
	// resume reports whether the run continues a stuck persistence id.
	resume bool
	// records are those that all triggers of the run have brought, in order. It has none if one of
	// its triggers has none.
	records []record
	// rows has the rows that this process was the last to change, if it is not nil.
	rows *rowCache
	// own reports whether the process was the last to change the row, as far as it knows.
	own bool
	// count is that of the sweep which has triggered the run, nil if none has.
	count *sweepCount
	// worker is the one that executes it, nil if a caller does.
	worker *worker
	// claimed reports whether the row may have the run's claim.
	claimed bool
	// opening is the writer of the first event of the page: see attrFirstWriter.
	opening string
	// state is the row as it was read last, and passed are the holes between the steps that follow
	// from it.
	state  *row
	passed []hole
}

func (g *Group) newRun(of *member, pid string) *run {
	return &run{
		group: g, of: of, pid: pid, token: uuid.NewString(),
		key: rowKey(g.table.journalName, of.name, pid),
	}
}

// mostAgain is how often a run begins again at a row that others change meanwhile.
const mostAgain = 20

// execute reads and handles page after page.
func (r *run) execute(ctx context.Context) outcome { return outcomeOf(r.pages(ctx)) }

// pages reads and handles page after page. Errors are: a *claimedError if another run has the
// claim, errPaused, an *undecidedError if an event follows a missing number that may still come, a
// *HandlerError if the handler has failed, and errors of requests. If the persistence id has become
// stuck, that is stored, and the error is a *stuckNowError.
func (r *run) pages(ctx context.Context) error {
	if err := r.stillMissing(ctx); err != nil {
		return err
	}
	for again := 0; ; {
		if r.of.paused.Load() && !r.resume {
			return errPaused
		}
		more, err := r.page(ctx)
		if errors.Is(err, errAgain) && ctx.Err() == nil && again < mostAgain {
			again++
			continue
		}
		if err != nil || !more {
			return err
		}
		again = 0
	}
}

// page reads the row, and then the journal from the offset on, and handles what it has found. It
// reports whether there may be more.
func (r *run) page(ctx context.Context) (bool, error) {
	state, err := r.row(ctx)
	if errors.Is(err, dynajournal.ErrCorruptItem) {
		return false, r.damaged(ctx)
	}
	if err != nil {
		return false, err
	}
	if state.stuck > 0 && !r.resume {
		return false, r.group.table.again(ctx, r.key)
	}
	if claimOver(state.claim, r.group.now()) {
		r.takeOver = state.claim
	}
	if state.claim != "" && state.claim != r.token && state.claim != r.takeOver {
		return false, &claimedError{state.claim}
	}
	if err := r.of.offsets.locate(ctx, r, &state); err != nil {
		return false, err
	}
	f, err := r.find(ctx, &state)
	if err != nil {
		return false, err
	}
	steps := f.steps
	switch {
	case len(steps) == 0 && len(f.open) > 0:
		return false, r.hold(ctx, &state, f.open)
	case len(steps) == 0 && r.resume:
		return false, r.clear(ctx, &state)
	case len(steps) == 0 && state.claim == "":
		if r.own {
			r.keep(state)
		}
		return false, nil
	case len(steps) == 0:
		return false, r.release(ctx, &state)
	}
	r.opening = opening(steps)
	steps = r.of.only.leaveOut(steps)
	all, err := r.apply(ctx, &state, steps)
	if err != nil {
		return false, err
	}
	return !all || f.more || len(f.open) > 0 || steps[0].resets(state.offset) || r.resume, nil
}

// apply applies steps, and stores the offset after them. It reports whether it has applied all of
// them. If the projection leaves out all of their events, only an offset in the row is moved.
func (r *run) apply(ctx context.Context, state *row, steps []step) (bool, error) {
	if r.of.passesOver(steps) {
		return r.passOver(ctx, state, steps)
	}
	return r.of.effect.apply(ctx, r, state, steps)
}

// found is what is to be handled from an offset on. more reports whether there may be more.
type found struct {
	planned

	more bool
}

// find returns what is to be handled from the offset on: what the records of the run show, or else
// what the journal has.
func (r *run) find(ctx context.Context, state *row) (found, error) {
	most := r.group.config.BatchSize
	if steps, ok := r.shown(state.offset, most); ok {
		r.state, r.passed = state, nil
		return found{planned{steps: steps}, len(steps) == most}, nil
	}
	if state.seq > 0 {
		most++ // the event at the offset
	}
	began := time.Now()
	page, err := core.Of(r.group.journal).ReadPage(ctx, r.pid, max(state.seq, 1), most)
	if err != nil {
		return found{}, r.unreadable(ctx, state, err)
	}
	p := r.plan(ctx, state, page, began)
	if state.purgedBefore(p.steps, page.Low) {
		p = planned{steps: []step{{purge: true}}}
	}
	if len(p.steps) == 0 || !p.steps[0].purge {
		if err := r.findLate(ctx, state, page.Low); err != nil {
			return found{}, err
		}
	}
	return found{p, page.More}, nil
}

// plan returns what follows from what was read, and notes the holes. began is when the reading
// began.
func (r *run) plan(ctx context.Context, state *row, page core.Page, began time.Time) planned {
	if r.group.journal.Native() {
		r.state, r.passed = state, nil
		return planned{steps: plan(state.offset, state.exists, page)}
	}
	key := taskKey{r.of.name, r.pid}
	p := planShared(state.offset, page, func(h *hole) time.Duration {
		return r.group.holes.age(key, h, state.holes, began)
	}, r.group.config.HoleWait)
	r.state, r.passed = state, p.passed
	r.notePassed(ctx, p.open, p.passed)
	return p
}

// unreadable returns the error of a reading. One that does not pass by itself counts as a failure
// of the handler: an item that can't be read, an event that the adapter refuses.
func (r *run) unreadable(ctx context.Context, state *row, err error) error {
	if ctx.Err() != nil || passes(err) || ends(err) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	failure := &HandlerError{r.of.name, r.pid, 0, err}
	only := state.unchanged().and(state.sameClaim())
	if !r.lastAttempt(state.offset, state.attempts+1) {
		return r.countFailure(ctx, failure, state.attempts+1, only)
	}
	return r.stick(ctx, failure, change{}, only)
}

// stuckNowError reports that a persistence id has become stuck, and that this is stored.
type stuckNowError struct{ *HandlerError }

func (e *stuckNowError) Unwrap() error { return e.HandlerError }

// stick stores that the persistence id is stuck, with another change of the row.
func (r *run) stick(ctx context.Context, failure *HandlerError, c change, only condition) error {
	if c.set == nil {
		c.set = dynamo.Attributes{}
	}
	c.set[attrStuck], c.set[attrReason] = number(1), text(shorten(failure.Error()))
	c.set[attrFailed] = number(failure.SequenceNumber)
	if r.countsInRow() {
		delete(c.set, attrAttempts)
		c.remove(attrAttempts)
	}
	if err := r.group.table.update(ctx, r.key, c, only); err != nil {
		return err
	}
	return &stuckNowError{failure}
}

// clear ends the stuck state of a row whose events are all handled, unless a trigger has come since
// the row was read: then the journal is read again.
func (r *run) clear(ctx context.Context, state *row) error {
	if state.stuck == 0 {
		return r.release(ctx, state)
	}
	only := state.unchanged().and(state.sameClaim())
	only = only.and(state.sameStuck())
	return r.group.table.update(ctx, r.key, change{removed: []string{attrStuck, attrReason, attrFailed, attrClaim}}, only)
}

// protect calls a function of the program, and makes an error of its panic.
func protect(ctx context.Context, limit time.Duration, do func(context.Context) error) (err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	defer func() {
		if value := recover(); value != nil {
			err = &PanicError{value, debug.Stack()}
		}
	}()
	return do(ctx)
}

// failure returns the error of a step whose handler has failed.
func (r *run) failure(s *step, err error) *HandlerError {
	seq := s.to.seq
	if s.event != nil {
		seq = s.event.SequenceNumber // those behind it that are left out are not what has failed
	}
	return &HandlerError{r.of.name, r.pid, seq, err}
}

// eachEvent calls handle with the events that the adapter makes of a stored one.
func (r *run) eachEvent(ctx context.Context, s *step, handle func(dynajournal.Event) error) error {
	return core.DeliverEvents(ctx, r.group.journal, s.event, handle)
}
