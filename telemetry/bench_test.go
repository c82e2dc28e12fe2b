package telemetry_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/serialization"
	"github.com/dynajournal/dynajournal/telemetry"
)

// BenchmarkCommand runs commands of many entities, on an engine in memory: without telemetry, with
// metrics, and with metrics and spans of which one in a hundred is sampled.
func BenchmarkCommand(b *testing.B) {
	meters := func() *sdkmetric.MeterProvider {
		return sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))
	}
	for name, of := range map[string]func() *telemetry.Options{
		"none": func() *telemetry.Options { return nil },
		"metrics": func() *telemetry.Options {
			return &telemetry.Options{MeterProvider: meters(), TracerProvider: noop.NewTracerProvider()}
		},
		"spans": func() *telemetry.Options {
			tracers := sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.TraceIDRatioBased(0.01)))
			return &telemetry.Options{MeterProvider: meters(), TracerProvider: tracers}
		},
	} {
		b.Run(name, func(b *testing.B) { benchmarkCommand(b, of()) })
	}
}

func benchmarkCommand(b *testing.B, opts *telemetry.Options) {
	b.Helper()
	engine, err := embedded.OpenMemory()
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = engine.Close() }()
	events := serialization.NewRegistry()
	if err := serialization.JSON[opened](events, "opened"); err != nil {
		b.Fatal(err)
	}
	config, options := dynajournal.Config{AWS: engine.AWSConfig(), Serialization: events}, entity.Options{}
	if opts != nil {
		of, err := telemetry.New(*opts)
		if err != nil {
			b.Fatal(err)
		}
		config.Hooks, options.Hooks = []dynajournal.Hook{of.JournalHook()}, []entity.Hook{of.EntityHook()}
		options.Metadata = of.Metadata
	}
	if err := dynajournal.CreateTables(b.Context(), config, dynajournal.TableOptions{}); err != nil {
		b.Fatal(err)
	}
	journal, err := dynajournal.Open(b.Context(), config)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = journal.Close() }()
	kind := counterType
	kind.Snapshots = entity.Snapshots{}
	counters, err := entity.Open(journal, kind, options)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = counters.Close(context.Background()) }()
	var next atomic.Int64
	b.SetParallelism(32)
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		id := fmt.Sprint("counter-", next.Add(1))
		for pb.Next() {
			_, err := counters.Update(context.Background(), id, func(tx *entity.Tx[int64, opened]) error {
				tx.Record(opened{1})
				return nil
			})
			if err != nil {
				b.Error(err)
				return
			}
		}
	})
}
