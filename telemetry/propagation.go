package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/dynajournal/dynajournal"
)

// Metadata returns the trace of a command for the metadata of its events, if the trace is sampled:
// 55 bytes for each event with the W3C trace context. It is meant for entity.Options.Metadata.
func (t *Telemetry) Metadata(ctx context.Context) map[string]string {
	if !trace.SpanContextFromContext(ctx).IsSampled() {
		return nil
	}
	metadata := propagation.MapCarrier{}
	t.propagator.Inject(ctx, metadata)
	return metadata
}

// Extract returns ctx with the trace in the metadata of an event, as a remote span. A handler that
// starts a span with the returned context continues the trace of the command. To link to the
// command instead, pass the span of the returned context to trace.WithLinks.
func (t *Telemetry) Extract(ctx context.Context, event dynajournal.Event) context.Context {
	return t.propagator.Extract(ctx, propagation.MapCarrier(event.Metadata))
}
