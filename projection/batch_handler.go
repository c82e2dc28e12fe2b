package projection

import (
	"context"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection/internal/engine"
)

// BatchHandler is implemented by handlers of [AtLeastOnce] that take several events in one call, as
// a bulk request to a search index does.
type BatchHandler interface {
	// Handler has Handle, which is not called.
	Handler

	// HandleBatch handles events of one persistence id, in their order: those that follow each
	// other without a gap or a purge, up to Config.BatchSize, and all that the journal's adapter
	// makes of them. There is at least one. If a call with several stored events fails, each of
	// them is handed over alone at once: those before the one that fails count as handled, and only
	// that one can become stuck. So a call may repeat events that an earlier one has handled.
	HandleBatch(ctx context.Context, events []dynajournal.Event) error
}

// Together returns how many of the next steps one call of the handler gets.
func (k *atLeastOnce) Together(steps []engine.Step) int {
	if _, ok := k.handler.(BatchHandler); !ok {
		return 1
	}
	n := 0
	for n < len(steps) && steps[n].Event != nil && !steps[n].LeftOut {
		n++
	}
	return max(n, 1)
}

// handleBatch calls the handler for steps that are events.
func handleBatch(ctx context.Context, r *engine.Run, handler BatchHandler, steps []engine.Step) error {
	events := make([]dynajournal.Event, 0, len(steps))
	for i := range steps {
		err := r.EachEvent(ctx, &steps[i], func(event dynajournal.Event) error {
			events = append(events, event)
			return nil
		})
		if err != nil {
			return err
		}
	}
	if len(events) == 0 { // the adapter makes none of them
		return nil
	}
	return handler.HandleBatch(ctx, events)
}
