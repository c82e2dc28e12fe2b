// Package telemetry passes the metrics and spans of journals, entities and projections to
// OpenTelemetry.
//
//	t, err := telemetry.New(telemetry.Options{})
//	config.Hooks = append(config.Hooks, t.JournalHook())
//	options.Hooks = append(options.Hooks, t.EntityHook()) // entity.Options
//	group.Hooks = append(group.Hooks, t.ProjectionHook()) // projection.Config
//	registration, err := t.Observe(journal, telemetry.Observed{Groups: groups})
//
// # Metrics
//
// [Metrics] lists all metrics. Names follow the semantic conventions of OpenTelemetry
// (https://opentelemetry.io/docs/specs/semconv/database/): db.client.operation.duration is stable.
// The metrics of connections and of messaging are in development, so their names may change. No
// metric has a persistence id, a shard or a message id as an attribute. Errors have the attribute
// error.type with the word of dynajournal.Reason, entity.Reason or projection.Reason.
//
// # Spans
//
// A command has the span "command TYPE", with "load TYPE" and "write TYPE" below it, and the
// requests to DynamoDB below these. A write of several commands, and a request of several writers,
// has no parent, but links to the spans of all of them. A call of a handler has the span "process
// GROUP/NAME".
//
// [Telemetry.Metadata] stores the trace of a command with its events, and [Telemetry.Extract]
// returns a context with it, so that a handler can link to the command or continue its trace.
package telemetry
