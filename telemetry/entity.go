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
			t.instruments.counters[conflicts].Add(ctx, 1, withError("", typeOf(c.Type)))
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

// start starts a span of an entity.
func (t *Telemetry) start(ctx context.Context, what, kind, persistenceID string, opts ...trace.SpanStartOption) context.Context {
	opts = append(opts, trace.WithAttributes(append(t.id(persistenceID), typeOf(kind))...))
	ctx, _ = t.tracer.Start(ctx, what+" "+kind, opts...) //nolint:spancheck // the hook of the end ends it
	return ctx
}

// record records a duration.
func (t *Telemetry) record(ctx context.Context, name string, d time.Duration, reason string, attributes ...attribute.KeyValue) {
	t.instruments.histograms[name].Record(ctx, d.Seconds(), withError(reason, attributes...))
}

func (t *Telemetry) onCommand(ctx context.Context, c entity.Command) {
	reason, kind := entity.Reason(c.Err), typeOf(c.Type)
	t.record(ctx, commandDuration, c.Duration, reason, kind)
	t.record(ctx, commandQueue, c.Queued, "", kind)
	t.instruments.histograms[commandAttempts].Record(ctx, float64(c.Attempts), withError("", kind))
	t.end(ctx, c.Err, reason, attribute.Int("dynajournal.attempts", c.Attempts),
		attribute.Int64("dynajournal.version", c.Receipt.Version), attribute.Int("dynajournal.events", c.Receipt.Events),
		attribute.Float64("dynajournal.queued_seconds", c.Queued.Seconds()))
}

func (t *Telemetry) onWrite(ctx context.Context, w entity.Write) {
	reason, kind := entity.Reason(w.Err), typeOf(w.Type)
	t.record(ctx, writeDuration, w.Duration, reason, kind)
	t.instruments.histograms[writeCommands].Record(ctx, float64(w.Commands), withError("", kind))
	t.end(ctx, w.Err, reason, attribute.Int("dynajournal.commands", w.Commands),
		attribute.Int("dynajournal.events", w.Events), attribute.Float64("dynajournal.write_units", w.Cost.WriteUnits))
}

func (t *Telemetry) onRecovery(ctx context.Context, r entity.Recovery) {
	reason, kind := entity.Reason(r.Err), typeOf(r.Type)
	t.record(ctx, recoveryDuration, r.Duration, reason, kind, attribute.Bool("dynajournal.recovery.catch_up", r.CatchUp))
	t.record(ctx, recoveryWait, r.Waited, "", kind)
	t.instruments.histograms[recoveryEvents].Record(ctx, float64(r.Events), withError("", kind))
	t.end(ctx, r.Err, reason, attribute.Int64("dynajournal.snapshot", r.Snapshot),
		attribute.Int64("dynajournal.events", r.Events), attribute.Int64("dynajournal.version", r.Version))
}
