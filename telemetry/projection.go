package telemetry

import (
	"context"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/dynajournal/dynajournal/projection"
)

// ProjectionHook returns the hook for projection.Config.Hooks.
func (t *Telemetry) ProjectionHook() projection.Hook {
	return projection.Hook{
		StartHandle: func(ctx context.Context, h projection.Handling) context.Context {
			attributes := append(projectionAttributes(h.Projection), t.id(h.PersistenceID)...)
			attributes = append(attributes, attribute.Int("messaging.batch.message_count", h.Events),
				attribute.Int64("dynajournal.sequence_number", h.First))
			// Each call is a trace of its own. The handler links it to the command: see Extract.
			ctx, _ = t.tracer.Start(ctx, "process "+h.Projection, //nolint:spancheck // onHandle ends it
				trace.WithNewRoot(), trace.WithSpanKind(trace.SpanKindConsumer),
				trace.WithAttributes(attributes...))
			return ctx
		},
		OnHandle: t.onHandle,
		OnStuck: func(ctx context.Context, failure *projection.HandlerError) {
			t.instruments.counters[becameStuck].Add(ctx, 1, withError("", projectionAttributes(failure.Projection)...))
		},
	}
}

// projectionAttributes are the attributes of a projection by the semantic conventions of messaging.
func projectionAttributes(name string) []attribute.KeyValue {
	group, _, _ := strings.Cut(name, "/")
	return []attribute.KeyValue{
		attribute.String("messaging.system", "dynajournal"), attribute.String("messaging.consumer.group.name", group),
		attribute.String("messaging.destination.name", name),
	}
}

func (t *Telemetry) onHandle(ctx context.Context, h projection.Handled) {
	reason, attributes := projection.Reason(h.Err), projectionAttributes(h.Projection)
	t.record(ctx, processDuration, h.Duration, reason, attributes...)
	t.instruments.counters[consumedMessages].Add(ctx, float64(h.Events), withError(reason, attributes...))
	if h.Age > 0 && h.Err == nil {
		t.record(ctx, eventAge, h.Age, "", attributes...)
	}
	t.end(ctx, h.Err, reason, attribute.Bool("dynajournal.delayed", h.Delayed))
}
