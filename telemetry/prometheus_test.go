package telemetry_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/telemetry"
)

// newExportedService returns a service whose metrics are in a registry of Prometheus, with a group
// of projections.
func newExportedService(t *testing.T) (*service, *prometheus.Registry) {
	t.Helper()
	registry := prometheus.NewRegistry()
	reader, err := exporter.New(exporter.WithRegisterer(registry))
	if err != nil {
		t.Fatal(err)
	}
	s := newService(t, telemetry.Options{}, sdkmetric.WithReader(reader))
	s.observe(s.group(func(context.Context, dynajournal.Event) error { return nil }, nil))
	return s, registry
}

// OpenTelemetry's exporter for Prometheus uses the names in the alert rules.
func TestPrometheus_NamesOfMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, registry := newExportedService(t)
		s.add("anna", 1)
		s.add("anna", 1)
		time.Sleep(time.Minute) // in the bubble
		synctest.Wait()
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
				t.Errorf("the exporter has no %s", name)
			}
		}
	})
}
