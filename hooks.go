package dynajournal

import (
	"context"
	"log/slog"
	"time"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/protocol"
)

// Hook has functions that a journal calls when something happens. Each may be nil. They are called
// from many goroutines at once and must not block. They must not use the journal that calls them:
// Close in a hook waits for the operation that has called the hook, and never returns.
type Hook struct {
	// OnHole is called when a live query of a journal that is shared with a JVM stops waiting for
	// missing numbers, unless the query itself ends while it waits.
	OnHole func(ctx context.Context, hole Hole)

	// OnLoss is called before an operation continues past a loss: see [Loss].
	OnLoss func(ctx context.Context, loss Loss)

	// OnRequest is called after each attempt of a request. ctx is the context of the operation that
	// the request serves. A request that several writers share (group commit) has a context of its
	// own, without their values.
	OnRequest func(ctx context.Context, request Request)
}

// Request is one attempt of a request to DynamoDB.
type Request struct {
	// Operation is DynamoDB's name of the operation, such as PutItem.
	Operation string
	// Table is the name of the table.
	Table string
	// Statements is how many events a BatchExecuteStatement inserts; 0 for any other operation.
	Statements int
	// Attempt is the number of the attempt; the first is 1.
	Attempt int
	// Duration is how long the attempt took.
	Duration time.Duration
	// Cost is what DynamoDB reported as consumed. A failed attempt reports nothing.
	Cost Cost
	// Err is why the attempt failed, nil if it did not. It answers errors.Is as the error of an
	// operation does: with ErrThrottled, ErrUnavailable, ErrDenied and the others of a request. The
	// request may be made again all the same. It also wraps the error of the AWS SDK.
	Err error
	// Code is DynamoDB's code of the error, such as ProvisionedThroughputExceededException. It is
	// empty if the attempt succeeded, or had no response with a code.
	Code string
}

// Hole is a span of sequence numbers at which nothing is stored although a higher number is taken.
type Hole struct {
	PersistenceID string
	// First and Last are the first and the last of the missing numbers.
	First, Last int64
	// Waited is the time since the query first found the numbers missing.
	Waited time.Duration
	// Passed reports whether the query has continued without the numbers. It does not return what
	// is stored there later. If Passed is false, the numbers have been stored, deleted, or sealed.
	Passed bool
}

// Loss is what an operation continues without: because its caller has said so, because it needs
// none of the events, as a purge or the comparison of a copy, or because a journal that is shared
// with a JVM has a snapshot but no event. A reading that begins anew, or another operation, reports
// the same loss again. Each loss is also logged as a warning.
type Loss struct {
	PersistenceID string
	// Err is the error that the operation would have returned otherwise:
	//   - an [*EventMissingError], if SkipMissing is set in [Range], [RecoverOptions] or
	//     [RecordsOptions]; purges and comparisons of copies set it themselves;
	//   - a [*SnapshotAheadError], if RecoverOptions.JournalLost is set, or in a journal that is
	//     shared with a JVM;
	//   - a [*SnapshotMissingError], if a migration is told that it needs no snapshots.
	Err error
}

// onLoss returns the function that passes each loss to the hooks.
func (c *Config) onLoss() func(context.Context, string, error) {
	return func(ctx context.Context, pid string, lost error) {
		for _, hook := range c.Hooks {
			if hook.OnLoss != nil {
				hook.OnLoss(ctx, Loss{pid, lost})
			}
		}
	}
}

// onHole returns the function that passes each hole to the hooks.
func (c *Config) onHole() func(context.Context, string, protocol.Waited) {
	return func(ctx context.Context, pid string, w protocol.Waited) {
		for _, hook := range c.Hooks {
			if hook.OnHole != nil {
				hook.OnHole(ctx, Hole{pid, w.First, w.Last, w.For, w.Passed})
			}
		}
	}
}

// observer returns the function that passes each attempt to the hooks and to the log, nil if there
// is no receiver.
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
				t.Operation, t.Table, t.Statements, t.Number, t.Duration, Cost(t.Cost), public(t.Err), t.Code,
			})
		}
		if logged {
			logger.LogAttrs(ctx, slog.LevelDebug, "request",
				slog.String("operation", t.Operation), slog.String("table", t.Table),
				slog.Int("statements", t.Statements), slog.Int("attempt", t.Number),
				slog.Duration("duration", t.Duration),
				slog.Float64("read_units", t.Cost.ReadUnits), slog.Float64("write_units", t.Cost.WriteUnits),
				slog.Any("error", t.Err))
		}
	}
}

// Cost is what an operation has used up.
type Cost struct {
	// Requests is how many requests were sent to DynamoDB, failed attempts included.
	Requests int
	// ReadUnits and WriteUnits are the capacity units that DynamoDB reported as consumed. Failed
	// attempts report none.
	ReadUnits, WriteUnits float64
}

// Add returns the sum of two costs.
func (c Cost) Add(other Cost) Cost { return Cost(dynamo.Cost(c).Add(dynamo.Cost(other))) }

// Sub returns the difference between c and an earlier cost of the same operation.
func (c Cost) Sub(earlier Cost) Cost { return Cost(dynamo.Cost(c).Sub(dynamo.Cost(earlier))) }
