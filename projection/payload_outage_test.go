package projection_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/payloads"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/serialization"
)

// switchedStore is a store of payloads that can't be read while down is set.
type switchedStore struct {
	payloads.Memory

	down atomic.Bool
}

func (s *switchedStore) Get(ctx context.Context, key string, limit int) ([]byte, error) {
	if s.down.Load() {
		return nil, errDown
	}
	return s.Memory.Get(ctx, key, limit)
}

// The store of large payloads is down for an hour. Events whose payloads are there wait, other
// events are handled, and no attempt is counted.
func TestOutageOfAStoreOfPayloadsMakesNothingStuck(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		store := &switchedStore{}
		external := func(c *dynajournal.Config) {
			const above = 10
			c.Serialization = serialization.NewRegistry(serialization.External(store, above))
		}
		w := b.Recover(b.Journal(external), "a")
		b.append(w, "a payload that is too large")
		store.down.Store(true)
		config := inSeconds()
		config.Attempts, config.StuckAfter = 1, -1
		all := &recorder{}
		g := group(t, b.Journal(external), config, projection.AtLeastOnce("all", all))
		start(t, g)
		b.write("b", "small")
		g.Trigger("b")
		b.await("group/all", "b", 1)
		time.Sleep(time.Hour)
		if lag := g.Lag()[0]; lag.Debts != 1 || lag.Stuck != 0 {
			t.Errorf("%+v", lag)
		}
		store.down.Store(false)
		b.await("group/all", "a", 1)
		want(t, "a", all.of("a"), "1 a payload that is too large")
	})
}
