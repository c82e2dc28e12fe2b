package projection_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/projection/operator"
	"github.com/dynajournal/dynajournal/projection/outbox"
)

// old writes persistence ids with histories of different lengths: around one page and two pages,
// with deleted first events, and with all events deleted.
func old(b *bundle, ids int) {
	b.Helper()
	for i := range ids {
		n := 1
		if i%10 == 0 {
			n = 1 + i/10
		}
		events := make([]any, n)
		for k := range events {
			events[k] = strings.Repeat("x", i%7)
		}
		w, err := b.journal.Recover(b.Context(), fmt.Sprintf("i%04d", i), dynajournal.RecoverOptions{}, nil)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := w.Append(b.Context(), events...); err != nil {
			b.Fatal(err)
		}
		if deleted := int64(n * (i % 3) / 2); i%10 == 0 && deleted > 0 {
			if _, err := w.DeleteTo(b.Context(), deleted); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// countSweep runs a group until its first sweep is done, and returns the count of the sweep.
func countSweep(t *testing.T, b *bundle, config projection.Config, all ...projection.Projection) projection.SweepCount {
	t.Helper()
	over := make(chan projection.SweepCount, 1)
	config.Hooks = append(config.Hooks, projection.Hook{OnSweep: func(_ context.Context, c projection.SweepCount) {
		if c.Over {
			over <- c
		}
	}})
	stop := start(t, group(t, b.journal, config, all...))
	defer stop()
	return comes(t, "the end of the sweep", over)
}

// An estimate that reads all persistence ids is exactly the count of the sweep.
func TestEstimateSweep_EqualsSweepCount(t *testing.T) {
	t.Parallel()
	const ids = 210
	for name, of := range map[string]func(*effects) []projection.Projection{
		"at least once": func(*effects) []projection.Projection {
			return []projection.Projection{projection.AtLeastOnce("all", &recorder{})}
		},
		"two with filters": func(*effects) []projection.Projection {
			return []projection.Projection{
				projection.AtLeastOnce("some", &recorder{}, projection.OnlyIDs("i00", "i019")),
				projection.AtLeastOnce("none", &recorder{}, projection.OnlyTags("none")),
			}
		},
		"transactional": func(e *effects) []projection.Projection {
			return []projection.Projection{projection.Transactional("all", e)}
		},
		"outbox": func(*effects) []projection.Projection {
			send := func(context.Context, outbox.Message) error { return nil }
			return []projection.Projection{outbox.New("all", outbox.TargetFunc(send), oneEach)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			e := &effects{bundle: b}
			e.table()
			old(b, ids)
			config := fast()
			config.BatchSize = 10
			stated, err := operator.EstimateSweep(t.Context(), group(t, b.journal, config, of(e)...), operator.EstimateOptions{Sample: ids})
			if err != nil {
				t.Fatal(err)
			}
			counted := countSweep(t, b, config, of(e)...)
			if name == "transactional" { // the items of the handler, one for each event
				stated.Cost.WriteUnits += 2 * float64(stated.Events)
			}
			if stated.IDs != counted.IDs || stated.Events != counted.Events || stated.Cost != counted.Cost ||
				counted.Events == 0 || !counted.Done || stated.EventsMargin != 0 || stated.CostMargin != (dynajournal.Cost{}) {
				t.Errorf("stated %+v, counted %+v", stated, counted)
			}
		})
	}
}

// An estimate by a sample states its margin of error, and costs a part of the sweep.
func TestEstimateSweep_SampleMargins(t *testing.T) {
	t.Parallel()
	b := setup(t)
	// No persistence id has a large part of the events: margins account only for the sample.
	for i := range 210 {
		events := make([]any, 1+i%25)
		for k := range events {
			events[k] = "x"
		}
		if _, err := b.write(fmt.Sprintf("i%04d", i)).Append(t.Context(), events...); err != nil {
			t.Fatal(err)
		}
	}
	config := fast()
	config.BatchSize = 10
	all := group(t, b.journal, config, projection.AtLeastOnce("all", &recorder{}))
	exact, err := operator.EstimateSweep(t.Context(), all, operator.EstimateOptions{Sample: 1000})
	if err != nil {
		t.Fatal(err)
	}
	listed := 0
	stated, err := operator.EstimateSweep(t.Context(), all, operator.EstimateOptions{
		Sample: 100, Progress: func(ids int) { listed = ids },
	})
	if err != nil {
		t.Fatal(err)
	}
	const far = 3 // six standard errors
	if off := math.Abs(float64(stated.Events - exact.Events)); off > far*float64(stated.EventsMargin) || stated.EventsMargin == 0 {
		t.Errorf("stated %+v, exact %+v", stated, exact)
	}
	if off := math.Abs(stated.Cost.ReadUnits - exact.Cost.ReadUnits); off > far*stated.CostMargin.ReadUnits {
		t.Errorf("stated %+v, exact %+v", stated, exact)
	}
	if stated.IDs != 210 || listed != 210 || stated.Sampled != 100 || stated.Used.ReadUnits >= exact.Used.ReadUnits {
		t.Errorf("stated %+v, exact %+v, listed %d", stated, exact, listed)
	}
}

// Only a part of a persistence id with very many events is read.
func TestEstimateSweep_ReadsBoundedPart(t *testing.T) {
	t.Parallel()
	b := setup(t)
	events := make([]any, 90)
	for i := range events {
		events[i] = "x"
	}
	b.write("long", "x")
	w := b.write("long")
	if _, err := w.Append(t.Context(), events...); err != nil {
		t.Fatal(err)
	}
	config := fast()
	config.BatchSize = 2
	all := group(t, b.journal, config, projection.AtLeastOnce("all", &recorder{}))
	stated, err := operator.EstimateSweep(t.Context(), all, operator.EstimateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	counted := countSweep(t, b, config, projection.AtLeastOnce("all", &recorder{}))
	if stated.Events != 91 || math.Abs(float64(stated.Cost.Requests-counted.Cost.Requests)) > 0.1*float64(counted.Cost.Requests) ||
		stated.Used.Requests > counted.Cost.Requests/2 {
		t.Errorf("stated %+v, counted %+v", stated, counted)
	}
}

func TestEstimateSweep_EmptyJournal(t *testing.T) {
	t.Parallel()
	b := setup(t)
	config := fast()
	config.Source = projection.Sweep(projection.SweepOptions{PerSecond: 50})
	all := group(t, b.journal, config, projection.AtLeastOnce("all", &recorder{}))
	stated, err := operator.EstimateSweep(t.Context(), all, operator.EstimateOptions{})
	if err != nil || stated.IDs != 0 || stated.Events != 0 || stated.Least != 0 || stated.CostMargin.Requests != 0 {
		t.Errorf("%+v, %v", stated, err)
	}
	b.write("a", "x")
	stated, err = operator.EstimateSweep(t.Context(), all, operator.EstimateOptions{Sample: 1})
	if err != nil || stated.IDs != 1 || stated.Events != 1 || stated.Least != 20*time.Millisecond {
		t.Errorf("%+v, %v", stated, err)
	}
	for _, sample := range []int{-1, 100_001} {
		_, err := operator.EstimateSweep(t.Context(), all, operator.EstimateOptions{Sample: sample})
		wantError(t, "sample", err, dynajournal.ErrInvalidArgument)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = operator.EstimateSweep(ctx, all, operator.EstimateOptions{})
	wantError(t, "ended", err, context.Canceled)
}

// In a journal that is shared with a JVM an estimate is also the count of the sweep, if no number
// is missing.
func TestEstimateSweep_SharedJournal(t *testing.T) {
	t.Parallel()
	s := setupShared(t)
	for i := range 5 {
		for seq := range int64(i + 1) {
			s.put(fmt.Sprint("id", i), seq+1, "w")
		}
	}
	config := fast()
	config.BatchSize = 3
	all := group(t, s.journal, config, projection.AtLeastOnce("all", &recorder{}))
	stated, err := operator.EstimateSweep(t.Context(), all, operator.EstimateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	counted := countSweep(t, s.bundle, config, projection.AtLeastOnce("all", &recorder{}))
	if stated.Events != 15 || stated.Events != counted.Events || stated.Cost != counted.Cost {
		t.Errorf("stated %+v, counted %+v", stated, counted)
	}
}
