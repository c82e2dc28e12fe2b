package systemtest

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/clock"
	"github.com/dynajournal/dynajournal/internal/core"
)

// A journal uses the clock that is set.
func TestJournalTakesItsTimeFromTheClockThatIsSet(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64 // requests in flight read the clock concurrently
	config := dynajournal.Config{AWS: openEngine(t).AWSConfig()}
	wall := func() time.Time {
		asked.Add(1)
		return time.Now()
	}
	core.SetClock(&config, clock.New(wall, func() time.Duration { return 0 }))
	createTables(t, config, dynajournal.TableOptions{})
	j := openJournal(t, config)
	if _, err := recovered(t, j, "a").Append(t.Context(), "event"); err != nil {
		t.Fatal(err)
	}
	if asked.Load() == 0 {
		t.Error("the journal never asks the clock")
	}
}
