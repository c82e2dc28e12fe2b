package dynajournal

import (
	"context"
	"time"

	"github.com/dynajournal/dynajournal/internal/core"
)

// OperationKind names an operation of a journal for [Hook].OnOperation.
type OperationKind string

// The kinds of operations.
const (
	// OperationAppend: an atomic write, by [Writer.Append], [Writer.AppendAt] or an entity. Each
	// event of [Writer.AppendEach] is an operation of its own.
	OperationAppend OperationKind = "append"
	// OperationRecover: [Journal.Recover]. Its duration includes the calls of the handler.
	OperationRecover OperationKind = "recover"
	// OperationDelete: [Writer.DeleteTo] and [Writer.DeleteCovered].
	OperationDelete OperationKind = "delete"
	// OperationPurge: [Writer.Purge].
	OperationPurge OperationKind = "purge"
	// OperationSaveSnapshot: [Journal.SaveSnapshot].
	OperationSaveSnapshot OperationKind = "save_snapshot"
	// OperationLoadSnapshot: [Journal.LoadSnapshot].
	OperationLoadSnapshot OperationKind = "load_snapshot"
	// OperationDeleteSnapshots: [Journal.DeleteSnapshots].
	OperationDeleteSnapshots OperationKind = "delete_snapshots"
)

// Operation is an operation that has ended. An operation whose arguments are wrong is not reported.
type Operation struct {
	Kind          OperationKind
	PersistenceID string
	// Count is the number of events of an append, also of one that has failed; the number of events
	// that a recovery has read; the number of sequence numbers that a deletion or a purge has
	// removed, for a purge with the snapshots; or the number of snapshots.
	Count int64
	// Duration is the time from the call to its end. An append waits for the calls of the same
	// writer before it.
	Duration time.Duration
	// Cost is the cost of the operation.
	Cost Cost
	// Err is the error of the operation, or nil. [Reason] makes a word of it.
	Err error
}

// onOperation returns the function that passes each operation to the hooks, or nil if no hook
// receives it.
func (c *Config) onOperation() func(context.Context, core.Operation) {
	var hooks []func(context.Context, Operation)
	for _, hook := range c.Hooks {
		if hook.OnOperation != nil {
			hooks = append(hooks, hook.OnOperation)
		}
	}
	if len(hooks) == 0 {
		return nil
	}
	return func(ctx context.Context, o core.Operation) {
		for _, onOperation := range hooks {
			onOperation(ctx, Operation{
				OperationKind(o.Kind), o.PersistenceID, o.Count, o.Duration, Cost(o.Cost), o.Err,
			})
		}
	}
}
