package engine

import (
	"context"
	"errors"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// IsUnreadable reports whether a persistence id has an event that can't be read, or that is
// missing.
func IsUnreadable(err error) bool {
	return errors.Is(err, dynajournal.ErrCorruptItem) || errors.Is(err, dynajournal.ErrEventMissing)
}

// damaged does what follows from a row that can't be decoded. Nothing is handled: where the events
// begin that were not is not known. Like a handler that fails again and again it makes the
// persistence id stuck, so that the others continue. The attributes that are damaged stay.
func (r *Run) damaged(ctx context.Context) error {
	item, err := r.Group.Table.Get(ctx, r.Key)
	if err != nil {
		return err
	}
	state, err := DecodeRow(r.Group.Table.Name, item)
	switch {
	case err == nil:
		return ErrAgain // it was repaired meanwhile
	case state.marked:
		return r.Group.Table.convertMark(ctx, r.Of.Name, r.Key)
	case state.Stuck() && !r.asked:
		return r.meetDebt(ctx, &state)
	}
	failure := &HandlerError{r.Of.Name, r.Pid, 0, err}
	last := r.CountsInRow() || r.pays || r.LastAttempt(Offset{}, 0) // such a row can't count
	if !last {
		return failure
	}
	return r.Stick(ctx, failure, Change{}, asRead(item))
}

// asRead returns the condition that a row is as it was read, whatever its attributes are.
func asRead(item dynamo.Attributes) Condition {
	all := Condition{"attribute_exists(" + AttrPar + ")", dynamo.Attributes{}}
	for _, name := range []string{AttrSeq, AttrWriter, attrClaim, attrDebt} {
		value, ok := item[name]
		if !ok {
			all.Expression += " AND attribute_not_exists(" + name + ")"
			continue
		}
		all.Expression += " AND " + name + " = :old" + name
		all.Values[":old"+name] = value
	}
	return all
}
