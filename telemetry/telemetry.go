package telemetry

import (
	"context"
	"fmt"
	"hash/fnv"
	"strconv"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// scope is the name of the meter and of the tracer.
const scope = "github.com/dynajournal/dynajournal/telemetry"

// IDs selects the form of persistence ids in the attributes of spans. Persistence ids can be
// personal data.
type IDs int

const (
	// IDsHashed shows a hash of 64 bits, so that spans of one persistence id can be found. A hash
	// does not hide a persistence id that can be guessed. Spans have the reasons of errors, and not
	// their texts, which can contain persistence ids.
	IDsHashed IDs = iota
	// IDsOmitted leaves persistence ids and the texts of errors out.
	IDsOmitted
	// IDsFull shows persistence ids and the texts of errors.
	IDsFull
)

// Options configure a Telemetry.
type Options struct {
	// MeterProvider receives metrics. Defaults to the global provider.
	MeterProvider metric.MeterProvider
	// TracerProvider receives spans. Defaults to the global provider.
	TracerProvider trace.TracerProvider
	// Propagator is the form of traces in the metadata of events. Defaults to the W3C trace
	// context.
	Propagator propagation.TextMapPropagator
	// IDs selects the form of persistence ids in spans. Defaults to IDsHashed.
	IDs IDs
	// Name is the attribute db.client.connection.pool.name, which tells several journals of a
	// process apart. Defaults to dynajournal.
	Name string
}

// Telemetry passes metrics and spans to OpenTelemetry. It is safe for concurrent use.
type Telemetry struct {
	tracer      trace.Tracer
	meter       metric.Meter
	propagator  propagation.TextMapPropagator
	ids         IDs
	pool        attribute.KeyValue
	instruments instruments

	requests   cache[requestKey]
	capacities cache[capacityKey]
	operations cache[operationKey]
	kinds      cache[kindKey]
	pools      attributes
}

// New returns a Telemetry. It fails if the meter provider refuses an instrument.
func New(opts Options) (*Telemetry, error) {
	if opts.MeterProvider == nil {
		opts.MeterProvider = otel.GetMeterProvider()
	}
	if opts.TracerProvider == nil {
		opts.TracerProvider = otel.GetTracerProvider()
	}
	if opts.Propagator == nil {
		opts.Propagator = propagation.TraceContext{}
	}
	if opts.Name == "" {
		opts.Name = "dynajournal"
	}
	t := &Telemetry{
		tracer: opts.TracerProvider.Tracer(scope), meter: opts.MeterProvider.Meter(scope),
		propagator: opts.Propagator, ids: opts.IDs, pool: attribute.String("db.client.connection.pool.name", opts.Name),
	}
	var pools cache[string]
	t.pools = pools.of(opts.Name, func() []attribute.KeyValue { return []attribute.KeyValue{t.pool} })
	if err := t.instruments.create(t.meter); err != nil {
		return nil, fmt.Errorf("create instruments: %w", err)
	}
	return t, nil
}

// id returns the attributes of a span for a persistence id.
func (t *Telemetry) id(persistenceID string) []attribute.KeyValue {
	const key = "dynajournal.persistence_id"
	switch t.ids {
	case IDsFull:
		return []attribute.KeyValue{attribute.String(key, persistenceID)}
	case IDsHashed:
		sum := fnv.New64a()
		_, _ = sum.Write([]byte(persistenceID)) // it never fails
		return []attribute.KeyValue{attribute.String(key+".hash", strconv.FormatUint(sum.Sum64(), 16))}
	case IDsOmitted:
	}
	return nil
}

// end ends the span of a context, with the reason of its error if it has failed.
func (t *Telemetry) end(ctx context.Context, err error, reason string, more func() []attribute.KeyValue) {
	span := trace.SpanFromContext(ctx)
	if span.IsRecording() {
		span.SetAttributes(withReason(reason, more()...)...)
		if err != nil {
			span.SetStatus(codes.Error, t.text(err, reason))
		}
	}
	span.End()
}

// text returns the text of an error for a span. The text of an error can have a persistence id in
// it, so only IDsFull shows it.
func (t *Telemetry) text(err error, reason string) string {
	if t.ids == IDsFull {
		return err.Error()
	}
	return reason
}

// withError adds error.type to the attributes of a metric, if there is a reason.
func withError(reason string, values ...attribute.KeyValue) metric.MeasurementOption {
	return metric.WithAttributes(withReason(reason, values...)...)
}

// links returns links to the spans of contexts.
func links(contexts []context.Context) []trace.Link {
	var all []trace.Link
	for _, ctx := range contexts {
		if of := trace.SpanContextFromContext(ctx); of.IsValid() {
			all = append(all, trace.Link{SpanContext: of})
		}
	}
	return all
}
