package projection

import (
	"context"
	"errors"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// isUnreadable reports whether a persistence id has an event that can't be read, or that is
// missing.
func isUnreadable(err error) bool {
	return errors.Is(err, dynajournal.ErrCorruptItem) || errors.Is(err, dynajournal.ErrEventMissing)
}

// damaged does what follows from a row that can't be decoded. Nothing is handled: where the events
// begin that were not is not known. Like a handler that fails again and again it makes the
// persistence id stuck, so that the others go on. The attributes that are damaged stay.
func (r *run) damaged(ctx context.Context) error {
	item, err := r.group.table.get(ctx, r.key)
	if err != nil {
		return err
	}
	state, err := decodeRow(r.group.table.name, item)
	switch {
	case err == nil:
		return errAgain // it was repaired meanwhile
	case state.stuck > 0 && !r.resume:
		return r.group.table.again(ctx, r.key)
	}
	failure := &HandlerError{r.of.name, r.pid, 0, err}
	last := r.countsInRow() || r.lastAttempt(offset{}, 0) // such a row can't count
	if !last {
		return failure
	}
	return r.stick(ctx, failure, change{}, asRead(item))
}

// asRead returns the condition that a row is as it was read, whatever its attributes are.
func asRead(item dynamo.Attributes) condition {
	all := condition{"attribute_exists(" + attrPar + ")", dynamo.Attributes{}}
	for _, name := range []string{attrSeq, attrWriter, attrClaim, attrStuck} {
		value, ok := item[name]
		if !ok {
			all.expression += " AND attribute_not_exists(" + name + ")"
			continue
		}
		all.expression += " AND " + name + " = :old" + name
		all.values[":old"+name] = value
	}
	return all
}
