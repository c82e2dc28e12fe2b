package dynajournal

import (
	"context"
	"log/slog"
	"time"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/protocol"
)

// Hook is told what happens in a journal. It implements any of the hook interfaces below; calls
// come from many goroutines at once, must not block, and must not use the journal that makes them:
// Close in a hook waits for the operation that the hook is called by, and never returns.
type Hook any

// RequestHook is told of every request to DynamoDB.
type RequestHook interface {
	// OnRequest is called after each try of a request has ended. ctx is that of the operation the request serves; a request
	// that several writers share (group commit) has one of its own, without their values.
	OnRequest(ctx context.Context, request Request)
}

// Request is one try of a request to DynamoDB.
type Request struct {
	// Operation is DynamoDB's name of it, such as PutItem.
	Operation string
	Table     string
	// Statements is how many events a BatchExecuteStatement inserts; 0 for any other operation.
	Statements int
	// Try is 1 for the first try.
	Try      int
	Duration time.Duration
	// Cost is what DynamoDB said the try consumed; failed tries don't say.
	Cost Cost
	// Err is why the try failed, nil if it did not.
	Err error
}

// HoleHook is told of numbers that live queries waited for, in a journal that is shared with a JVM.
type HoleHook interface {
	// OnHole is called when the wait for missing numbers has ended, but not where the query itself
	// ends during it.
	OnHole(ctx context.Context, hole Hole)
}

// Hole is a span of sequence numbers at which nothing was stored, with something behind it.
type Hole struct {
	PersistenceID string
	First, Last   int64
	// Waited is how long it was since the query had first found them missing.
	Waited time.Duration
	// Passed reports whether the query has gone on though something may still be stored there, which
	// it does not return. If not, that was stored, or deleted, or no reader will be shown it.
	Passed bool
}

// holeWait is how a live query waits for missing numbers; nil where it does not.
func (j *Journal) holeWait(pid string) *protocol.Wait {
	c := &j.config
	if j.Native() || c.HoleWait < 0 {
		return nil
	}
	return &protocol.Wait{Most: c.HoleWait, Window: LiveWindow, Ended: func(ctx context.Context, w protocol.Waited) {
		for _, h := range c.Hooks {
			if hook, ok := h.(HoleHook); ok {
				hook.OnHole(ctx, Hole{pid, w.First, w.Last, w.For, w.Passed})
			}
		}
		level, text := slog.LevelDebug, "a live query has waited for missing events"
		if w.Passed {
			level, text = slog.LevelWarn, "a live query goes on without events that are missing"
		}
		c.Logger.LogAttrs(ctx, level, text, slog.String("persistence_id", pid), slog.Int64("first", w.First), slog.Int64("last", w.Last),
			slog.Duration("waited", w.For))
	}}
}

// Cost is what an operation used up: requests sent, retries included, and read and write capacity units, as DynamoDB counted
// them.
type Cost = dynamo.Cost

// observer tells hooks and the trace of each try; nil where there is nobody to tell.
func (c *Config) observer() func(context.Context, dynamo.Attempt) {
	var hooks []RequestHook
	for _, h := range c.Hooks {
		if hook, ok := h.(RequestHook); ok {
			hooks = append(hooks, hook)
		}
	}
	if len(hooks) == 0 && !c.Tracing {
		return nil
	}
	logger, tracing := c.Logger, c.Tracing
	return func(ctx context.Context, t dynamo.Attempt) {
		for _, h := range hooks {
			h.OnRequest(ctx, Request{t.Operation, t.Table, t.Statements, t.Number, t.Duration, t.Cost, t.Err})
		}
		if tracing {
			logger.LogAttrs(ctx, slog.LevelDebug, "request", slog.String("operation", t.Operation), slog.String("table", t.Table),
				slog.Int("statements", t.Statements), slog.Int("try", t.Number), slog.Duration("duration", t.Duration), slog.Float64("read_units", t.Cost.ReadUnits),
				slog.Float64("write_units", t.Cost.WriteUnits), slog.Any("error", t.Err))
		}
	}
}
