package projection_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/projection/operator"
)

// pausing makes a process read every 50 ms whether projections are paused.
func pausing(config projection.Config) projection.Config {
	config.ClaimTimeout = 300 * time.Millisecond
	return config
}

// paused waits until a process has read whether a projection is paused, and none of its triggers
// wait.
func paused(t *testing.T, g *projection.Group, place int, is bool) {
	t.Helper()
	until(t, "the pause is noticed", func() bool {
		lag := g.Lag()[place]
		return lag.Paused == is && (!is || lag.IDs == 0)
	})
}

func (b *bundle) pause(name string) {
	b.Helper()
	if err := operator.New(b.journal, name).Pause(b.Context()); err != nil {
		b.Fatal(err)
	}
}

func (b *bundle) continues(name string) {
	b.Helper()
	if err := operator.New(b.journal, name).Continue(b.Context()); err != nil {
		b.Fatal(err)
	}
}

// A paused projection stays paused across restarts, and the other one continues. When it is
// continued, it gets everything, although the checkpoints have passed the records.
func TestContinuedProjectionMissesNothing(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]func(*bundle) projection.Config{
		"streams": (*bundle).streamed, "sweep": func(*bundle) projection.Config { return fast() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := streaming(t)
			b.write("a", "x")
			all, other := &recorder{}, &recorder{}
			launch := func() (*projection.Group, func()) {
				g := group(t, b.Journal(), pausing(config(b)), projection.AtLeastOnce("all", all), projection.AtLeastOnce("other", other))
				return g, start(t, g)
			}
			g, stop := launch()
			b.await("group/all", "a", 1)
			b.await("group/other", "a", 1)
			b.pause("group/all")
			b.pause("group/all")
			paused(t, g, 0, true)
			b.write("a", "y")
			b.write("b", "z")
			for range 2 {
				g.Trigger("a")
				g.Trigger("b")
				b.await("group/other", "a", 2)
				b.await("group/other", "b", 1)
				paused(t, g, 0, true)
				stop()
				g, stop = launch()
			}
			b.write("c", "u")
			g.Trigger("c")
			b.await("group/other", "c", 1)
			paused(t, g, 0, true)
			if name == "streams" {
				until(t, "the checkpoints", func() bool { return len(b.checkpoints()) > 0 })
				b.awaitQuiet()
			}
			want(t, "a", all.of("a"), "1 x")
			want(t, "b", all.of("b"))
			want(t, "c", all.of("c"))
			b.continues("group/all")
			b.await("group/all", "a", 2)
			b.await("group/all", "b", 1)
			b.await("group/all", "c", 1)
			paused(t, g, 0, false)
			want(t, "a", all.of("a"), "1 x", "2 y")
			want(t, "other a", other.of("a"), "1 x", "2 y")
		})
	}
}

// A projection is paused and continued while a long journal is handled. It stops between two pages,
// and continues there.
func TestPauseEndsBetweenTwoPages(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		b.write("a", "1", "2", "3", "4", "5", "6")
		first := block()
		config := pausing(fast())
		config.BatchSize = 2
		g := group(t, b.journal, config, projection.AtLeastOnce("all", first))
		start(t, g)
		comes(t, "the first event", first.arrived)
		b.pause("group/all")
		until(t, "the pause is noticed", func() bool { return g.Lag()[0].Paused })
		close(first.passed)
		b.await("group/all", "a", 2)
		paused(t, g, 0, true)
		if got := b.rowNumber("group/all", "a", "seq"); got != 2 {
			t.Errorf("the paused projection continued to %d", got)
		}
		b.continues("group/all")
		b.await("group/all", "a", 6)
		want(t, "a", first.of("a"), "1 1", "2 2", "3 3", "4 4", "5 5", "6 6")
	})
}

func TestWrongPausesAreRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for name, err := range map[string]error{
		"no journal": operator.New(nil, "group/all").Pause(t.Context()),
		"no slash":   operator.New(b.journal, "all").Pause(t.Context()),
		"no group":   operator.New(b.journal, "/all").Continue(t.Context()),
	} {
		wantError(t, name, err, dynajournal.ErrInvalidArgument)
	}
	wantError(t, "one that never ran", operator.New(b.journal, "group/all").Pause(t.Context()), projection.ErrNoProjection)
	b.continues("group/all") // it is not paused
	if len(b.items("owed")) > 0 {
		t.Error("a sweep is requested though nothing was paused")
	}
}

// A stuck persistence id of a paused projection can be resumed, because that is requested by name.
func TestResumeWorksWhilePaused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		b.write("a", "x")
		var cured atomic.Bool
		all := &recorder{on: func(context.Context, dynajournal.Event) error {
			if !cured.Load() {
				return errWanted
			}
			return nil
		}}
		config := pausing(fast())
		config.Attempts = 1
		g := group(t, b.journal, config, projection.AtLeastOnce("all", all))
		start(t, g)
		stuckness(b, "group/all", "a")
		b.pause("group/all")
		paused(t, g, 0, true)
		cured.Store(true)
		if err := g.Resume(t.Context(), "all", "a"); err != nil {
			t.Fatal(err)
		}
		want(t, "a", all.of("a"), "1 x")
	})
}
