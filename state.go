package dynajournal

import (
	"context"
	"errors"
	"fmt"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/lifetime"
	"github.com/dynajournal/dynajournal/internal/states"
)

// onState runs an operation on the durable state of an entity, and returns what it has cost.
func (j *Journal) onState(
	ctx context.Context, pid string, do func(context.Context, *states.Store, *dynamo.Meter) error,
) (dynamo.Cost, error) {
	if err := j.checkID(pid); err != nil {
		return dynamo.Cost{}, err
	}
	var m dynamo.Meter
	err := j.operate(ctx, func(ctx context.Context, _ *lifetime.Operation) error {
		return do(ctx, j.states, &m)
	})
	if err == nil || errors.Is(err, states.ErrConflict) {
		return m.Cost(), err
	}
	return m.Cost(), fmt.Errorf("state of %q: %w", pid, itemError(j.config.SnapshotTable, err))
}
