package dynajournal

import (
	"context"
	"log/slog"
	"time"

	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// RequestStart describes a request before it is sent.
type RequestStart struct {
	// Operation is DynamoDB's name of the operation, such as PutItem.
	Operation string
	// Table is the name of the table. Index is empty if the request reads no index.
	Table, Index string
	// Statements is the number of events that a BatchExecuteStatement inserts. It is 0 for any
	// other operation.
	Statements int
	// Purpose is the kind of operation that sends the request.
	Purpose Purpose
	// Writers are the contexts of the writers that share a BatchExecuteStatement, for links to
	// their spans. It is nil if there is only one writer.
	Writers []context.Context
	// Gathered is the longest time that an event of the request waited in the queue of group
	// commit. It is 0 for requests that do not write events. An event waits there only while other
	// requests with events are in flight.
	Gathered time.Duration
}

// Request is one attempt of a request to DynamoDB.
type Request struct {
	// Operation is DynamoDB's name of the operation, such as PutItem.
	Operation string
	// Table is the name of the table. Index is empty if the request reads no index.
	Table, Index string
	// Statements is the number of events that a BatchExecuteStatement inserts. It is 0 for any
	// other operation.
	Statements int
	// Purpose is the kind of operation that sends the request.
	Purpose Purpose
	// Attempt is the number of the attempt, starting at 1.
	Attempt int
	// Waited is how long the attempt waited for a connection: see Config.MaxConnections.
	Waited time.Duration
	// Duration is the duration of the attempt, after the wait.
	Duration time.Duration
	// Cost is the capacity that DynamoDB reported as consumed. A failed attempt reports none.
	Cost Cost
	// Err is the reason why the attempt failed, or nil. Use errors.Is to compare it with the
	// request errors, such as ErrThrottled, ErrUnavailable and ErrDenied. The request may still be
	// retried. Err also wraps the error of the AWS SDK.
	//
	// A condition that does not hold is also an error, usually because of a conflict with another
	// writer. [Reason] returns condition_failed for it.
	Err error
	// Code is DynamoDB's error code, such as ProvisionedThroughputExceededException. It is empty if
	// the attempt succeeded, or had no response with a code.
	Code string
	// RequestID is DynamoDB's id of the request, for questions to AWS support. It is empty if there
	// was no response.
	RequestID string
}

// RequestEnd describes a request after its last attempt.
type RequestEnd struct {
	RequestStart

	// Attempts is the number of attempts.
	Attempts int
	// Waited is how long all attempts together waited for connections.
	Waited time.Duration
	// Duration is the time since StartRequest. It includes Waited, and the pauses before retries.
	Duration time.Duration
	// Cost is the sum of all attempts.
	Cost Cost
	// Err is the error of the request, or nil. The outcome of a single statement of a
	// BatchExecuteStatement is not part of it.
	Err error
}

// Purpose is the kind of operation that a request serves. The cost of a journal can be added up by
// purpose. If operations are nested, the outermost one determines the purpose: what a projection
// reads has [PurposeProjection]. Requests of package legacy have no purpose.
type Purpose string

// The purposes of requests.
const (
	PurposeAppend Purpose = "append"
	// PurposeRecover: to recover a writer, with the seals of numbers and the marks that it stores.
	PurposeRecover Purpose = "recover"
	// PurposeRead: to read events, bounds and marks.
	PurposeRead Purpose = "read"
	// PurposeList: to list persistence ids.
	PurposeList Purpose = "list"
	// PurposeSnapshot: to save, load, list and delete snapshots.
	PurposeSnapshot Purpose = "snapshot"
	// PurposeState: durable states of package entity.
	PurposeState  Purpose = "state"
	PurposeDelete Purpose = "delete"
	PurposePurge  Purpose = "purge"
	// PurposeCopy: to read and write records.
	PurposeCopy Purpose = "copy"
	// PurposeVerify: to verify and repair.
	PurposeVerify Purpose = "verify"
	// PurposeTables: to open a journal, and to create, update and describe tables.
	PurposeTables Purpose = "tables"
	// PurposePing: [Journal.Ping].
	PurposePing Purpose = "ping"
	// PurposeProjection: all that projections need, also to read events.
	PurposeProjection Purpose = "projection"
	// PurposeTags: the index of package projection/tags.
	PurposeTags Purpose = "tags"
	// PurposeOutbox: dead letters of package projection/outbox.
	PurposeOutbox Purpose = "outbox"
	// PurposePayloads: to find payloads that no event refers to.
	PurposePayloads Purpose = "payloads"
)

// onStart returns the function that passes each request to the hooks before it is sent, or nil if
// no hook receives it.
func (c *Config) onStart() func(context.Context, dynamo.Start) context.Context {
	var hooks []func(context.Context, RequestStart) context.Context
	for _, hook := range c.Hooks {
		if hook.StartRequest != nil {
			hooks = append(hooks, hook.StartRequest)
		}
	}
	if len(hooks) == 0 {
		return nil
	}
	return func(ctx context.Context, s dynamo.Start) context.Context {
		for _, start := range hooks {
			ctx = start(ctx, requestStart(s)) //nolint:fatcontext // there are few hooks
		}
		return ctx
	}
}

// onEnd returns the function that passes each request to the hooks after its last attempt, or nil
// if no hook receives it.
func (c *Config) onEnd() func(context.Context, dynamo.End) {
	var hooks []func(context.Context, RequestEnd)
	for _, hook := range c.Hooks {
		if hook.OnRequestEnd != nil {
			hooks = append(hooks, hook.OnRequestEnd)
		}
	}
	if len(hooks) == 0 {
		return nil
	}
	return func(ctx context.Context, e dynamo.End) {
		for _, end := range hooks {
			end(ctx, RequestEnd{
				requestStart(e.Start), e.Attempts, e.Waited, e.Duration, Cost(e.Cost), public(e.Err),
			})
		}
	}
}

func requestStart(s dynamo.Start) RequestStart {
	return RequestStart{s.Operation, s.Table, s.Index, s.Statements, Purpose(s.Purpose), s.Writers, s.Gathered}
}

// observer returns the function that passes each attempt to the hooks and to the log, or nil if
// nothing receives attempts.
func (c *Config) observer() func(context.Context, dynamo.Attempt) {
	var hooks []func(context.Context, Request)
	for _, hook := range c.Hooks {
		if hook.OnRequest != nil {
			hooks = append(hooks, hook.OnRequest)
		}
	}
	logger, logged := c.Logger, c.Logger.Enabled(context.Background(), slog.LevelDebug)
	if len(hooks) == 0 && !logged {
		return nil
	}
	return func(ctx context.Context, t dynamo.Attempt) {
		for _, onRequest := range hooks {
			onRequest(ctx, Request{
				Operation: t.Operation, Table: t.Table, Index: t.Index, Statements: t.Statements, Purpose: Purpose(t.Purpose),
				Attempt: t.Number, Waited: t.Waited, Duration: t.Duration, Cost: Cost(t.Cost), Err: public(t.Err), Code: t.Code,
				RequestID: t.RequestID,
			})
		}
		if logged {
			logger.LogAttrs(ctx, slog.LevelDebug, "request",
				slog.String("event", "journal.request"), slog.String("operation", t.Operation), slog.String("table", t.Table),
				slog.Int("statements", t.Statements), slog.String("purpose", string(t.Purpose)),
				slog.Int("attempt", t.Number),
				slog.Duration("waited", t.Waited), slog.Duration("duration", t.Duration),
				slog.String("request_id", t.RequestID),
				slog.Float64("read_units", t.Cost.ReadUnits), slog.Float64("write_units", t.Cost.WriteUnits),
				slog.Any("error", t.Err))
		}
	}
}
