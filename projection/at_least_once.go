package projection

import (
	"context"

	"github.com/dynajournal/dynajournal"
)

// atLeastOnce calls a handler under a claim of the row.
type atLeastOnce struct{ handler Handler }

func (*atLeastOnce) delivery() string { return kindAtLeastOnce }

func (k *atLeastOnce) check(projection string) error {
	if k.handler == nil {
		return noHandler(projection)
	}
	return nil
}

func (k *atLeastOnce) open(*Group, *member) (effect, offsetStore) { return k, rowOffsets{} }

func (k *atLeastOnce) apply(ctx context.Context, r *run, state *row, steps []step) (bool, error) {
	return r.underClaim(ctx, k, state, steps)
}

func (*atLeastOnce) writes([]step) (requests, units int) { return claimWrites, claimWrites }

// handle calls the handler for a step, or for several events if it is a [BatchHandler].
func (k *atLeastOnce) handle(ctx context.Context, r *run, steps []step, state *row, _ offset) error {
	s := &steps[0]
	switch {
	case s.purge:
		if h, ok := k.handler.(PurgeHandler); ok {
			return h.HandlePurge(ctx, Purge{r.pid, state.seq, s.to.seq})
		}
		return nil
	case s.leftOut:
		return nil
	case s.event == nil:
		if h, ok := k.handler.(GapHandler); ok {
			return h.HandleGap(ctx, Gap{r.pid, s.first, s.last})
		}
		return nil
	}
	if h, ok := k.handler.(BatchHandler); ok {
		return r.handleBatch(ctx, h, steps)
	}
	return r.eachEvent(ctx, s, func(event dynajournal.Event) error { return k.handler.Handle(ctx, event) })
}
