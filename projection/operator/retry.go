package operator

import (
	"context"
	"fmt"

	"github.com/dynajournal/dynajournal/projection/internal/engine"
)

// Retry makes the processes of a group retry a persistence id that is stuck, or that has a debt
// at a later time. A process of the group, even one that starts later, does so within a sixth of
// Config.ClaimTimeout, at most 10 seconds. On AWS Lambda the next call of awslambda.Maintain does.
// The attempts of the handler are counted from 0 again. Retry does nothing to a persistence id that
// has no debt.
//
// It costs 2.5 read units, and 3 write units if the persistence id is stuck.
//
// Errors: a *dynajournal.ArgumentError, [projection.ErrNoProjection], [ErrNoIndex],
// [dynajournal.ErrCorruptItem] if the row is damaged, and errors of requests.
func (o *Operator) Retry(ctx context.Context, persistenceID string) error {
	p, err := o.find(ctx)
	if err == nil {
		err = engine.CheckID(persistenceID)
	}
	if err == nil {
		err = p.payable(ctx)
	}
	if err == nil {
		_, _, err = p.Row(ctx, persistenceID) // converts what an earlier version has stored
	}
	if err == nil {
		err = p.Table.Retry(ctx, p.Projection, persistenceID)
	}
	if err != nil {
		return fmt.Errorf("retry %q of projection %s: %w", persistenceID, o.projection, err)
	}
	return nil
}
