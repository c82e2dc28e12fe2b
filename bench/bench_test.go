package bench_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"go.uber.org/goleak"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/bench"
	"github.com/dynajournal/dynajournal/internal/testsize"
)

// figures measures workloads quickly on an engine, and returns the reported figures.
func figures(
	ctx context.Context, t *testing.T, config dynajournal.Config, only ...string,
) (map[string]bench.Figure, error) {
	t.Helper()
	found := map[string]bench.Figure{}
	err := bench.Run(ctx, bench.Options{Config: config, Quick: true, Only: only, Events: 1000, Entities: 100, Report: func(f bench.Figure) error {
		found[f.Name] = f
		return nil
	}})
	return found, err
}

// tables returns the names of all tables of an engine.
func tables(t *testing.T, config aws.Config) string {
	t.Helper()
	out, err := dynamodb.NewFromConfig(config).ListTables(t.Context(), &dynamodb.ListTablesInput{})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(out.TableNames, " ")
}

func TestFiguresHaveABase(t *testing.T) {
	t.Cleanup(func() { goleak.VerifyNone(t) }) // after the engine is closed
	if testsize.Long {
		checkFigures(t, func(inner aws.HTTPClient) aws.HTTPClient { return inner })
		return
	}
	// A round takes the same time, but in the bubble's clock, which only responses advance.
	synctest.Test(t, func(t *testing.T) {
		checkFigures(t, func(inner aws.HTTPClient) aws.HTTPClient {
			return client(func(r *http.Request) (*http.Response, error) {
				// The latency of a remote service, in the bubble's clock.
				time.Sleep(10 * time.Millisecond)
				return inner.Do(r)
			})
		})
	})
}

// checkFigures measures some workloads on an engine. change wraps the engine's client.
func checkFigures(t *testing.T, change func(aws.HTTPClient) aws.HTTPClient) {
	t.Helper()
	engine := openTable(t, memory)
	config := dynajournal.Config{AWS: engine.AWSConfig()}
	config.AWS.HTTPClient = change(config.AWS.HTTPClient)
	workloads := []string{"write-1", "write-batch", "recover-5", "recover-snapshot", "scale"}
	if testsize.Long {
		workloads = append(workloads, "write-102")
	}
	found, err := figures(t.Context(), t, config, workloads...)
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range found {
		if f.Name != name || f.Unit == "" || f.Value <= 0 || f.Base <= 0 || f.Ratio != f.Value/f.Base {
			t.Errorf("%+v", f)
		}
	}
	// Counted figures are exact.
	for name, want := range map[string][2]float64{
		"recover-5/requests":             {2, 1},
		"recover-5/read-units":           {3, 1},
		"recover-snapshot-5/requests":    {3, 2},
		"recover-snapshot-5/read-units":  {4, 2},
		"scale-events/1000/write-units":  {1, 1},
		"scale-entities/100/write-units": {1, 1},
	} {
		got, reported := found[name]
		// One event in 100 writes a high mark.
		if !reported || got.Value < want[0] || got.Value > want[0]*1.02 || got.Base != want[1] {
			t.Errorf("%s: %+v (reported: %v), want about %v", name, got, reported, want)
		}
	}
	for _, name := range []string{"write-1/p50", "write-1/cpu", "write-batch-10/p50",
		"write-batch-10/p50-to-serial", "write-1024/events", "write-1024/events-ungrouped", "write-1024/p99", "recover-5/p50"} {
		if _, reported := found[name]; !reported && (testsize.Long || !strings.HasPrefix(name, "write-1024")) {
			t.Errorf("%s is not reported", name)
		}
	}
	if got := tables(t, engine.AWSConfig()); got != tableName {
		t.Errorf("tables %q are left, want %q alone", got, tableName)
	}
}

func TestTablesAreDeletedAfterFailures(t *testing.T) {
	testsize.NeedsLong(t, "it measures for a second")
	engine := openTable(t, memory)
	config := dynajournal.Config{AWS: engine.AWSConfig()}
	full := errors.New("no space left")
	for name, end := range map[string]struct{ report, want error }{
		"the report fails":  {full, full},
		"it is interrupted": {nil, context.Canceled},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		err := bench.Run(ctx, bench.Options{Config: config, Quick: true, Only: []string{"recover-new", "recover-5"}, Report: func(bench.Figure) error {
			if end.report == nil {
				cancel()
			}
			return end.report
		}})
		cancel()
		if !errors.Is(err, end.want) {
			t.Errorf("%s: it ended with %v, want %v", name, err, end.want)
		}
		if got := tables(t, engine.AWSConfig()); got != tableName {
			t.Errorf("%s: tables %q are left, want %q alone", name, got, tableName)
		}
	}
}

func TestOnlyKnownWorkloads(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"wirte", ""} {
		if _, err := figures(t.Context(), t, dynajournal.Config{}, "write-1",
			name); !errors.Is(err, bench.ErrUnknownWorkload) {
			t.Errorf("workload %q: error %v, want %v", name, err, bench.ErrUnknownWorkload)
		}
	}
}

func TestOnlyTheWorkloadOfThatName(t *testing.T) {
	testsize.NeedsLong(t, "it measures for a second")
	t.Parallel()
	engine := openTable(t, memory)
	found, err := figures(t.Context(), t, dynajournal.Config{AWS: engine.AWSConfig()}, "recover-5")
	if err != nil {
		t.Fatal(err)
	}
	for name := range found {
		if !strings.HasPrefix(name, "recover-5/") {
			t.Errorf("%s is measured", name)
		}
	}
	if len(found) == 0 {
		t.Error("nothing is measured")
	}
}

func TestWorkloadsAreNamed(t *testing.T) {
	t.Parallel()
	want := "write-1 write-64 write-256 write-1024 write-batch-10 replay-10000 replay-64x1000 recover-new recover-5 recover-snapshot-5 recover-250 " +
		"recover-250-deleted-1000 layouts scale-events scale-entities entities-hot entities-contended entities-idle entities-many entities-memory " +
		"hooks-write-64 hooks-entities " +
		"projections-cost projections-idle projections-beside projections-speed projections-once projections-lag projections-sweep " +
		"network-closed-1 network-closed-64 network-closed-256 network-closed-1024 network-open-100 network-open-500 " +
		"network-open-1000 network-open-2000 network-open-4000 network-open-8000 network-cold network-recover-1000 network-entities"
	if got := strings.Join(bench.Workloads(), " "); got != want {
		t.Errorf("workloads %q, want %q", got, want)
	}
}
