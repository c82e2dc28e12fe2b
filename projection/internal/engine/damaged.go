package engine

import (
	"context"
	"errors"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// IsUnreadable reports whether err shows that a persistence id has an event that can't be decoded,
// or that is missing.
func IsUnreadable(err error) bool {
	return errors.Is(err, dynajournal.ErrCorruptItem) || errors.Is(err, dynajournal.ErrEventMissing)
}

// damaged deals with a row that can't be decoded. It handles nothing, because the offset is
// unknown. Like a handler that fails repeatedly, the row makes the persistence id stuck, so that
// others continue. The damaged attributes remain.
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
	last := r.CountsInRow() || r.pays || r.LastAttempt(Offset{}, 0) // damaged rows can't count
	if !last {
		return failure
	}
	return r.Stick(ctx, failure, Change{}, asRead(item))
}

// asRead returns the condition that a row is unchanged since it was read. The attributes can have
// any type.
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
