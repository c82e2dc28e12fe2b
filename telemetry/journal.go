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

// requestKey has the attributes of a request.
type requestKey struct {
	operation, table string
	purpose          dynajournal.Purpose
	reason           string
}

// startRequest starts the span of a request.
func (t *Telemetry) startRequest(ctx context.Context, r dynajournal.RequestStart) context.Context {
	key := requestKey{r.Operation, r.Table, r.Purpose, ""}
	to := t.requests.of(key, key.attributes)
	ctx, span := t.tracer.Start(ctx, r.Operation+" "+r.Table, //nolint:spancheck // onRequestEnd ends it
		trace.WithSpanKind(trace.SpanKindClient), to.traced, trace.WithLinks(links(r.Writers)...))
	if span.IsRecording() && r.Index != "" {
		span.SetAttributes(attribute.String("aws.dynamodb.index_name", r.Index))
	}
	if span.IsRecording() && r.Statements > 0 {
		span.SetAttributes(attribute.Int("db.operation.batch.size", r.Statements))
	}
	return ctx
}

func (k requestKey) attributes() []attribute.KeyValue {
	values := requestAttributes(k.operation, k.table)
	if k.purpose != "" {
		values = append(values, attribute.String("dynajournal.purpose", string(k.purpose)))
	}
	return withReason(k.reason, values...)
}

// operationKey has the attributes of an operation.
type operationKey struct {
	kind   dynajournal.OperationKind
	reason string
}

func (k operationKey) attributes() []attribute.KeyValue {
	return withReason(k.reason, attribute.String("dynajournal.operation", string(k.kind)))
}

// capacityKey has the attributes of consumed capacity.
type capacityKey struct {
	table   string
	purpose dynajournal.Purpose
	kind    string
}

func (k capacityKey) attributes() []attribute.KeyValue {
	return []attribute.KeyValue{
		attribute.String("db.collection.name", k.table), attribute.String("dynajournal.purpose", string(k.purpose)),
		attribute.String("dynajournal.capacity.type", k.kind),
	}
}

// onOperation records an operation.
func (t *Telemetry) onOperation(ctx context.Context, o dynajournal.Operation) {
	key := operationKey{o.Kind, dynajournal.Reason(o.Err)}
	of := t.operations.of(key, key.attributes).measured
	t.instruments.histograms[journalDuration].Record(ctx, o.Duration.Seconds(), of)
	switch o.Kind {
	case dynajournal.OperationAppend, dynajournal.OperationRecover, dynajournal.OperationDelete, dynajournal.OperationPurge:
		t.instruments.counters[journalEvents].Add(ctx, float64(o.Count), of)
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
	key := requestKey{r.Operation, r.Table, r.Purpose, reason}
	i.counters[requestAttempts].Add(ctx, 1, t.requests.of(key, key.attributes).measured)
	i.histograms[connectionWait].Record(ctx, r.Waited.Seconds(), t.pools.measured)
	t.consumed(ctx, capacityKey{r.Table, r.Purpose, "read"}, r.Cost.ReadUnits)
	t.consumed(ctx, capacityKey{r.Table, r.Purpose, "write"}, r.Cost.WriteUnits)
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

// consumed records capacity units.
func (t *Telemetry) consumed(ctx context.Context, key capacityKey, units float64) {
	if units > 0 {
		t.instruments.counters[capacityConsumed].Add(ctx, units, t.capacities.of(key, key.attributes).measured)
	}
}

// onRequestEnd records a request, and ends its span.
func (t *Telemetry) onRequestEnd(ctx context.Context, r dynajournal.RequestEnd) {
	reason := dynajournal.Reason(r.Err)
	if r.Purpose == dynajournal.PurposeAppend {
		t.instruments.histograms[groupCommitWait].Record(ctx, r.Gathered.Seconds(), t.pools.measured)
	}
	key := requestKey{r.Operation, r.Table, "", reason}
	t.instruments.histograms[operationDuration].Record(ctx, r.Duration.Seconds(), t.requests.of(key, key.attributes).measured)
	t.end(ctx, r.Err, reason, func() []attribute.KeyValue {
		return []attribute.KeyValue{
			attribute.Int("dynajournal.attempts", r.Attempts), attribute.Float64("dynajournal.read_units", r.Cost.ReadUnits),
			attribute.Float64("dynajournal.write_units", r.Cost.WriteUnits),
		}
	})
}
