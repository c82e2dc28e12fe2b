package projection

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
)

// maxItems is how many items a handler may return: a transaction has 100, and one is the row.
const maxItems = 99

// transactional writes the items of a handler and the offset in one transaction.
type transactional struct{ handler TransactionalHandler }

func (*transactional) delivery() string { return kindTransactional }

func (k *transactional) check(projection string) error {
	if k.handler == nil {
		return noHandler(projection)
	}
	return nil
}

func (k *transactional) open(*Group, *member) (effect, offsetStore) { return k, rowOffsets{} }

// writes returns a request for each step. A transaction uses twice the units of a write.
func (*transactional) writes(steps []step) (requests, units int) {
	for i := range steps {
		if units++; steps[i].event != nil {
			units++
		}
	}
	return len(steps), units
}

// apply writes for each step the items of the handler and the offset in one transaction, under the
// condition that the offset is the one before. It reports whether it has written all. If the
// outcome of a transaction is unknown, the row shows it to the next run.
func (k *transactional) apply(ctx context.Context, r *run, state *row, steps []step) (bool, error) {
	if err := r.countBefore(ctx, state, &steps[0]); err != nil {
		return false, err
	}
	at := *state
	for i := range steps {
		s := &steps[i]
		items, err := k.items(ctx, r, s, state)
		if err == nil {
			err = r.write(ctx, &at, s.to, items)
			if err == nil {
				at, r.counted = at.at(s.to), false
				r.count.handled(steps[i : i+1])
				continue
			}
			if !errors.Is(err, dynajournal.ErrInvalidRequest) {
				return false, err // the items were not refused
			}
		}
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		failure := r.failure(s, err)
		attempt, only := r.attempt(&at), at.unchanged()
		if r.lastAttempt(at.offset, attempt) {
			return false, r.stick(ctx, failure, change{}, only)
		}
		if r.countsInRow() {
			at.attempts = attempt
		}
		err = r.countFailure(ctx, failure, attempt, only)
		if failed := new(HandlerError); errors.As(err, &failed) {
			r.keep(at)
		}
		return false, err
	}
	r.keep(at)
	return true, nil
}

// write writes items and the offset of a row, under the condition that the row is at its offset.
func (r *run) write(ctx context.Context, at *row, to offset, items []types.TransactWriteItem) error {
	only := at.unchanged()
	if len(items) == 0 {
		return r.group.table.update(ctx, r.key, r.moved(to), only)
	}
	return r.group.table.transact(ctx, r.key, items, r.moved(to), only)
}

// items returns what the handler makes of a step.
func (k *transactional) items(ctx context.Context, r *run, s *step, state *row) ([]types.TransactWriteItem, error) {
	var items []types.TransactWriteItem
	err := r.call(ctx, r.group.config.callTime(), func(ctx context.Context) error {
		var err error
		items, err = k.produce(ctx, r, s, state)
		return err
	})
	if err == nil && len(items) > maxItems {
		return nil, fmt.Errorf("%w: %d, at most %d", ErrTooManyItems, len(items), maxItems)
	}
	return items, err
}

// produce calls the handler.
func (k *transactional) produce(ctx context.Context, r *run, s *step, state *row) ([]types.TransactWriteItem, error) {
	switch {
	case s.purge:
		if h, ok := k.handler.(TransactionalPurgeHandler); ok {
			return h.HandlePurge(ctx, Purge{r.pid, state.seq, s.to.seq})
		}
		return nil, nil
	case s.leftOut:
		return nil, nil
	case s.event == nil:
		if h, ok := k.handler.(TransactionalGapHandler); ok {
			return h.HandleGap(ctx, Gap{r.pid, s.first, s.last})
		}
		return nil, nil
	}
	var all []types.TransactWriteItem
	err := r.eachEvent(ctx, s, func(event dynajournal.Event) error {
		items, err := k.handler.Handle(ctx, event)
		all = slices.Concat(all, items)
		return err
	})
	return all, err
}
