package main

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"os"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/dynajournal/dynajournal/telemetry"
)

// observer has the metrics and traces of the bank. The hooks of the journal, the accounts and the
// group are methods of its Telemetry.
type observer struct {
	*telemetry.Telemetry

	tracer   trace.Tracer
	registry *prometheus.Registry
	meters   *sdkmetric.MeterProvider
	tracers  *sdktrace.TracerProvider
}

// observe starts metrics, and traces if OTEL_EXPORTER_OTLP_ENDPOINT names a collector.
func observe(ctx context.Context) (*observer, error) {
	options := []sdktrace.TracerProviderOption{sdktrace.WithSampler(sdktrace.NeverSample())}
	if os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" {
		collector, err := otlptracehttp.New(ctx)
		if err != nil {
			return nil, err
		}
		options = []sdktrace.TracerProviderOption{sdktrace.WithBatcher(collector)}
	}
	return newObserver(options...)
}

func newObserver(options ...sdktrace.TracerProviderOption) (*observer, error) {
	o := &observer{registry: prometheus.NewRegistry(), tracers: sdktrace.NewTracerProvider(options...)}
	reader, err := exporter.New(exporter.WithRegisterer(o.registry))
	if err != nil {
		return nil, err
	}
	o.tracer, o.meters = o.tracers.Tracer("bank"), sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	o.Telemetry, err = telemetry.New(telemetry.Options{MeterProvider: o.meters, TracerProvider: o.tracers})
	return o, err
}

// requests returns a handler that measures and traces the requests of another one. A request that
// comes with a trace continues it.
func (o *observer) requests(next http.Handler) http.Handler {
	return otelhttp.NewHandler(next, "bank",
		otelhttp.WithTracerProvider(o.tracers), otelhttp.WithMeterProvider(o.meters),
		otelhttp.WithPropagators(propagation.TraceContext{}),
		otelhttp.WithSpanNameFormatter(func(_ string, r *http.Request) string { return cmp.Or(r.Pattern, r.Method) }))
}

// metrics returns the handler that Prometheus scrapes.
func (o *observer) metrics() http.Handler {
	return promhttp.HandlerFor(o.registry, promhttp.HandlerOpts{})
}

func (o *observer) close(ctx context.Context) error {
	return errors.Join(o.tracers.Shutdown(ctx), o.meters.Shutdown(ctx))
}
