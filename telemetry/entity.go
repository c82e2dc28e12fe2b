package telemetry

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/dynajournal/dynajournal/entity"
)

// EntityHook returns the hook for entity.Options.Hooks.
func (t *Telemetry) EntityHook() entity.Hook {
	return entity.Hook{
		StartCommand: func(ctx context.Context, c entity.CommandStart) context.Context {
			return t.start(ctx, "command", c.Type, c.PersistenceID)
		},
		OnCommand: t.onCommand,
		StartWrite: func(ctx context.Context, w entity.WriteStart) context.Context {
			var to []trace.Link
			if len(w.Commands) > 1 {
				to = links(w.Commands)
			}
			return t.start(ctx, "write", w.Type, w.PersistenceID, trace.WithLinks(to...))
		},
		OnWrite: t.onWrite,
		StartRecovery: func(ctx context.Context, r entity.RecoveryStart) context.Context {
			return t.start(ctx, "load", r.Type, r.PersistenceID)
		},
		OnRecovery: t.onRecovery,
		OnConflict: func(ctx context.Context, c entity.Conflict) {
			t.instruments.counters[conflicts].Add(ctx, 1, t.kind(c.Type, "").measured)
		},
		OnSnapshot: func(ctx context.Context, s entity.Snapshot) {
			t.record(ctx, snapshotDuration, s.Duration, entity.Reason(s.Err), typeOf(s.Type))
		},
		OnDrop: func(ctx context.Context, d entity.Drop) {
			reason := attribute.String("dynajournal.drop.reason", string(d.Reason))
			t.instruments.counters[drops].Add(ctx, 1, withError("", typeOf(d.Type), reason))
		},
	}
}

func typeOf(name string) attribute.KeyValue { return attribute.String("dynajournal.entity.type", name) }

// kindKey has the attributes of a type of entities.
type kindKey struct{ name, reason string }

func (k kindKey) attributes() []attribute.KeyValue { return withReason(k.reason, typeOf(k.name)) }

// kind returns the attributes of a type, and of the reason of an error if there is one.
func (t *Telemetry) kind(name, reason string) attributes {
	key := kindKey{name, reason}
	return t.kinds.of(key, key.attributes)
}

// start starts a span of an entity.
func (t *Telemetry) start(ctx context.Context, what, kind, persistenceID string, opts ...trace.SpanStartOption) context.Context {
	ctx, span := t.tracer.Start(ctx, what+" "+kind, append(opts, t.kind(kind, "").traced)...) //nolint:spancheck // the hook of the end ends it
	if span.IsRecording() {
		span.SetAttributes(t.id(persistenceID)...)
	}
	return ctx
}

// record records a duration.
func (t *Telemetry) record(ctx context.Context, name string, d time.Duration, reason string, values ...attribute.KeyValue) {
	t.instruments.histograms[name].Record(ctx, d.Seconds(), withError(reason, values...))
}

func (t *Telemetry) onCommand(ctx context.Context, c entity.Command) {
	reason := entity.Reason(c.Err)
	histograms, kind := t.instruments.histograms, t.kind(c.Type, "").measured
	histograms[commandDuration].Record(ctx, c.Duration.Seconds(), t.kind(c.Type, reason).measured)
	histograms[commandQueue].Record(ctx, c.Queued.Seconds(), kind)
	histograms[commandAttempts].Record(ctx, float64(c.Attempts), kind)
	t.end(ctx, c.Err, reason, func() []attribute.KeyValue {
		return []attribute.KeyValue{
			attribute.Int("dynajournal.attempts", c.Attempts), attribute.Int64("dynajournal.version", c.Receipt.Version),
			attribute.Int("dynajournal.events", c.Receipt.Events), attribute.Float64("dynajournal.queued_seconds", c.Queued.Seconds()),
		}
	})
}

func (t *Telemetry) onWrite(ctx context.Context, w entity.Write) {
	reason := entity.Reason(w.Err)
	t.instruments.histograms[writeDuration].Record(ctx, w.Duration.Seconds(), t.kind(w.Type, reason).measured)
	t.instruments.histograms[writeCommands].Record(ctx, float64(w.Commands), t.kind(w.Type, "").measured)
	t.end(ctx, w.Err, reason, func() []attribute.KeyValue {
		return []attribute.KeyValue{
			attribute.Int("dynajournal.commands", w.Commands), attribute.Int("dynajournal.events", w.Events),
			attribute.Float64("dynajournal.write_units", w.Cost.WriteUnits),
		}
	})
}

func (t *Telemetry) onRecovery(ctx context.Context, r entity.Recovery) {
	reason, kind := entity.Reason(r.Err), t.kind(r.Type, "").measured
	t.record(ctx, recoveryDuration, r.Duration, reason, typeOf(r.Type), attribute.Bool("dynajournal.recovery.catch_up", r.CatchUp))
	t.instruments.histograms[recoveryWait].Record(ctx, r.Waited.Seconds(), kind)
	t.instruments.histograms[recoveryEvents].Record(ctx, float64(r.Events), kind)
	t.end(ctx, r.Err, reason, func() []attribute.KeyValue {
		return []attribute.KeyValue{
			attribute.Int64("dynajournal.snapshot", r.Snapshot), attribute.Int64("dynajournal.events", r.Events),
			attribute.Int64("dynajournal.version", r.Version),
		}
	})
}
