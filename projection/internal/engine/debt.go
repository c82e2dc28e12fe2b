package engine

import (
	"context"
	"errors"
	"time"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/provision"
)

// A debt is a run of a projection that is made later. It is stored in the row if the run can't be
// made now: something that the handler needs is down, another process has the claim, a sequence
// number is missing, or the handler has failed and its next attempt is later. The trigger is then
// done, so only the persistence id itself waits for the run.
//
//	a trigger's run        Run.storeDebt: the debt is stored, or again is set in it
//	      │
//	      ▼
//	a row with a debt  ◀───────────────────────┐
//	      │ it is due                          │ it has failed, or a trigger came
//	      ▼                                    │
//	a payment              Run.takeDebt: the claim is stored, and again removed
//	      │                                    │
//	      ├────────────────────────────────────┘
//	      ▼ all is handled, the offset is stored, and again is missing
//	a row without a debt   Run.endPayment
//
// Only a payment removes a debt. It claims the row, for every kind of projection, and then reads
// the journal. A debt can be stored at any time and without a condition, because an unnecessary one
// only costs a payment that finds nothing. A persistence id is stuck if its debt is never due: see
// [Run.Stick].
//
// docs/model/debts.py explores this protocol.

// Attributes of a debt. attrDebt and attrDue are the key of the index of debts.
const (
	attrDebt  = provision.AttrDebt
	attrDue   = provision.AttrDue
	attrSince = provision.AttrSince
	// attrAgain is set when a trigger has come since the last claim of a payment.
	attrAgain = "again"
	// attrSeenClaim is a claim of another run that a payment has found. attrSeenAt is when it was
	// first found, in milliseconds since 1970. The claim counts as dead if a payment still finds it
	// after Config.ClaimTimeout, so no process has to watch it.
	attrSeenClaim = "claim_seen"
	attrSeenAt    = "claim_seen_at"
	// attrFailing is when the handler first failed for the event after the offset, in milliseconds
	// since 1970.
	attrFailing = "failing_since"
)

// debtAttributes are the attributes that a row has only while it has a debt.
var debtAttributes = []string{attrDebt, attrDue, attrSince, attrAgain, attrSeenClaim, attrSeenAt, attrFailing}

// Debt is the debt of a row. The zero value is a row without a debt.
type Debt struct {
	Exists bool
	// Due is when the next payment is due. Since is when the debt was stored.
	Due, Since time.Time
	again      bool
	seen       string
	seenAt     time.Time
	// failing is when the handler first failed. It is zero if the handler does not fail.
	failing time.Time
}

// debt decodes the debt of a row.
func (d *Decoder) debt() Debt {
	var failing time.Time
	if since := d.Number(attrFailing); since > 0 {
		failing = time.UnixMilli(since)
	}
	return Debt{
		Exists: d.Text(attrDebt) != "", Due: time.UnixMilli(d.Number(attrDue)), Since: time.UnixMilli(d.Number(attrSince)),
		again: d.Number(attrAgain) > 0, seen: d.Text(attrSeenClaim), seenAt: time.UnixMilli(d.Number(attrSeenAt)),
		failing: failing,
	}
}

// debtsOf returns the hash key of a projection's debts in the index of debts.
func (t *Table) debtsOf(projection string) string { return t.JournalName + "\x00" + projection }

// storeDebt stores a debt that is due after a pause, with an error as its reason. An existing debt
// retains its due time, even if it is never due.
func (r *Run) storeDebt(ctx context.Context, because error, pause time.Duration) error {
	now := r.Group.Now()
	values := dynamo.Attributes{
		":debt": Text(r.Group.Table.debtsOf(r.Of.Name)), ":now": Number(now.UnixMilli()),
		":due": Number(now.Add(pause).UnixMilli()), ":reason": Text(Shorten(because.Error())), ":one": Number(1),
	}
	set := "SET " + attrAgain + " = :one" + unlessSet(attrDebt, ":debt") + unlessSet(attrDue, ":due") +
		unlessSet(attrSince, ":now") + unlessSet(AttrReason, ":reason")
	return r.Group.Table.Send(ctx, dynamo.Update{
		Table: r.Group.Table.Name, Key: r.Key, Expression: set, Condition: Always, Values: values,
	})
}

// unlessSet returns the part of an update that sets an attribute if it is missing.
func unlessSet(name, value string) string {
	return ", " + name + " = if_not_exists(" + name + ", " + value + ")"
}

// errDebtStored reports that the row has a debt that covers the triggers of the run.
var errDebtStored = errors.New("a debt is stored")

// errMeanwhile is the reason of a debt that is stored during a payment.
var errMeanwhile = errors.New("an event has come while others were handled")

// meetDebt ends the run of a trigger at a row with a debt. The debt covers the trigger, because the
// row was read after the trigger came. If a payment is under way, it may have read the journal
// before that: unless attrAgain is set, meetDebt stores the debt again.
func (r *Run) meetDebt(ctx context.Context, state *Row) error {
	if state.Claim != "" && !state.Debt.again {
		if err := r.storeDebt(ctx, errMeanwhile, 0); err != nil {
			return err
		}
	}
	return errDebtStored
}

// errNotDue reports that the run has nothing to pay.
var errNotDue = errors.New("nothing is due")

// takeDebt claims a row with a debt, on condition that the row is unchanged since it was read. From
// then on the run is a payment.
func (r *Run) takeDebt(ctx context.Context, state *Row) error {
	now := r.Group.Now()
	if r.pays && !r.asked && state.Debt.Due.After(now) {
		return errNotDue
	}
	if state.Claim != "" && state.Claim != r.takeOver && !state.Debt.dead(state.Claim, now, r.Group.Config.ClaimTimeout) {
		if !r.pays {
			return &claimedError{state.Claim}
		}
		return r.seeClaim(ctx, state, now)
	}
	only := state.Unchanged().And(state.SameClaim()).And(Condition{
		attrDebt + " = :olddebt AND " + attrDue + " = :olddue",
		dynamo.Attributes{
			":olddebt": Text(r.Group.Table.debtsOf(r.Of.Name)), ":olddue": Number(state.Debt.Due.UnixMilli()),
		},
	})
	if r.Of.MakeOnce {
		only = only.And(state.sameMade())
	}
	state.Attempts++
	r.claimed = true
	c := Change{
		Set: dynamo.Attributes{
			attrClaim: Text(r.Token), attrAttempts: Number(state.Attempts),
		},
		Removed: []string{attrAgain, attrSeenClaim, attrSeenAt},
	}
	if state.Claim != "" { // if it kills this process as well, other debts are paid first
		c.Set[attrDue] = Number(now.Add(r.Group.Config.payEvery()).UnixMilli())
	} else if state.Stuck() {
		r.wasStuck = true
		c.Set[attrDue] = Number(now.UnixMilli())
	}
	if err := r.Group.Table.Update(ctx, r.Key, c, only); err != nil {
		return err
	}
	if state.Claim != "" {
		r.claimChanged(ctx, ClaimTakenOver)
	}
	state.Claim, r.paying = r.Token, true
	r.startPayment(state)
	return nil
}

// startPayment records the state of the row at the start of a payment. The row has no attempts if
// the payment has already moved the offset, and the response of that write was lost.
func (r *Run) startPayment(state *Row) {
	if r.took.IsZero() {
		r.took = time.Now()
	}
	r.Counted, r.attempt = state.Attempts > 0, state.Attempts
	r.since, r.failingSince = state.Debt.Since, state.Debt.failing
}

// PaymentOver reports whether the run is a payment whose time is over. Another payment must then
// continue.
func (r *Run) PaymentOver() bool {
	return r.paying && time.Since(r.took) >= r.Group.Config.CallTime()
}

// longUnpaid is how long a debt on Lambda is due before the run of a trigger pays it. It is for
// programs that do not call Maintain.
const longUnpaid = 15 * time.Minute

// unpaid reports whether the run of a trigger on Lambda pays the debt, because Maintain has not.
func (r *Run) unpaid(state *Row) bool {
	long := state.Debt.Exists && r.Group.Now().Sub(state.Debt.Due) > longUnpaid
	return r.invocation != nil && long && !r.Of.unreachable.lasts()
}

// dead reports whether a claim that payments have found counts as dead.
func (d *Debt) dead(claim string, now time.Time, timeout time.Duration) bool {
	return d.seen == claim && now.Sub(d.seenAt) > timeout
}

// seeClaim stores that a payment has found the claim of another run, if that run may be dead. It
// also delays the next payment, so that debts that can be paid come first.
func (r *Run) seeClaim(ctx context.Context, state *Row, now time.Time) error {
	if !state.Stuck() && now.Sub(state.Debt.Due) < r.Group.Config.payEvery() {
		return errNotDue // probably another payment has just claimed the row
	}
	r.claimChanged(ctx, ClaimWaits)
	c := Change{Set: dynamo.Attributes{attrDue: Number(now.Add(r.Group.Config.payEvery()).UnixMilli())}}
	if state.Debt.seen != state.Claim {
		c.Set[attrSeenClaim], c.Set[attrSeenAt] = Text(state.Claim), Number(now.UnixMilli())
	}
	only := state.SameClaim().And(Condition{"attribute_exists(" + attrDebt + ")", dynamo.Attributes{}})
	if err := r.Group.Table.Update(ctx, r.Key, c, only); err != nil && !errors.Is(err, ErrAgain) {
		return err
	}
	return errNotDue
}

// endPayment ends a payment that returned err: it removes the debt, or stores when the next payment
// is due. It does so even if the group is stopping, so that another process need not wait. Both
// writes release the claim, unless another run has taken it.
func (r *Run) endPayment(ctx context.Context, err error) error {
	if stuck := new(stuckNowError); errors.As(err, &stuck) {
		return err // storing that has ended the payment
	}
	store := context.WithoutCancel(ctx) // bounded by the journal's OperationTimeout
	mine := ClaimedBy(r.Token)
	if err == nil {
		paid := Change{Removed: append([]string{attrClaim, AttrReason, attrAttempts, attrFailed}, debtAttributes...)}
		nothing := Condition{"attribute_not_exists(" + attrAgain + ")", dynamo.Attributes{}}
		err = r.Group.Table.Update(store, r.Key, paid, mine.And(nothing))
		if !errors.Is(err, ErrAgain) {
			r.released(store, err)
			return err
		}
	}
	storing := r.Group.Table.Update(store, r.Key, r.unpaidUntil(ctx, err), mine)
	r.released(store, storing)
	r.Group.holes.forget(taskKey{name: r.Of.Name, pid: r.Pid}) // the row has their ages
	if r.pays && (errors.Is(err, ErrAgain) || errors.Is(storing, ErrAgain)) {
		return errDebtStored // a trigger has come, or another run has taken the claim
	}
	return errors.Join(err, storing)
}

// unpaidUntil returns the change of the row after a payment that ended with err. Only a failure of
// the handler counts as an attempt. After the payment has handled something, the next failure
// concerns another event.
func (r *Run) unpaidUntil(ctx context.Context, err error) Change {
	now := r.Group.Now()
	c := Change{
		Set:     dynamo.Attributes{attrDue: Number(now.Add(r.untilPaid(ctx, err)).UnixMilli())},
		Removed: []string{attrClaim},
	}
	if r.wasStuck {
		c.Set[attrDue] = Number(provision.NeverDue)
	}
	_, failed := errors.AsType[*HandlerError](err)
	switch {
	case failed && (r.applied || r.failingSince.IsZero()):
		c.Set[attrFailing] = Number(now.UnixMilli())
	case failed:
	case r.applied:
		c.Removed = append(c.Removed, attrFailing, attrAttempts)
	case r.Counted:
		c.Set[attrAttempts] = Number(r.attempt - 1)
	}
	if r.applied {
		c.Set[attrSince] = Number(now.UnixMilli())
	}
	if !errors.Is(err, ErrAgain) && ctx.Err() == nil {
		c.Set[AttrReason] = Text(Shorten(err.Error()))
	}
	return c
}

// untilPaid returns the pause before the next payment, after a payment that ended with err. It
// grows with the age of the debt, from Config.RetryShortest up to Config.RetryLongest.
func (r *Run) untilPaid(ctx context.Context, err error) time.Duration {
	if ctx.Err() != nil || errors.Is(err, ErrAgain) || errors.Is(err, errPaused) {
		return 0
	}
	pause := r.Group.Now().Sub(r.since) / 2
	if r.applied {
		pause = 0
	}
	if undecided := new(undecidedError); errors.As(err, &undecided) {
		pause = undecided.left
	}
	return min(max(pause, r.Group.Config.RetryShortest), r.Group.Config.RetryLongest)
}
