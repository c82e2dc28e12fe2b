package systemtest

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/internal/clock"
	"github.com/dynajournal/dynajournal/internal/core"
)

// hands are clocks that the test moves: the machine's two clocks and the engine's.
type hands struct {
	wall, service time.Time
	elapsed       time.Duration
}

// pass advances all clocks.
func (h *hands) pass(d time.Duration) {
	h.wall, h.service, h.elapsed = h.wall.Add(d), h.service.Add(d), h.elapsed+d
}

func (h *hands) clock() *clock.Clock {
	return clock.New(func() time.Time { return h.wall }, func() time.Duration { return h.elapsed })
}

// openIdle opens a native journal whose clocks the test moves.
func openIdle(t *testing.T) (*dynajournal.Journal, *embedded.Engine, *hands) {
	t.Helper()
	now := time.Now()
	h := &hands{wall: now, service: now}
	engine, err := embedded.OpenMemory(embedded.WithClock(func() time.Time { return h.service }))
	if err != nil {
		t.Fatal(err)
	}
	config := dynajournal.Config{AWS: engine.AWSConfig(), FenceWindow: time.Hour}
	core.SetClock(&config, h.clock())
	if err := dynajournal.CreateTables(t.Context(), config, dynajournal.TableOptions{}); err != nil {
		t.Fatal(err)
	}
	j, err := dynajournal.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = j.Close()
		_ = engine.Close()
	})
	return j, engine, h
}

// A stale writer must not write below the low mark. Another writer has written at its numbers and
// deleted the events, and the tombstones have expired. Nothing is stored at the stale writer's key
// any more, so only the check after the pause stops it.
func TestWriterReadsAgainAfterHalfTheFenceWindow(t *testing.T) {
	for name, pass := range map[string]func(h *hands){
		"both clocks moved":                  func(h *hands) { h.pass(3 * time.Hour) },
		"the machine slept":                  func(h *hands) { h.wall = h.wall.Add(3 * time.Hour) },
		"the wall clock was set back":        func(h *hands) { h.elapsed += 3 * time.Hour },
		"just over half of the fence window": func(h *hands) { h.elapsed += 31 * time.Minute },
	} {
		t.Run(name, func(t *testing.T) {
			j, engine, h := openIdle(t)
			recoverIt := func() *dynajournal.Writer {
				w, err := j.Recover(t.Context(), "a", dynajournal.RecoverOptions{}, nil)
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
			pass(h)
			h.service = h.service.Add(100 * 24 * time.Hour) // the tombstones are gone
			if _, err := engine.SweepExpired(); err != nil {
				t.Fatal(err)
			}
			if l, err := j.List(t.Context(), "a"); err != nil || len(l.Tombstones) != 0 {
				t.Fatalf("tombstones %v, %v; the test needs them gone", l.Tombstones, err)
			}
			if _, err := stale.Append(t.Context(), "late"); !errors.Is(err, dynajournal.ErrWriterConflict) {
				t.Errorf("the stale writer got %v, want ErrWriterConflict", err)
			}
			if _, err := live.Append(t.Context(), "5"); err != nil {
				t.Errorf("the live writer got %v", err)
			}
		})
	}
}

func TestIdleWriter_StillTheLast(t *testing.T) {
	j, _, h := openIdle(t)
	w, err := j.Recover(t.Context(), "a", dynajournal.RecoverOptions{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	h.elapsed += 24 * time.Hour
	result, err := w.Append(t.Context(), "1")
	if err != nil {
		t.Fatal(err)
	}
	if result.Cost.Requests != 2 {
		t.Errorf("%d requests, want 2: the low mark and the last event, and the event", result.Cost.Requests)
	}
}

// The numbers of a purged id continue after the purge, even when its tombstones have expired.
func TestPurge_NumbersContinueAfterTombstonesExpire(t *testing.T) {
	j, engine, h := openIdle(t)
	w, err := j.Recover(t.Context(), "a", dynajournal.RecoverOptions{}, nil)
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
	if _, err := w.Purge(t.Context(), dynajournal.PurgeOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Append(t.Context(), "y"); !errors.Is(err, dynajournal.ErrWriterEnded) {
		t.Errorf("a writer that has purged got %v, want ErrWriterEnded", err)
	}
	again, err := j.Recover(t.Context(), "a", dynajournal.RecoverOptions{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if result, err := again.Append(t.Context(), "y"); err != nil || result.First != 122 {
		t.Fatalf("wrote %d, %v; want 122, as the purge took 121", result.First, err)
	}
	h.service = h.service.Add(100 * 24 * time.Hour)
	if _, err := engine.SweepExpired(); err != nil {
		t.Fatal(err)
	}
	if b, err := j.Bounds(t.Context(), "a"); err != nil || b != (dynajournal.Bounds{Lowest: 122, Highest: 122}) {
		t.Errorf("bounds %+v, %v; want 122 to 122", b, err)
	}
	seen := 0
	for _, err := range j.Events(t.Context(), "a", dynajournal.Range{}) {
		if err != nil {
			t.Fatal(err)
		}
		seen++
	}
	if seen != 1 {
		t.Errorf("%d events after the purge, want 1", seen)
	}
}

// Only the low mark of a purged id remains.
func TestLowMarkOfAPurgedIDStays(t *testing.T) {
	j, engine, h := openIdle(t)
	w, err := j.Recover(t.Context(), "a", dynajournal.RecoverOptions{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Append(t.Context(), "x", "y"); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Purge(t.Context(), dynajournal.PurgeOptions{}); err != nil {
		t.Fatal(err)
	}
	h.service = h.service.Add(100 * 24 * time.Hour)
	if _, err := engine.SweepExpired(); err != nil {
		t.Fatal(err)
	}
	if b, err := j.Bounds(t.Context(), "a"); err != nil || b != (dynajournal.Bounds{Lowest: 4, Highest: 3}) {
		t.Errorf("bounds %+v, %v; want the lowest 4 and the highest 3, which the purge took", b, err)
	}
	l, err := j.List(t.Context(), "a")
	if err != nil || !slices.Equal(l.LowMarks, []int64{4}) || len(l.HighMarks)+len(l.SequenceNumbers)+len(l.Tombstones)+len(l.Seals) > 0 {
		t.Errorf("%+v is left (%v), want the low mark 4", l, err)
	}
}
