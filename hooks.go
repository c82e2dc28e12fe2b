package dynajournal

import (
	"context"
	"time"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/protocol"
)

// Hook contains functions that a journal calls when something happens. Each may be nil. They are
// called concurrently from many goroutines and must not block. They must not use the journal that
// calls them: Close, for example, waits for the operation that called the hook, so it would never
// return.
type Hook struct {
	// OnHole is called when a live query of a journal that is shared with a JVM stops waiting for
	// missing sequence numbers. It is not called if the query itself ends while it waits.
	OnHole func(ctx context.Context, hole Hole)

	// OnLoss is called before an operation continues past a loss: see [Loss].
	OnLoss func(ctx context.Context, loss Loss)

	// OnOperation is called after an operation of a writer or on snapshots, with the context of its
	// caller: see [OperationKind]. Reads of events are not operations, because their duration
	// includes what the caller does with each event.
	OnOperation func(ctx context.Context, operation Operation)

	// OnSeal is called after a sequence number was sealed: it was free, and no event can be stored
	// there any more. A recovery seals what an earlier writer may still have had in flight. ctx is
	// the context of the request.
	OnSeal func(ctx context.Context, seal Seal)

	// StartRequest is called before a request waits for a connection, once for all of its attempts.
	// ctx is the context of the operation that sends the request. A request that several writers
	// share (group commit) has its own context, without the values of theirs: see
	// [RequestStart].Writers. The request continues with the returned context, which must be ctx or
	// derived from it, for example to contain a span.
	StartRequest func(ctx context.Context, request RequestStart) context.Context

	// OnRequest is called after each attempt of a request, with the context of StartRequest.
	OnRequest func(ctx context.Context, request Request)

	// OnRequestEnd is called after the last attempt of a request, with the context of StartRequest.
	// For an append that can be shortly after the append has returned. Journal.Close waits for it.
	OnRequestEnd func(ctx context.Context, request RequestEnd)
}

// Hole is a span of sequence numbers at which nothing is stored although a higher number is taken.
type Hole struct {
	PersistenceID string
	// First and Last are the first and the last of the missing numbers.
	First, Last int64
	// Waited is the time since the query first found the numbers missing.
	Waited time.Duration
	// Passed reports whether the query has continued without the numbers. The query then does not
	// return events that are stored there later. If Passed is false, the numbers have been stored,
	// deleted or sealed.
	Passed bool
}

// Loss describes missing data without which an operation continues. There are three reasons to
// continue: the caller has asked for it; the operation does not need the events, such as a purge or
// the comparison of a copy; or a journal that is shared with a JVM has a snapshot but no event. A
// read that restarts, or another operation, reports the same loss again. Each loss is also logged
// as a warning.
type Loss struct {
	PersistenceID string
	// Err is the error that the operation would have returned otherwise:
	//   - an [*EventMissingError], if SkipMissing is set in [Range], [RecoverOptions] or
	//     [RecordsOptions]; purges and comparisons of copies set it themselves;
	//   - a [*SnapshotAheadError], if RecoverOptions.JournalLost is set, or in a journal that is
	//     shared with a JVM;
	//   - a [*SnapshotMissingError], if the options of a migration say that it needs no snapshots.
	Err error
}

// Seal is a sequence number that was sealed.
type Seal struct {
	PersistenceID  string
	SequenceNumber int64
}

// onSeal returns the function that passes each seal to the hooks, or nil if no hook receives it.
func (c *Config) onSeal() func(context.Context, string, int64) {
	var hooks []func(context.Context, Seal)
	for _, hook := range c.Hooks {
		if hook.OnSeal != nil {
			hooks = append(hooks, hook.OnSeal)
		}
	}
	if len(hooks) == 0 {
		return nil
	}
	return func(ctx context.Context, pid string, seq int64) {
		for _, onSeal := range hooks {
			onSeal(ctx, Seal{pid, seq})
		}
	}
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

// Cost is the number of requests of an operation, and the capacity that it consumed.
type Cost struct {
	// Requests is the number of requests that were sent to DynamoDB, including failed attempts.
	Requests int
	// ReadUnits and WriteUnits are the capacity units that DynamoDB reported as consumed. Failed
	// attempts report none.
	ReadUnits, WriteUnits float64
}

// Add returns the sum of two costs.
func (c Cost) Add(other Cost) Cost { return Cost(dynamo.Cost(c).Add(dynamo.Cost(other))) }

// Sub returns the difference between c and an earlier cost of the same operation.
func (c Cost) Sub(earlier Cost) Cost { return Cost(dynamo.Cost(c).Sub(dynamo.Cost(earlier))) }
