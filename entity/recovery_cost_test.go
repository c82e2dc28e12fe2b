package entity_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/internal/testsize"
)

// An entity that was dropped costs what the recovery of its events costs, and nothing more: with a
// few events 2 requests and 3 read units.
func TestDroppedEntitiesAreRecoveredAtTheCostOfTheTable(t *testing.T) {
	t.Parallel()
	const eachRequests, eachReads = 2, 3
	entities := testsize.Of(100, 1000)
	var requests, reads, writes atomic.Int64 // reads and writes in half units
	s := setup(t, dynajournal.TableOptions{}, func(c *dynajournal.Config) {
		c.Hooks = []dynajournal.Hook{{OnRequest: func(_ context.Context, r dynajournal.Request) {
			requests.Add(1)
			reads.Add(int64(2 * r.Cost.ReadUnits))
			writes.Add(int64(2 * r.Cost.WriteUnits))
		}}}
	})
	hosted := s.open(s.journal(), accountType(), entity.Options{})
	each(t, entities, func(ctx context.Context, id string) error {
		_, err := hosted.Update(ctx, id, func(tx *accountTx) error { tx.Record(Deposited{1}); return nil })
		return err
	})
	each(t, entities, hosted.Drop)
	requests.Store(0)
	reads.Store(0)
	writes.Store(0)
	each(t, entities, func(ctx context.Context, id string) error {
		_, err := hosted.Update(ctx, id, func(*accountTx) error { return nil })
		return err
	})
	if got := requests.Load(); got != int64(entities*eachRequests) {
		t.Errorf("%d requests for %d entities, want %d each", got, entities, eachRequests)
	}
	if got := reads.Load(); got != int64(2*entities*eachReads) {
		t.Errorf("%d half read units for %d entities, want %d units each", got, entities, eachReads)
	}
	if got := writes.Load(); got != 0 {
		t.Errorf("%d half write units, want none", got)
	}
}
