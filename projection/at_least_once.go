package projection

import (
	"context"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection/internal/engine"
)

// atLeastOnce calls a handler under a claim of the row.
type atLeastOnce struct{ handler Handler }

func (*atLeastOnce) Delivery() string { return engine.KindAtLeastOnce }

func (k *atLeastOnce) Check(projection string) error {
	if k.handler == nil {
		return engine.NoHandler(projection)
	}
	return nil
}

func (k *atLeastOnce) Open(*engine.Group, *engine.Member) (engine.Effect, engine.OffsetStore) {
	return k, engine.RowOffsets{}
}

func (k *atLeastOnce) Apply(ctx context.Context, r *engine.Run, state *engine.Row, steps []engine.Step) (bool, error) {
	return r.UnderClaim(ctx, k, state, steps)
}

func (*atLeastOnce) Writes([]engine.Step) (requests, units int) {
	return engine.ClaimWrites, engine.ClaimWrites
}

// Handle calls the handler for a step, or for several events if it is a [BatchHandler].
func (k *atLeastOnce) Handle(ctx context.Context, r *engine.Run, steps []engine.Step, state *engine.Row, _ engine.Offset) error {
	s := &steps[0]
	switch {
	case s.Purge:
		if h, ok := k.handler.(PurgeHandler); ok {
			return h.HandlePurge(ctx, Purge{r.Pid, state.Seq, s.To.Seq})
		}
		return nil
	case s.LeftOut:
		return nil
	case s.Event == nil:
		if h, ok := k.handler.(GapHandler); ok {
			return h.HandleGap(ctx, Gap{r.Pid, s.First, s.Last})
		}
		return nil
	}
	if h, ok := k.handler.(BatchHandler); ok {
		return handleBatch(ctx, r, h, steps)
	}
	return r.EachEvent(ctx, s, func(event dynajournal.Event) error { return k.handler.Handle(ctx, event) })
}
