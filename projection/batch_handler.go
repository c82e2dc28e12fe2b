package projection

import (
	"context"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection/internal/engine"
)

// BatchHandler is implemented by handlers of [AtLeastOnce] that take several events in one call,
// such as for a bulk request to a search index.
type BatchHandler interface {
	// Handle must be implemented, but is not called.
	Handler

	// HandleBatch handles consecutive events of one persistence id, in order: at least one, and up
	// to Config.BatchSize stored events with no gap or purge between them. It gets all events that
	// the journal's adapter makes of a stored event. If a call with several stored events fails,
	// the group at once calls HandleBatch for each stored event alone: the events before the one
	// that fails count as handled, and only that one can become stuck. So a call may repeat events
	// that an earlier call has handled.
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
