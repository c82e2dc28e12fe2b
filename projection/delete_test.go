package projection_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/projection/operator"
)

// deletion is a call of DeleteTo that may wait.
type deletion struct {
	done   bool
	result dynajournal.DeleteResult
	err    error
}

func (b *bundle) delete(ctx context.Context, w *dynajournal.Writer, to int64, names ...string) *deletion {
	d := &deletion{}
	go func() {
		d.result, d.err = projection.DeleteTo(ctx, b.journal, w, to, names...)
		d.done = true
	}()
	return d
}

// after lets a minute pass in the bubble, and reports whether the call has returned.
func (d *deletion) after() bool {
	time.Sleep(time.Minute)
	synctest.Wait()
	return d.done
}

func TestDeleteTo_WaitsForProjections(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		w := b.write("a", "x", "y", "z")
		quick, slow := &recorder{}, &recorder{}
		release := make(chan struct{})
		slow.on = func(ctx context.Context, e dynajournal.Event) error {
			if e.SequenceNumber < 2 {
				return nil
			}
			select {
			case <-release:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		config := fast()
		config.Attempts = 1000
		start(t, group(t, b.journal, config, projection.AtLeastOnce("quick", quick), projection.AtLeastOnce("slow", slow)))
		b.await("group/quick", "a", 3)

		ctx, cancel := context.WithCancelCause(t.Context())
		given := b.delete(ctx, w, 2, "group/quick", "group/slow")
		d := b.delete(t.Context(), w, 2, "group/quick", "group/slow")
		if d.after() {
			t.Fatalf("events were deleted that group/slow has not handled: %+v, %v", d.result, d.err)
		}
		reason := errors.New("enough")
		cancel(reason)
		if synctest.Wait(); !given.done || !errors.Is(given.err, reason) {
			t.Errorf("given up: done %t, error %v", given.done, given.err)
		}
		close(release)
		if !d.after() || d.err != nil || d.result.Removed != 2 {
			t.Errorf("done %t, error %v, %+v", d.done, d.err, d.result)
		}
		want(t, "slow", slow.of("a"), "1 x", "2 y", "3 z")
	})
}

// DeleteTo deletes all events, and another event is appended while it waits.
func TestDeleteTo_KeepsEventsAppendedMeanwhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		w := b.write("a", "x")
		first := block()
		g := group(t, b.journal, fast(), projection.AtLeastOnce("all", first))
		start(t, g)
		comes(t, "the first event", first.arrived)
		d := b.delete(t.Context(), w, math.MaxInt64, "group/all")
		synctest.Wait() // it waits
		if _, err := w.Append(t.Context(), "y"); err != nil {
			t.Fatal(err)
		}
		close(first.passed)
		if !d.after() || d.err != nil || d.result.Removed != 1 {
			t.Errorf("done %t, error %v, %+v", d.done, d.err, d.result)
		}
		g.Trigger("a")
		b.await("group/all", "a", 2)
		want(t, "a", first.of("a"), "1 x", "2 y")
	})
}

// The last number is sealed: it has no event, so no projection reaches it.
func TestDeleteTo_DoesNotWaitForSeal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		w := b.write("a", "x", "y")
		if closed, err := core.WriterOf(w).CloseNext(t.Context()); err != nil || !closed {
			t.Fatal(closed, err)
		}
		start(t, group(t, b.journal, fast(), projection.AtLeastOnce("all", &recorder{})))
		b.await("group/all", "a", 2)
		d := b.delete(t.Context(), b.write("a"), math.MaxInt64, "group/all")
		if !d.after() || d.err != nil || d.result.Removed != 2 {
			t.Errorf("done %t, error %v, %+v", d.done, d.err, d.result)
		}
	})
}

// A persistence id was purged and used again. The offset of the old life is above the number to be
// deleted, but does not count.
func TestDeleteTo_WaitsForCurrentLife(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		w := b.write("a", "x", "y", "z")
		all := &recorder{}
		g := group(t, b.journal, fast(), projection.AtLeastOnce("all", all))
		stop := start(t, g)
		b.await("group/all", "a", 3)
		stop()
		if _, err := w.Purge(t.Context(), dynajournal.PurgeOptions{Now: true}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour) // in the bubble: no request of the old life is under way
		w = b.write("a", "v", "w")
		d := b.delete(t.Context(), w, 2, "group/all")
		if d.after() {
			t.Fatalf("events were deleted before they were handled: %+v, %v", d.result, d.err)
		}
		start(t, g)
		if !d.after() || d.err != nil || d.result.Removed != 2 {
			t.Errorf("done %t, error %v, %+v", d.done, d.err, d.result)
		}
		want(t, "a", all.of("a"), "1 x", "2 y", "3 z", "purge at 3", "1 v", "2 w")
	})
}

func TestDeleteTo_ErrorsInsteadOfWaiting(t *testing.T) {
	t.Parallel()
	b := setup(t)
	broken := &recorder{on: func(context.Context, dynajournal.Event) error { return errWanted }}
	config := fast()
	config.Attempts = 1
	w := b.write("a", "x", "y") // before the only sweep
	start(t, group(t, b.journal, config, projection.AtLeastOnce("broken", broken),
		projection.AtLeastOnce("others", &recorder{}, projection.OnlyIDs("b"))))
	for name, of := range map[string]struct {
		projection string
		to         int64
		want       error
	}{
		"an unknown one":         {"group/none", 2, projection.ErrNoProjection},
		"a name without group":   {"none", 2, dynajournal.ErrInvalidArgument},
		"a negative number":      {"group/others", -1, dynajournal.ErrInvalidArgument},
		"one that leaves it out": {"group/others", 1, nil},
	} {
		until(t, "the projections are known", func() bool {
			infos, err := operator.List(t.Context(), b.journal)
			return err == nil && len(infos) == 2
		})
		_, err := projection.DeleteTo(t.Context(), b.journal, w, of.to, of.projection)
		wantError(t, name, err, of.want)
	}
	_, err := projection.DeleteTo(t.Context(), b.journal, nil, 1)
	wantError(t, "no writer", err, dynajournal.ErrInvalidArgument)
	_, err = projection.DeleteTo(t.Context(), nil, w, 1, "group/others")
	wantError(t, "no journal", err, dynajournal.ErrInvalidArgument)

	until(t, "a stuck persistence id", func() bool { return len(b.stuckIDs("group/broken")) > 0 })
	_, err = projection.DeleteTo(t.Context(), b.journal, w, 2, "group/broken")
	wantError(t, "a stuck one", err, projection.ErrStuck)
	result, err := projection.DeleteTo(t.Context(), b.journal, w, 2)
	if err != nil || result.Removed != 1 {
		t.Errorf("%+v, %v: one event was to be left", result, err)
	}
}
