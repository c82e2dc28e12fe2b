package projection

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection/internal/engine"
)

// maxItems is the largest number of items that a handler may return. A transaction has up to 100,
// and one is the row.
const maxItems = 99

// transactional writes the items of a handler and the offset in one transaction.
type transactional struct{ handler TransactionalHandler }

func (*transactional) Delivery() string { return engine.KindTransactional }

func (k *transactional) Check(projection string) error {
	if k.handler == nil {
		return engine.NoHandler(projection)
	}
	return nil
}

func (k *transactional) Open(*engine.Group, *engine.Member) (engine.Effect, engine.OffsetStore) {
	return k, engine.RowOffsets{}
}

// Writes returns a request for each step. A transaction uses twice the units of a plain write.
func (*transactional) Writes(steps []engine.Step) (requests, units int) {
	for i := range steps {
		if units++; steps[i].Event != nil {
			units++
		}
	}
	return len(steps), units
}

// Apply writes the handler's items and the offset in one transaction for each step, on condition
// that the offset is still the one before the step. It reports whether it has written all steps. If
// the outcome of a transaction is unknown, the next run finds it in the row.
func (k *transactional) Apply(ctx context.Context, r *engine.Run, state *engine.Row, steps []engine.Step) (bool, error) {
	if err := r.CountBefore(ctx, state, &steps[0]); err != nil {
		return false, err
	}
	at := *state
	for i := range steps {
		if i > 0 && r.PaymentOver() {
			return false, nil
		}
		s := &steps[i]
		items, err := k.items(ctx, r, steps[i:i+1], state)
		if err == nil {
			err = write(ctx, r, &at, s.To, items)
			if err == nil {
				at, r.Counted = at.At(s.To), false
				r.Handled(steps[i : i+1])
				continue
			}
			if !errors.Is(err, dynajournal.ErrInvalidRequest) {
				return false, err // the items were not refused
			}
		}
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		if delayed := new(engine.DelayedError); errors.As(err, &delayed) {
			return false, err
		}
		return false, failed(ctx, r, r.Failure(s, err), &at, state.SameClaim())
	}
	r.Cache(at)
	return true, nil
}

// failed stores the failure of a handler at the offset of a row, under a condition: as one more
// attempt, or by making the persistence id stuck.
func failed(ctx context.Context, r *engine.Run, failure *engine.HandlerError, at *engine.Row, only engine.Condition) error {
	attempt := r.Attempt(at)
	only = at.Unchanged().And(only)
	if r.LastAttempt(at.Offset, attempt) {
		return r.Stick(ctx, failure, engine.Change{}, only)
	}
	if r.CountsInRow() {
		at.Attempts = attempt
	}
	err := r.CountFailure(ctx, failure, attempt, only)
	if failed := new(engine.HandlerError); errors.As(err, &failed) {
		r.Cache(*at)
	}
	return err
}

// write writes items and the offset of a row, under the condition that the row is at its offset.
func write(ctx context.Context, r *engine.Run, at *engine.Row, to engine.Offset, items []types.TransactWriteItem) error {
	only := at.Unchanged()
	if len(items) == 0 {
		return r.Group.Table.Update(ctx, r.Key, r.Moved(to), only)
	}
	return r.Group.Table.Transact(ctx, r.Key, items, r.Moved(to), only)
}

// items returns the handler's items for one step.
func (k *transactional) items(ctx context.Context, r *engine.Run, step []engine.Step, state *engine.Row) ([]types.TransactWriteItem, error) {
	var items []types.TransactWriteItem
	err := r.Call(ctx, step, r.Group.Config.CallTime(), func(ctx context.Context) error {
		var err error
		items, err = k.produce(ctx, r, &step[0], state)
		return err
	})
	if err == nil && len(items) > maxItems {
		return nil, fmt.Errorf("%w: %d, at most %d", ErrTooManyItems, len(items), maxItems)
	}
	return items, err
}

// produce calls the handler for a step.
func (k *transactional) produce(ctx context.Context, r *engine.Run, s *engine.Step, state *engine.Row) ([]types.TransactWriteItem, error) {
	switch {
	case s.Purge:
		if h, ok := k.handler.(TransactionalPurgeHandler); ok {
			return h.HandlePurge(ctx, Purge{r.Pid, state.Seq, s.To.Seq})
		}
		return nil, nil
	case s.LeftOut:
		return nil, nil
	case s.Event == nil:
		if h, ok := k.handler.(TransactionalGapHandler); ok {
			return h.HandleGap(ctx, Gap{r.Pid, s.First, s.Last})
		}
		return nil, nil
	}
	var all []types.TransactWriteItem
	err := r.EachEvent(ctx, s, func(event dynajournal.Event) error {
		items, err := k.handler.Handle(ctx, event)
		all = slices.Concat(all, items)
		return err
	})
	return all, err
}
