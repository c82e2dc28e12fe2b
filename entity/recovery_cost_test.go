package entity_test

import (
	"context"
	"testing"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/internal/testsize"
)

// Loading an entity that was dropped costs only the recovery of its events: 2 requests and 3 read
// units for a few events.
func TestDroppedEntitiesAreRecoveredAtTheCostOfTheTable(t *testing.T) {
	t.Parallel()
	const eachRequests, eachReads = 2, 3
	entities := testsize.Of(100, 1000)
	var spent costs
	s := setup(t, dynajournal.TableOptions{}, spent.install)
	hosted := s.open(s.Journal(), accountType(), entity.Options{})
	each(t, entities, func(ctx context.Context, id string) error {
		_, err := hosted.Update(ctx, id, func(tx *accountTx) error { tx.Record(Deposited{1}); return nil })
		return err
	})
	each(t, entities, hosted.Drop)
	spent.take()
	each(t, entities, func(ctx context.Context, id string) error {
		_, err := hosted.Update(ctx, id, func(*accountTx) error { return nil })
		return err
	})
	cost := spent.take()
	if cost.Requests != entities*eachRequests {
		t.Errorf("%d requests for %d entities, want %d each", cost.Requests, entities, eachRequests)
	}
	if cost.ReadUnits != float64(entities*eachReads) {
		t.Errorf("%g read units for %d entities, want %d each", cost.ReadUnits, entities, eachReads)
	}
	if cost.WriteUnits != 0 {
		t.Errorf("%g write units, want none", cost.WriteUnits)
	}
}
