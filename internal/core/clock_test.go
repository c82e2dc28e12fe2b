package core_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/internal/clock"
	"github.com/dynajournal/dynajournal/internal/core"
)

// A journal takes its time from the clock that is set.
func TestJournalTakesItsTimeFromTheClockThatIsSet(t *testing.T) {
	t.Parallel()
	engine, err := embedded.OpenMemory(embedded.WithSweepInterval(0))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	})
	var asked atomic.Int64 // requests in flight ask at the same time
	config := dynajournal.Config{AWS: engine.AWSConfig()}
	wall := func() time.Time {
		asked.Add(1)
		return time.Now()
	}
	core.SetClock(&config, clock.New(wall, func() time.Duration { return 0 }))
	if err := dynajournal.CreateTables(t.Context(), config, dynajournal.TableOptions{}); err != nil {
		t.Fatal(err)
	}
	j, err := dynajournal.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	}()
	w, err := j.Recover(t.Context(), "a", dynajournal.RecoverOptions{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Append(t.Context(), "event"); err != nil {
		t.Fatal(err)
	}
	if asked.Load() == 0 {
		t.Error("the journal never asks the clock")
	}
}
