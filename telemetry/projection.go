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
		StartSend: t.startSend,
		OnSend:    t.onSend,
		OnClaim: func(ctx context.Context, c projection.Claim) {
			change := attribute.String("dynajournal.claim.change", string(c.Change))
			t.instruments.counters[claims].Add(ctx, 1, withError("", append(projectionAttributes(c.Projection), change)...))
		},
		OnLease: func(ctx context.Context, l projection.Lease) {
			change := attribute.String("dynajournal.lease.change", string(l.Change))
			t.instruments.counters[leases].Add(ctx, 1, withError("", append(groupAttributes(l.Group), change)...))
		},
		OnStreamRead: func(ctx context.Context, r projection.StreamRead) {
			t.record(ctx, streamDuration, r.Duration, projection.Reason(r.Err), groupAttributes(r.Group)...)
			t.instruments.counters[streamRecords].Add(ctx, float64(r.Records), withError("", groupAttributes(r.Group)...))
		},
		OnSweep: t.onSweep,
	}
}

// groupAttributes are the attributes of a group by the semantic conventions of messaging. name is
// the name of the group or of one of its projections.
func groupAttributes(name string) []attribute.KeyValue {
	group, _, _ := strings.Cut(name, "/")
	return []attribute.KeyValue{
		attribute.String("messaging.system", "dynajournal"), attribute.String("messaging.consumer.group.name", group),
	}
}

// projectionAttributes are the attributes of a projection by the semantic conventions of messaging.
func projectionAttributes(name string) []attribute.KeyValue {
	return append(groupAttributes(name), attribute.String("messaging.destination.name", name))
}

func (t *Telemetry) onHandle(ctx context.Context, h projection.Handled) {
	reason, attributes := projection.Reason(h.Err), projectionAttributes(h.Projection)
	t.record(ctx, processDuration, h.Duration, reason, attributes...)
	t.instruments.counters[consumedMessages].Add(ctx, float64(h.Events), withError(reason, attributes...))
	if h.Age > 0 && h.Err == nil {
		t.record(ctx, eventAge, h.Age, "", attributes...)
	}
	for name, is := range map[string]bool{gaps: h.Gap, purges: h.Purge} {
		if is && h.Err == nil {
			t.instruments.counters[name].Add(ctx, 1, withError("", attributes...))
		}
	}
	t.end(ctx, h.Err, reason, func() []attribute.KeyValue {
		return []attribute.KeyValue{attribute.Bool("dynajournal.delayed", h.Delayed)}
	})
}

// onSweep records a sweep that has ended.
func (t *Telemetry) onSweep(ctx context.Context, c projection.SweepCount) {
	if !c.Over {
		return
	}
	attributes, result := groupAttributes(c.Projections[0]), "stopped"
	if c.Done {
		result = "done"
	}
	counters := t.instruments.counters
	counters[sweeps].Add(ctx, 1, withError("", append(attributes, attribute.String("dynajournal.sweep.result", result))...))
	counters[sweepIDs].Add(ctx, float64(c.IDs), withError("", attributes...))
	counters[sweepEvents].Add(ctx, float64(c.Events), withError("", attributes...))
}
