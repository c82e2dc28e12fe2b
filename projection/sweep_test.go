package projection_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection"
)

// many writes more persistence ids than a sweep handles between two stored positions.
func many(b *bundle) (first, last string) {
	b.Helper()
	const ids = 300
	for i := range ids {
		b.write(fmt.Sprintf("i%04d", i), "x")
	}
	return "i0000", fmt.Sprintf("i%04d", ids-1)
}

// The first persistence id of a sweep is not done when the sweep is interrupted: the next sweep
// finds it.
func TestInterruptedSweepMissesNoID(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first, last := many(b)
	arrived := make(chan struct{})
	all := &recorder{on: func(ctx context.Context, e dynajournal.Event) error {
		if e.PersistenceID == first {
			close(arrived)
			<-ctx.Done()
			return ctx.Err()
		}
		return nil
	}}
	stop := start(t, group(t, b.journal, fast(), projection.AtLeastOnce("all", all)))
	comes(t, "the event", arrived)
	b.await("group/all", last, 1)
	stop()
	start(t, group(t, b.journal, fast(), projection.AtLeastOnce("all", &recorder{})))
	b.await("group/all", first, 1)
}

// A sweep continues where it was interrupted, unless a projection has joined.
func TestSweep_ContinuesAtPosition(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first, last := many(b)
	var once atomic.Bool
	arrived := make(chan struct{})
	stop := start(t, group(t, b.journal, fast(), projection.AtLeastOnce("all", &recorder{on: func(ctx context.Context, e dynajournal.Event) error {
		if e.PersistenceID == last {
			if once.CompareAndSwap(false, true) {
				close(arrived)
			}
			<-ctx.Done()
			return ctx.Err()
		}
		return nil
	}})))
	comes(t, "the event", arrived)
	until(t, "a position is stored", func() bool { return b.sweepPosition() != "" })
	stop()
	var seen reads
	stop = start(t, group(t, b.Journal(seen.install), fast(), projection.AtLeastOnce("all", &recorder{})))
	b.await("group/all", last, 1)
	stop()
	if n := seen.Load(); n > 150 {
		t.Errorf("the second sweep has read %d rows", n)
	}
	joined := &recorder{}
	start(t, group(t, b.journal, fast(), projection.AtLeastOnce("all", &recorder{}), projection.AtLeastOnce("joined", joined)))
	b.await("group/joined", first, 1)
	b.await("group/joined", last, 1)
}

func TestSweepsRepeat(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("a", "x")
	config := fast()
	config.Source = projection.Sweep(projection.SweepOptions{Every: time.Millisecond})
	start(t, group(t, b.journal, config, projection.AtLeastOnce("all", &recorder{})))
	b.await("group/all", "a", 1)
	b.write("a", "y")
	b.write("b", "z")
	b.await("group/all", "a", 2)
	b.await("group/all", "b", 1)
}
