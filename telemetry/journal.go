package telemetry

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/dynajournal/dynajournal"
)

// system is the attribute of all metrics and spans of requests.
var system = attribute.String("db.system.name", "aws.dynamodb")

// JournalHook returns the hook for dynajournal.Config.Hooks.
func (t *Telemetry) JournalHook() dynajournal.Hook {
	i := &t.instruments
	return dynajournal.Hook{
		StartRequest: t.startRequest,
		OnRequest:    t.onRequest,
		OnRequestEnd: t.onRequestEnd,
		OnOperation:  t.onOperation,
		OnSeal: func(ctx context.Context, _ dynajournal.Seal) {
			i.counters[numbersSealed].Add(ctx, 1)
		},
		OnHole: func(ctx context.Context, hole dynajournal.Hole) {
			i.counters[holes].Add(ctx, 1, withError("", attribute.Bool("dynajournal.hole.passed", hole.Passed)))
		},
		OnLoss: func(ctx context.Context, loss dynajournal.Loss) {
			i.counters[losses].Add(ctx, 1, withError(dynajournal.Reason(loss.Err)))
		},
	}
}

// startRequest starts the span of a request.
func (t *Telemetry) startRequest(ctx context.Context, r dynajournal.RequestStart) context.Context {
	attributes := append(requestAttributes(r.Operation, r.Table), attribute.String("dynajournal.purpose", string(r.Purpose)))
	if r.Index != "" {
		attributes = append(attributes, attribute.String("aws.dynamodb.index_name", r.Index))
	}
	if r.Statements > 0 {
		attributes = append(attributes, attribute.Int("db.operation.batch.size", r.Statements))
	}
	ctx, _ = t.tracer.Start(ctx, r.Operation+" "+r.Table, //nolint:spancheck // onRequestEnd ends it
		trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(attributes...), trace.WithLinks(links(r.Writers)...))
	return ctx
}

// onOperation records an operation.
func (t *Telemetry) onOperation(ctx context.Context, o dynajournal.Operation) {
	reason, kind := dynajournal.Reason(o.Err), attribute.String("dynajournal.operation", string(o.Kind))
	t.record(ctx, journalDuration, o.Duration, reason, kind)
	switch o.Kind {
	case dynajournal.OperationAppend, dynajournal.OperationRecover, dynajournal.OperationDelete, dynajournal.OperationPurge:
		t.instruments.counters[journalEvents].Add(ctx, float64(o.Count), withError(reason, kind))
	default: // on snapshots
	}
}

// requestAttributes are the attributes of a request by the semantic conventions.
func requestAttributes(operation, table string) []attribute.KeyValue {
	return []attribute.KeyValue{
		system, attribute.String("db.operation.name", operation), attribute.String("db.collection.name", table),
	}
}

// onRequest records an attempt of a request.
func (t *Telemetry) onRequest(ctx context.Context, r dynajournal.Request) {
	i, reason := &t.instruments, dynajournal.Reason(r.Err)
	purpose := attribute.String("dynajournal.purpose", string(r.Purpose))
	i.counters[requestAttempts].Add(ctx, 1, withError(reason, append(requestAttributes(r.Operation, r.Table), purpose)...))
	t.record(ctx, connectionWait, r.Waited, "", t.pool)
	for kind, units := range map[string]float64{"read": r.Cost.ReadUnits, "write": r.Cost.WriteUnits} {
		if units > 0 {
			i.counters[capacityConsumed].Add(ctx, units, withError("", attribute.String("db.collection.name", r.Table),
				purpose, attribute.String("dynajournal.capacity.type", kind)))
		}
	}
	if r.Statements > 0 && r.Err == nil {
		i.histograms[groupCommitSize].Record(ctx, float64(r.Statements))
	}
	span := trace.SpanFromContext(ctx)
	if !span.IsRecording() {
		return
	}
	if r.RequestID != "" {
		span.SetAttributes(attribute.String("aws.request_id", r.RequestID))
	}
	if r.Code != "" {
		span.SetAttributes(attribute.String("db.response.status_code", r.Code))
	}
	if r.Err != nil {
		span.AddEvent(fmt.Sprintf("attempt %d has failed", r.Attempt), trace.WithAttributes(
			attribute.String("error.type", reason), attribute.String("exception.message", t.text(r.Err, reason))))
	}
}

// onRequestEnd records a request, and ends its span.
func (t *Telemetry) onRequestEnd(ctx context.Context, r dynajournal.RequestEnd) {
	reason := dynajournal.Reason(r.Err)
	if r.Purpose == dynajournal.PurposeAppend {
		t.record(ctx, groupCommitWait, r.Gathered, "", t.pool)
	}
	t.record(ctx, operationDuration, r.Duration, reason, requestAttributes(r.Operation, r.Table)...)
	t.end(ctx, r.Err, reason, attribute.Int("dynajournal.attempts", r.Attempts),
		attribute.Float64("dynajournal.read_units", r.Cost.ReadUnits),
		attribute.Float64("dynajournal.write_units", r.Cost.WriteUnits))
}
