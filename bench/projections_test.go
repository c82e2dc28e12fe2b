package bench_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/bench"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/internal/testsize"
)

// costsOfHandling has, for each way of handling in projections-cost, the requests, read units and
// write units of a handled event, followed by the same numbers of the base.
var costsOfHandling = map[string][2][3]float64{
	"at-least-once-image-1":   {{2, 0, 2}},
	"at-least-once-image-100": {{0.02, 0, 0.02}},
	"at-least-once-keys-1":    {{4, 3, 2}},
	"at-least-once-keys-100":  {{0.07, 0.23, 0.02}},
	"transactional-image-1":   {{1, 0, 4}, {1, 0, 2}},
	"transactional-image-100": {{1, 0, 4}, {1, 0, 2}},
	"transactional-keys-1":    {{3, 3, 4}, {1, 0, 2}},
	"transactional-keys-100":  {{1.05, 0.23, 4}, {1, 0, 2}},
}

// counts returns the exact figures: value and base.
func counts() map[string][2]float64 {
	all := map[string][2]float64{
		// Projections cost the writer nothing. The high mark at event 100 adds the last percent.
		"projections-cost/writer/requests":    {1.01, 1.01},
		"projections-cost/writer/write-units": {1.02, 1.02},
	}
	maps.Copy(all, map[string][2]float64{
		// 90 events of a persistence id, compared with a live query of the id and with an index of
		// slices. The index shows 15 of its events 3 minutes after they were written.
		"projections-beside/requests":                      {2. / 90, 2. / 90},
		"projections-beside/read-units":                    {0, 17. / 90},
		"projections-beside/write-units":                   {2. / 90, 0},
		"projections-beside/written-write-units-to-slices": {1, 2},
		"projections-beside/requests-to-slices":            {2. / 90, 2. / 90},
		"projections-beside/read-units-to-slices":          {0, 15. / 90},
		"projections-beside/missed-to-slices":              {0, 15},
		// A minute, compared with live queries of 100 persistence ids.
		"projections-idle/journal-read-units":   {0, 2000},
		"projections-idle/requests":             {74, 2000},
		"projections-idle/read-units":           {57, 2000},
		"projections-idle/write-units":          {26, 0},
		"projections-idle/requests-to-slices":   {74, 20_480},
		"projections-idle/read-units-to-slices": {57, 10_240},
	})
	for name, cost := range costsOfHandling {
		for i, what := range []string{"requests", "read-units", "write-units"} {
			all["projections-cost/"+name+"/"+what] = [2]float64{cost[0][i], cost[1][i]}
		}
	}
	return all
}

// TestCostsOfProjections counts the cost of projections on the engine.
func TestCostsOfProjections(t *testing.T) {
	testsize.NeedsLong(t, "it measures three workloads")
	synctest.Test(t, func(t *testing.T) {
		engine, err := embedded.OpenMemory(embedded.WithSweepInterval(0))
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := engine.Close(); err != nil {
				t.Error(err)
			}
		}()
		found := map[string]bench.Figure{}
		err = bench.Run(t.Context(), bench.Options{
			Config: dynajournal.Config{AWS: engine.AWSConfig()},
			Only:   []string{"projections-cost", "projections-idle", "projections-beside"},
			Report: func(f bench.Figure) error {
				found[f.Name] = f
				return nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		checkCounts(t, found, 0)
		if got := tables(t, engine.AWSConfig()); got != "" {
			t.Errorf("tables are left: %s", got)
		}
	})
}

// checkCounts checks the counts. The counts of an idle minute may differ by a fraction, idle.
func checkCounts(t *testing.T, found map[string]bench.Figure, idle float64) {
	t.Helper()
	for name, want := range counts() {
		tolerance := 1e-9 // for rounding errors
		if strings.HasPrefix(name, "projections-idle/") {
			tolerance = idle
		}
		got, reported := found[name]
		if !reported || math.Abs(got.Value-want[0]) > tolerance*max(1, want[0]) || math.Abs(got.Base-want[1]) > tolerance*max(1, want[1]) {
			t.Errorf("%s: %+v (reported: %v), want %v", name, got, reported, want)
		}
	}
}

// TestProjectionFigures_EqualCounts compares the counts in the repository with the current counts.
// The counts of an idle minute may differ by the renewal of a lease.
func TestProjectionFigures_EqualCounts(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("figures/projections.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bench.Figure{}
	for line := range bytes.Lines(data) {
		var f bench.Figure
		if err := json.Unmarshal(line, &f); err != nil {
			t.Fatal(err)
		}
		found[f.Name] = f
	}
	const renewal = 0.1
	checkCounts(t, found, renewal)
}
