package bench

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/internal/testsize"
)

// layoutCosts has the cost of each work of docs/formats.md in each layout.
var layoutCosts = map[string]map[string]dynajournal.Cost{
	"native": costs([3]float64{1010, 0, 1011}, [3]float64{2, 4, 0}, [3]float64{12, 163, 0},
		[3]float64{44, 2, 1004}),
	"shared": costs([3]float64{1010, 0, 2020}, [3]float64{2, 22, 0}, [3]float64{12, 181, 0},
		[3]float64{46, 21, 1003}),
	"pay": costs([3]float64{1010, 0, 1010}, [3]float64{2, 22, 0}, [3]float64{12, 171, 0},
		[3]float64{46, 21, 1002}),
	"hash-key": costs([3]float64{2000, 0, 2000}, [3]float64{12, 1011, 0}, [3]float64{21, 2001, 0},
		[3]float64{1060, 2000, 2000}),
	"hash-key-unprefixed": costs([3]float64{2000, 0, 2000}, [3]float64{12, 1011, 0}, [3]float64{21, 2001, 0},
		[3]float64{1060, 2000, 2000}),
	"naive": costs([3]float64{2000, 1000, 1000}, [3]float64{2, 3, 0}, [3]float64{2, 153, 0},
		[3]float64{41, 152, 999}),
	"naive-processor": costs([3]float64{2000, 1000, 1000}, [3]float64{2, 3, 0}, [3]float64{2, 157, 0},
		[3]float64{43, 157, 1000}),
}

// costs returns the cost of each work. The arguments are requests, read units and write units, in
// the order of layoutWorks.
func costs(works ...[3]float64) map[string]dynajournal.Cost {
	all := map[string]dynajournal.Cost{}
	for i, c := range works {
		all[layoutWorks[i]] = dynajournal.Cost{Requests: int(c[0]), ReadUnits: c[1], WriteUnits: c[2]}
	}
	return all
}

// TestCostsOfLayouts counts the cost of each layout on the engine.
func TestCostsOfLayouts(t *testing.T) {
	t.Parallel()
	testsize.NeedsLong(t, "it measures each layout")
	for _, l := range storages() {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			engine, err := embedded.OpenMemory()
			if err != nil {
				t.Fatal(err)
			}
			config := dynajournal.Config{AWS: engine.AWSConfig(), JournalTable: "journal"}
			if err := l.create(t.Context(), config); err != nil {
				t.Fatal(err)
			}
			j, err := l.open(t.Context(), config)
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := errors.Join(j.Close(), engine.Close()); err != nil {
					t.Error(err)
				}
			}()
			done := 0
			if err := l.work(t.Context(), j, "entity-0", func(work string, do func() error) error {
				before := counted(engine)
				if err := do(); err != nil {
					return err
				}
				after := counted(engine)
				got := dynajournal.Cost{
					Requests: after.Requests - before.Requests, ReadUnits: after.ReadUnits - before.ReadUnits, WriteUnits: after.WriteUnits - before.WriteUnits,
				}
				if want := layoutCosts[l.name][work]; got != want {
					t.Errorf("%s: %+v, want %+v", work, got, want)
				}
				done++
				return nil
			}); err != nil || done != len(layoutWorks) {
				t.Errorf("%d works were done, want %d: %v", done, len(layoutWorks), err)
			}
		})
	}
}

// counted returns the total cost that an engine has counted.
func counted(engine *embedded.Engine) dynajournal.Cost {
	var sum dynajournal.Cost
	counters := engine.Counters()
	for _, n := range counters.Requests {
		sum.Requests += int(n)
	}
	for _, u := range counters.Units {
		sum.ReadUnits += u.Read
		sum.WriteUnits += u.Write
	}
	return sum
}

// TestLayoutsAreComparedWithTheNativeOne runs the workload. The counts of the journals' hooks must
// equal the engine's. The check for a JVM after a pause is off, because a busy machine can cause a
// pause.
func TestLayoutsAreComparedWithTheNativeOne(t *testing.T) {
	testsize.NeedsLong(t, "it writes some ten thousand events")
	if testing.Short() {
		t.Skip("skipped: it writes some ten thousand events")
	}
	t.Parallel()
	engine, err := embedded.OpenMemory()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	}()
	found := map[string]Figure{}
	measure := func(ctx context.Context) error {
		config := dynajournal.Config{AWS: engine.AWSConfig(), HandoverTime: -1}
		return Run(ctx, Options{Config: config, Quick: true, Only: []string{layoutWorkload}, Report: func(f Figure) error {
			found[f.Name] = f
			return nil
		}})
	}
	if err := measure(t.Context()); err != nil {
		t.Fatal(err)
	}
	checkLayoutFigures(t, found)
	out, err := dynamodb.NewFromConfig(engine.AWSConfig()).ListTables(t.Context(), &dynamodb.ListTablesInput{})
	if err != nil || len(out.TableNames) != 0 {
		t.Errorf("tables are left: %v, %v", out.TableNames, err)
	}
}

// TestLayoutFigures_EqualCounts compares the figures of docs/formats.md with the current counts.
func TestLayoutFigures_EqualCounts(t *testing.T) {
	t.Parallel()
	found := map[string]Figure{}
	for _, f := range readFigures(t, "figures/layouts.jsonl") {
		found[f.Name] = f
	}
	checkLayoutFigures(t, found)
}

func checkLayoutFigures(t *testing.T, found map[string]Figure) {
	t.Helper()
	for layout, works := range layoutCosts {
		for work, want := range works {
			base := layoutCosts[storages()[0].name][work]
			for what, values := range map[string][2]float64{
				"requests":    {float64(want.Requests), float64(base.Requests)},
				"read-units":  {want.ReadUnits, base.ReadUnits},
				"write-units": {want.WriteUnits, base.WriteUnits},
			} {
				if f := found[strings.Join([]string{layoutWorkload, layout, work, what},
					"/")]; f.Value != values[0] || f.Base != values[1] {
					t.Errorf("%s, %s: %+v, want %v", layout, work, f, values)
				}
			}
			if f := found[strings.Join([]string{layoutWorkload, layout, work, "time"}, "/")]; f.Value <= 0 ||
				f.Base <= 0 {
				t.Errorf("%s, %s: %+v", layout, work, f)
			}
		}
	}
}
