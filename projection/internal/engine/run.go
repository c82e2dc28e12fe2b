package engine

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// Run handles the events of one persistence id for a projection, page by page, up to the end of the
// journal. It starts to read after it was created, so all triggers that came before are done when
// it ends without an error. For each page:
//
//	read the row ───────────▶ it has the claim of another run: endClaimed
//	     │                    it has a debt, and the run is not a payment: endDebt
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
type Run struct {
	Group *Group
	Of    *Member
	Pid   string
	Key   dynamo.Attributes
	// Token names the run in the claim of the row.
	Token string
	// takeOver is a claim that the run may replace: of a process that counts as dead, or of an
	// earlier run of this process whose end is unknown.
	takeOver string
	// earlier has the failures of the handler before the run. failed also counts the failure of the
	// run, if there is one.
	earlier, failed failures
	// invocation is the Lambda invocation that executes the run, or nil.
	invocation *invocation
	// Counted reports whether this attempt is already counted in the row.
	Counted bool
	// asked reports whether a caller has requested this run with Group.Resume. Such a payment is
	// made even if the persistence id is stuck, the debt is not due, or the projection is paused.
	// wasStuck reports whether the persistence id was stuck before: it then becomes stuck again if
	// the payment fails.
	asked, wasStuck bool
	// pays reports whether the run was created to pay a debt. paying reports whether it has claimed
	// a row with a debt.
	pays, paying bool
	// took is when the payment claimed the row. since is when the debt of the row was stored.
	took, since time.Time
	// attempt is the number of attempts in the row, including this payment.
	attempt int64
	// failingSince is when the handler first failed, as stored in the row. It is zero if the
	// handler does not fail.
	failingSince time.Time
	// debtReason is the reason why the run stores a debt and handles nothing. It is nil for other
	// runs.
	debtReason error
	// onlyIfEvents reports whether the run stores a debt only if it finds something to handle.
	onlyIfEvents bool
	// stops reports whether an outage makes the run store a debt. probes reports whether the run
	// pays in an outage.
	stops, probes bool
	// reached reports whether the run has called the handler successfully.
	reached bool
	// records has the records of all triggers of the run, in order. It is empty if a trigger has no
	// records.
	records []Record
	// rows caches the rows that this process was the last to change. It is nil if the run uses no
	// cache.
	rows *rowCache
	// own reports whether the process was the last to change the row, as far as it knows.
	own bool
	// Count is the counter of the sweep that has triggered the run, or nil.
	Count *sweepCounter
	// worker is the worker that executes the run. It is nil if a caller executes it.
	worker *worker
	// overdue is called when a call of the handler is overdue, so that nothing else waits for it.
	// replaced reports whether another worker has replaced the worker of the run. overdue is nil if
	// a caller executes the run.
	overdue func(replaced bool)
	// applied reports whether the run has applied steps.
	applied bool
	// claimed reports whether the row may have the run's claim.
	claimed bool
	// opening is the writer of the first event of the page: see attrFirstWriter.
	opening string
	// state is the row as last read.
	state *Row
	// passed has the holes between the steps after the row.
	passed []hole
}

func (g *Group) newRun(of *Member, pid string) *Run {
	return &Run{
		Group: g, Of: of, Pid: pid, Token: uuid.NewString(),
		Key: RowKey(g.Table.JournalName, of.Name, pid),
	}
}

// MostAgain is how often a run reads a row again because others change it meanwhile.
const MostAgain = 20

// execute reads and handles page after page, and ends the payment if the run is one.
func (r *Run) execute(ctx context.Context) outcome {
	err := r.pages(ctx)
	if r.paying {
		err = r.endPayment(ctx, err)
	}
	return r.Group.outcomeOf(err)
}

// pages reads and handles page after page. Errors are: a *claimedError if another run has the
// claim, errPaused, an *undecidedError if an event follows a missing number that may still come, a
// *HandlerError if the handler has failed, and errors of requests. If the persistence id has become
// stuck, that is stored, and the error is a *stuckNowError.
func (r *Run) pages(ctx context.Context) error {
	if r.pays && !r.probes && r.Of.unreachable.lasts() {
		return errNotDue // an outage has started since the run was queued
	}
	if err := r.stillMissing(ctx); err != nil {
		return err
	}
	for again := 0; ; {
		if r.Of.Paused.Load() && !r.asked {
			return errPaused
		}
		more, err := r.page(ctx)
		if errors.Is(err, ErrAgain) && ctx.Err() == nil && again < MostAgain {
			again++
			continue
		}
		if err != nil || !more {
			return err
		}
		if r.PaymentOver() {
			return ErrAgain // another payment continues, before the claim counts as dead
		}
		again = 0
	}
}

// page reads the row, and then a page of the journal from the offset on, and handles the steps. It
// reports whether there may be more.
func (r *Run) page(ctx context.Context) (bool, error) {
	state, err := r.row(ctx)
	if errors.Is(err, dynajournal.ErrCorruptItem) {
		return false, r.damaged(ctx)
	}
	if err != nil {
		return false, err
	}
	if err := r.enter(ctx, &state); err != nil {
		return false, err
	}
	if r.pays && !r.paying || !r.Of.Only.Takes(r.Pid) {
		return false, nil // the debt was paid, or the projection leaves out the persistence id now
	}
	if err := r.Of.Offsets.Locate(ctx, r, &state); err != nil {
		return false, err
	}
	f, err := r.find(ctx, &state)
	if err != nil {
		return false, err
	}
	steps := f.steps
	switch {
	case len(steps) == 0 && len(f.open) > 0:
		return false, r.waitForHoles(ctx, &state, f.open)
	case len(steps) == 0 && state.Claim == "":
		if r.own {
			r.Cache(state)
		}
		return false, nil
	case len(steps) == 0:
		return false, r.release(ctx, &state)
	}
	return r.handle(ctx, &state, f)
}

// handle handles the steps that were found, or stores a debt instead. It reports whether there may
// be more.
func (r *Run) handle(ctx context.Context, state *Row, f found) (bool, error) {
	r.opening = opening(f.steps)
	steps := r.Of.Only.LeaveOut(f.steps)
	passes := r.Of.PassesOver(steps)
	if !passes && r.stopped() {
		return false, r.put(ctx)
	}
	all, err := r.apply(ctx, state, steps)
	if err != nil {
		return false, err
	}
	r.reached = r.reached || !passes
	r.applied, r.Counted = true, false
	return !all || f.more || len(f.open) > 0 || steps[0].Resets(state.Offset), nil
}

// enter decides whether the run can handle the events after the row's offset. The error says why it
// can't.
func (r *Run) enter(ctx context.Context, state *Row) error {
	if state.marked {
		return r.Group.Table.convertMark(ctx, r.Of.Name, r.Key)
	}
	if claimOver(state.Claim, r.Group.Now()) {
		r.takeOver = state.Claim
	}
	pays := r.pays || !state.Stuck() && (!r.Group.indexed.Load() || r.unpaid(state))
	mine := state.Claim == r.Token // else another run may have taken it
	if r.paying = mine && pays && state.Debt.Exists; r.paying && !r.applied {
		r.startPayment(state) // even if the response of its claim was lost
	}
	switch {
	case r.pays && !mine && !state.Debt.Exists:
		return nil // the debt was paid
	case mine || !state.Debt.Exists:
	case pays:
		return r.takeDebt(ctx, state)
	default:
		return r.meetDebt(ctx, state)
	}
	if state.Claim != "" && state.Claim != r.Token && state.Claim != r.takeOver {
		return &claimedError{state.Claim}
	}
	if !r.onlyIfEvents && r.stopped() {
		return r.put(ctx)
	}
	return nil
}

// stopped reports whether the run stores a debt instead of handling its steps. The run asks only
// once whether an outage stops it.
func (r *Run) stopped() bool {
	if r.debtReason == nil && r.stops {
		r.debtReason = r.Of.unreachable.stops(r.Group.Config.payEvery())
		r.stops = false
	}
	return r.debtReason != nil
}

// put stores a debt instead of handling steps.
func (r *Run) put(ctx context.Context) error {
	if err := r.storeDebt(ctx, r.debtReason, 0); err != nil {
		return err
	}
	return errDebtStored
}

// apply applies steps, and stores the offset after them. It reports whether it has applied all of
// them. If the projection leaves out all events of the steps, it only moves the offset in the row.
func (r *Run) apply(ctx context.Context, state *Row, steps []Step) (bool, error) {
	if r.Of.PassesOver(steps) {
		return r.passOver(ctx, state, steps)
	}
	return r.Of.Effect.Apply(ctx, r, state, steps)
}

// found is the work after an offset. more reports whether there may be more.
type found struct {
	planned

	more bool
}

// find returns the steps after the offset. It takes them from the records of the run if these are
// enough, and otherwise from the journal.
func (r *Run) find(ctx context.Context, state *Row) (found, error) {
	most := r.Group.Config.BatchSize
	// A payment also handles the events of triggers other than its own.
	if steps, ok := r.stepsFromRecords(state, most); ok && !r.paying {
		r.state, r.passed = state, nil
		return found{planned{steps: steps}, len(steps) == most}, nil
	}
	if state.Seq > 0 {
		most++ // the event at the offset
	}
	start, aged := time.Now(), state.agedHoles(r.Group.Now())
	page, err := core.Of(r.Group.Journal).ReadPage(ctx, r.Pid, max(state.Seq, 1), most)
	if err != nil {
		return found{}, r.Unreadable(ctx, state, err)
	}
	p := r.plan(ctx, state, page, func(h *hole) time.Duration {
		return r.Group.holes.age(taskKey{name: r.Of.Name, pid: r.Pid}, h, aged, start)
	})
	if state.purgedBefore(p.steps, page.Low) {
		p = planned{steps: []Step{{Purge: true}}}
	}
	if len(p.steps) == 0 || !p.steps[0].Purge {
		if err := r.findLate(ctx, state, page.Low); err != nil {
			return found{}, err
		}
	}
	return found{p, page.More}, nil
}

// plan returns the result of planning a page, and records the holes. age returns how long a hole
// was known to be missing when the read started.
func (r *Run) plan(ctx context.Context, state *Row, page core.Page, age func(*hole) time.Duration) planned {
	if r.Group.Journal.Native() {
		r.state, r.passed = state, nil
		return planned{steps: Plan(state.Offset, state.Exists, page)}
	}
	p := planShared(state.Offset, page, age, r.Group.Config.HoleWait)
	r.state, r.passed = state, p.passed
	r.notePassed(ctx, p.open, p.passed)
	return p
}

// Unreadable returns the error of reading the journal. An error that does not pass by itself counts
// as a failure of the handler: an item that can't be decoded, an event that the adapter refuses.
func (r *Run) Unreadable(ctx context.Context, state *Row, err error) error {
	if ctx.Err() != nil || Passes(err) || denied(err) || r.Group.Fatal(err) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	failure := &HandlerError{r.Of.Name, r.Pid, 0, err}
	only := state.Unchanged().And(state.SameClaim())
	if attempt := r.Attempt(state); !r.LastAttempt(state.Offset, attempt) {
		return r.CountFailure(ctx, failure, attempt, only)
	}
	return r.Stick(ctx, failure, Change{Removed: []string{attrClaim}}, only)
}

// Failure returns the error of a step whose handler has failed.
func (r *Run) Failure(s *Step, err error) *HandlerError {
	seq := s.To.Seq
	if s.Event != nil {
		seq = s.Event.SequenceNumber // To may be after events that are left out
	}
	return &HandlerError{r.Of.Name, r.Pid, seq, err}
}

// EachEvent calls handle with the events that the adapter makes of a stored event.
func (r *Run) EachEvent(ctx context.Context, s *Step, handle func(dynajournal.Event) error) error {
	return core.DeliverEvents(ctx, r.Group.Journal, s.Event, handle)
}
