package core

import (
	"context"
	"time"

	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// OperationKind names an operation for Options.OnOperation.
type OperationKind string

// The kinds of operations.
const (
	OperationAppend          OperationKind = "append"
	OperationRecover         OperationKind = "recover"
	OperationDelete          OperationKind = "delete"
	OperationPurge           OperationKind = "purge"
	OperationSaveSnapshot    OperationKind = "save_snapshot"
	OperationLoadSnapshot    OperationKind = "load_snapshot"
	OperationDeleteSnapshots OperationKind = "delete_snapshots"
)

// Operation describes an operation that has ended, for Options.OnOperation.
type Operation struct {
	Kind          OperationKind
	PersistenceID string
	// Count is the number of events that an append was to write or that a recovery has read, or the
	// number of sequence numbers or snapshots that a deletion has removed.
	Count    int64
	Duration time.Duration
	Cost     dynamo.Cost
	Err      error
}

// observation is an operation in progress. The clock is read only if Options.OnOperation is set.
type observation struct {
	journal *Journal
	kind    OperationKind
	pid     string
	start   time.Time
	meter   *dynamo.Meter
}

func (j *Journal) observe(kind OperationKind, pid string) observation {
	o := observation{journal: j, kind: kind, pid: pid}
	if j.OnOperation != nil {
		o.start = time.Now()
	}
	return o
}

// metered returns a context whose requests add their cost to the operation.
func (o *observation) metered(ctx context.Context) context.Context {
	if o.journal.OnOperation == nil {
		return ctx
	}
	o.meter = &dynamo.Meter{}
	return dynamo.WithMeter(ctx, o.meter)
}

// end passes the operation to Options.OnOperation. cost is used unless metered was called.
func (o *observation) end(ctx context.Context, count int64, cost dynamo.Cost, err error) {
	if o.journal.OnOperation == nil {
		return
	}
	if o.meter != nil {
		cost = o.meter.Cost()
	}
	o.journal.OnOperation(ctx, Operation{o.kind, o.pid, count, time.Since(o.start), cost, err})
}
