package engine

import (
	"context"
	"errors"
	"time"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/provision"
)

// A persistence id is stuck if its handler has failed too often: its row has a debt that is never
// due. So its triggers are covered as those of any debt are, and the index of debts lists it. An
// operator retries it by making the debt due, and skips an event by moving the offset in the same
// write.

// attrFailed is the number at which the handler failed when the persistence id became stuck. The
// row has it until the debt is paid.
const attrFailed = "failed_at"

// neverDue is when the debt of a stuck persistence id is due: the largest integer that all JSON
// readers keep.
var neverDue = time.UnixMilli(provision.NeverDue)

// Stuck reports whether the persistence id is stuck.
func (r *Row) Stuck() bool { return r.marked || r.Debt.Owed && r.Debt.Due.Equal(neverDue) }

// stuckNowError reports that a persistence id has become stuck, and that this is stored.
type stuckNowError struct{ *HandlerError }

func (e *stuckNowError) Unwrap() error { return e.HandlerError }

// Stick stores that the persistence id is stuck, with another change of the row. If somebody
// retries it, its attempts begin anew.
func (r *Run) Stick(ctx context.Context, failure *HandlerError, c Change, only Condition) error {
	if c.Set == nil {
		c.Set = dynamo.Attributes{}
	}
	c.Set[attrDebt], c.Set[attrDue] = Text(r.Group.Table.debtsOf(r.Of.Name)), Number(provision.NeverDue)
	c.Set[attrSince] = Number(r.Group.Now().UnixMilli())
	c.Set[AttrReason], c.Set[attrFailed] = Text(Shorten(failure.Error())), Number(failure.SequenceNumber)
	delete(c.Set, attrAttempts)
	for _, name := range []string{attrAttempts, attrFailing, attrSeenClaim, attrSeenAt} {
		c.remove(name)
	}
	if r.paying {
		c.remove(attrClaim)
	}
	if err := r.Group.Table.Update(ctx, r.Key, c, only); err != nil {
		return err
	}
	return &stuckNowError{failure}
}

// Retry makes the debt of a persistence id due, whether or not the persistence id is stuck, and
// begins its attempts anew. It does nothing to a persistence id that has no debt.
func (t *Table) Retry(ctx context.Context, projection, pid string) error {
	now := t.now().UnixMilli()
	err := t.Update(ctx, RowKey(t.JournalName, projection, pid),
		Change{
			Set:     dynamo.Attributes{attrDue: Number(now), attrSince: Number(now)},
			Removed: []string{attrAttempts, attrFailing},
		},
		Condition{"attribute_exists(" + attrDebt + ")", dynamo.Attributes{}})
	if errors.Is(err, ErrAgain) {
		return nil
	}
	return err
}

// Skip moves the offset of a stuck persistence id, and makes its debt due. The error is ErrAgain if
// the row is not as it was read.
func (t *Table) Skip(ctx context.Context, key dynamo.Attributes, state *Row, to Offset) error {
	now := t.now().UnixMilli()
	c := Moved(to)
	c.Set[attrDue], c.Set[attrSince] = Number(now), Number(now)
	stuck := Condition{attrDue + " = :never", dynamo.Attributes{":never": Number(provision.NeverDue)}}
	return t.Update(ctx, key, c, state.Unchanged().And(state.SameClaim()).And(stuck))
}

// convertMark puts a debt that is never due into the place of the mark by which version 0.1.0 says
// that a persistence id is stuck. The error is always one: ErrAgain if that is done.
func (t *Table) convertMark(ctx context.Context, projection string, key dynamo.Attributes) error {
	err := t.Send(ctx, provision.ConvertMark(t.Name, key, t.debtsOf(projection), t.now()))
	if err == nil {
		return ErrAgain
	}
	return err
}
