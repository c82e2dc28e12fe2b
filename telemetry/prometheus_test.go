package telemetry_test

import (
	"context"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/telemetry"
)

// OpenTelemetry's exporter for Prometheus uses the names in the alert rules.
func TestPrometheus_NamesOfMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	reader, err := exporter.New(exporter.WithRegisterer(registry))
	if err != nil {
		t.Fatal(err)
	}
	s := newService(t, telemetry.Options{}, sdkmetric.WithReader(reader))
	handled := make(chan bool, 10)
	group := s.group(func(context.Context, dynajournal.Event) error {
		handled <- true
		return nil
	})
	s.add("anna", 1)
	s.add("anna", 1)
	<-handled
	if _, err := s.of.Observe(s.journal, telemetry.Observed{
		Groups: []*projection.Group{group}, Entities: map[string]func() entity.Stats{"counter": s.counters.Stats},
	}); err != nil {
		t.Fatal(err)
	}
	missing := func() (names []string) {
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]bool{}
		for _, family := range families {
			found[family.GetName()] = true
		}
		for _, m := range telemetry.Metrics {
			name := telemetry.PrometheusName(t, m.Name)
			if !found[name] && !rare[m.Name] && m.Name != "dynajournal.projection.stuck" && m.Name != "dynajournal.entity.drops" {
				names = append(names, name)
			}
		}
		return names
	}
	for deadline := time.Now().Add(time.Minute); len(missing()) > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the exporter has no %q", missing())
		}
	}
}
