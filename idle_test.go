package dynajournal

import (
	"errors"
	"testing"
	"time"

	"github.com/dynajournal/dynajournal/embedded"
)

// openIdle opens a native journal whose clock the test moves.
func openIdle(t *testing.T) (j *Journal, engine *embedded.Engine, wall *time.Time, elapsed *time.Duration) {
	t.Helper()
	wall, elapsed = new(time.Now()), new(time.Duration)
	engine, err := embedded.OpenMemory(embedded.WithClock(func() time.Time { return *wall }))
	if err != nil {
		t.Fatal(err)
	}
	config := Config{AWS: engine.AWSConfig(), FenceWindow: time.Hour}
	if err := CreateTables(t.Context(), config, TableOptions{}); err != nil {
		t.Fatal(err)
	}
	if j, err = Open(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	j.clock = clock{wall: func() time.Time { return *wall }, elapsed: func() time.Duration { return *elapsed }}
	t.Cleanup(func() {
		_ = j.Close()
		_ = engine.Close()
	})
	return j, engine, wall, elapsed
}

// A stale writer whose events were written by another, deleted, and whose tombstones have expired must not write below the
// low mark: nothing stands at its key any more, so only the look after the pause stops it.
func TestWriterLooksAgainAfterHalfTheFenceWindow(t *testing.T) {
	for name, pass := range map[string]func(wall *time.Time, elapsed *time.Duration){
		"both clocks moved": func(wall *time.Time, elapsed *time.Duration) {
			*wall = wall.Add(3 * time.Hour)
			*elapsed += 3 * time.Hour
		},
		"the machine slept":                  func(wall *time.Time, _ *time.Duration) { *wall = wall.Add(3 * time.Hour) },
		"the wall clock was set back":        func(_ *time.Time, elapsed *time.Duration) { *elapsed += 3 * time.Hour },
		"just over half of the fence window": func(_ *time.Time, elapsed *time.Duration) { *elapsed += 31 * time.Minute },
	} {
		t.Run(name, func(t *testing.T) {
			j, engine, wall, elapsed := openIdle(t)
			recoverIt := func() *Writer {
				w, err := j.Recover(t.Context(), "a", RecoverOptions{}, nil)
				if err != nil {
					t.Fatal(err)
				}
				return w
			}
			stale := recoverIt()
			if _, err := stale.Append(t.Context(), "1"); err != nil {
				t.Fatal(err)
			}
			live := recoverIt()
			for range 3 {
				if _, err := live.Append(t.Context(), "x"); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := live.DeleteTo(t.Context(), 3); err != nil {
				t.Fatal(err)
			}
			pass(wall, elapsed)
			*wall = wall.Add(100 * 24 * time.Hour) // for the engine: the tombstones are gone
			j.clock.wall = func() time.Time { return wall.Add(-100 * 24 * time.Hour) }
			if _, err := engine.SweepExpired(); err != nil {
				t.Fatal(err)
			}
			if l, err := j.List(t.Context(), "a"); err != nil || len(l.Tombstones) != 0 {
				t.Fatalf("tombstones %v, %v; the test needs them gone", l.Tombstones, err)
			}
			if _, err := stale.Append(t.Context(), "late"); !errors.Is(err, ErrWriterConflict) {
				t.Errorf("the stale writer got %v, want ErrWriterConflict", err)
			}
			if _, err := live.Append(t.Context(), "5"); err != nil {
				t.Errorf("the live writer got %v", err)
			}
		})
	}
}

func TestIdleWriterThatIsStillTheLastGoesOn(t *testing.T) {
	j, _, _, elapsed := openIdle(t)
	w, err := j.Recover(t.Context(), "a", RecoverOptions{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	*elapsed += 24 * time.Hour
	result, err := w.Append(t.Context(), "1")
	if err != nil {
		t.Fatal(err)
	}
	if result.Cost.Requests != 3 {
		t.Errorf("%d requests, want 3: the marks, the highest number, the event", result.Cost.Requests)
	}
}

// A purged id leaves marks that expire. A writer that uses the id again puts them anew before it writes, or they would vanish
// under a live entity.
func TestMarksOfAPurgedIDAreRenewedBeforeTheNextWrite(t *testing.T) {
	j, engine, wall, _ := openIdle(t)
	w, err := j.Recover(t.Context(), "a", RecoverOptions{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	many := make([]any, 120)
	for i := range many {
		many[i] = "x"
	}
	if _, err := w.Append(t.Context(), many...); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Purge(t.Context(), PurgeOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Append(t.Context(), "y"); !errors.Is(err, ErrWriterEnded) {
		t.Errorf("a writer that has purged got %v, want ErrWriterEnded", err)
	}
	again, err := j.Recover(t.Context(), "a", RecoverOptions{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if result, err := again.Append(t.Context(), "y"); err != nil || result.First != 122 {
		t.Fatalf("wrote %d, %v; want 122, as the purge took 121", result.First, err)
	}
	*wall = wall.Add(100 * 24 * time.Hour)
	if _, err := engine.SweepExpired(); err != nil {
		t.Fatal(err)
	}
	if b, err := j.Bounds(t.Context(), "a"); err != nil || b != (Bounds{Lowest: 122, Highest: 122}) {
		t.Errorf("bounds %+v, %v; want 122 to 122", b, err)
	}
	seen := 0
	for _, err := range j.Events(t.Context(), "a", Range{}) {
		if err != nil {
			t.Fatal(err)
		}
		seen++
	}
	if seen != 1 {
		t.Errorf("%d events after the purge, want 1", seen)
	}
}

func TestPurgedIDVanishesAfterTheFenceWindow(t *testing.T) {
	j, engine, wall, _ := openIdle(t)
	w, err := j.Recover(t.Context(), "a", RecoverOptions{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Append(t.Context(), "x", "y"); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Purge(t.Context(), PurgeOptions{}); err != nil {
		t.Fatal(err)
	}
	if b, err := j.Bounds(t.Context(), "a"); err != nil || b.Highest != 3 {
		t.Errorf("before: bounds %+v, %v; want highest 3, which the purge took", b, err)
	}
	*wall = wall.Add(100 * 24 * time.Hour)
	if _, err := engine.SweepExpired(); err != nil {
		t.Fatal(err)
	}
	if b, err := j.Bounds(t.Context(), "a"); err != nil || b != (Bounds{}) {
		t.Errorf("after: bounds %+v, %v; want none", b, err)
	}
}
