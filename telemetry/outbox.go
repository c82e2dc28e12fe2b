package telemetry

import (
	"context"
	"maps"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/projection/outbox"
)

// Messages returns a function that makes the messages of an outbox with make, and adds the trace in
// the metadata of the event to the headers of each message. So the receiver of a message continues
// the trace of the command. A header that make has set stays.
func (t *Telemetry) Messages(make outbox.MessageFunc) outbox.MessageFunc {
	return func(ctx context.Context, event dynajournal.Event) ([]outbox.Message, error) {
		messages, err := make(ctx, event)
		if err != nil {
			return nil, err
		}
		headers := propagation.MapCarrier{}
		t.propagator.Inject(t.Extract(context.Background(), event), headers)
		if len(headers) == 0 {
			return messages, nil
		}
		for i := range messages {
			all := maps.Clone(map[string]string(headers))
			maps.Copy(all, messages[i].Headers)
			messages[i].Headers = all
		}
		return messages, nil
	}
}

// startSend starts the span of a message.
func (t *Telemetry) startSend(ctx context.Context, m projection.Sending) context.Context {
	attributes := append(projectionAttributes(m.Projection), t.id(m.PersistenceID)...)
	attributes = append(attributes, attribute.String("messaging.operation.type", "send"),
		attribute.String("messaging.message.id", m.MessageID), attribute.Int64("dynajournal.sequence_number", m.SequenceNumber))
	ctx, _ = t.tracer.Start(ctx, "send "+m.Projection, //nolint:spancheck // onSend ends it
		trace.WithSpanKind(trace.SpanKindProducer), trace.WithAttributes(attributes...))
	return ctx
}

// onSend records a message, and ends its span.
func (t *Telemetry) onSend(ctx context.Context, m projection.Sent) {
	reason := projection.Reason(m.Err)
	attributes := append(projectionAttributes(m.Projection), attribute.String("messaging.operation.name", "send"))
	t.record(ctx, sendDuration, m.Duration, reason, attributes...)
	attributes = append(attributes, attribute.String("dynajournal.outbox.result", string(m.Result)))
	t.instruments.counters[sentMessages].Add(ctx, 1, withError(reason, attributes...))
	t.end(ctx, m.Err, reason, func() []attribute.KeyValue {
		return []attribute.KeyValue{attribute.String("dynajournal.outbox.result", string(m.Result))}
	})
}
