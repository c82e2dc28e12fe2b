package engine

import (
	"context"
	"errors"
	"time"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/provision"
)

// A persistence id is stuck if its handler has failed too often: its row has a debt that is never
// due. The debt covers its triggers like any debt, and the index of debts lists it. An operator
// retries the persistence id by making the debt due, and skips an event by also moving the offset
// in that write.

// attrFailed is the number at which the handler failed when the persistence id became stuck. The
// row has it until the debt is paid.
const attrFailed = "failed_at"

// neverDue is the due time of the debt of a stuck persistence id: the largest integer that all JSON
// decoders preserve.
var neverDue = time.UnixMilli(provision.NeverDue)

// Stuck reports whether the persistence id is stuck.
func (r *Row) Stuck() bool { return r.marked || r.Debt.Exists && r.Debt.Due.Equal(neverDue) }

// stuckNowError reports that a persistence id has become stuck, and that this is stored.
type stuckNowError struct{ *HandlerError }

func (e *stuckNowError) Unwrap() error { return e.HandlerError }

// Stick stores that the persistence id is stuck, together with another change of the row. It resets
// the attempts, so that a retry starts with the first.
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
	if stuck := r.Group.Config.Hooks.OnStuck; stuck != nil {
		stuck(ctx, failure)
	}
	return &stuckNowError{failure}
}

// Retry makes the debt of a persistence id due, whether or not the persistence id is stuck, and
// resets its attempts. It does nothing if the persistence id has no debt.
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
// the row has changed since it was read.
func (t *Table) Skip(ctx context.Context, key dynamo.Attributes, state *Row, to Offset) error {
	now := t.now().UnixMilli()
	c := Moved(to)
	c.Set[attrDue], c.Set[attrSince] = Number(now), Number(now)
	stuck := Condition{attrDue + " = :never", dynamo.Attributes{":never": Number(provision.NeverDue)}}
	return t.Update(ctx, key, c, state.Unchanged().And(state.SameClaim()).And(stuck))
}

// convertMark replaces the mark of version 0.1.0 for a stuck persistence id with a debt that is
// never due. It never returns nil: the error is ErrAgain if the mark was replaced.
func (t *Table) convertMark(ctx context.Context, projection string, key dynamo.Attributes) error {
	err := t.Send(ctx, provision.ConvertMark(t.Name, key, t.debtsOf(projection), t.now()))
	if err == nil {
		return ErrAgain
	}
	return err
}
