package projection_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection"
)

// docs/projections-operate.md states these costs of a shared journal. Each read takes 20 marks and
// then 10 low marks, compared with 2 marks in a native journal.
func TestSharedCosts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := setupShared(t)
		var spent costs
		config := fast()
		config.HoleWait = time.Hour
		g := group(t, s.Journal(spent.install), config, projection.AtLeastOnce("all", &recorder{}))
		s.put("a", 1, "w")
		start(t, g)
		s.await("group/all", "a", 1)
		synctest.Wait() // for the end of the sweep
		spent.take()
		spent.ofTrigger(t, g, "none", dynajournal.Cost{Requests: 4, ReadUnits: 32})
		s.put("a", 2, "w")
		spent.ofTrigger(t, g, "one event", dynajournal.Cost{Requests: 6, ReadUnits: 32, WriteUnits: 2})
	})
}
