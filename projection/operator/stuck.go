package operator

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/dynajournal/dynajournal/projection/internal/engine"
)

// StuckID is a persistence id that is stuck in a projection.
type StuckID struct {
	// Projection is the name of the group and of the projection, such as billing/balances.
	Projection    string
	PersistenceID string
	// Since is when the persistence id became stuck.
	Since time.Time
	// Offset is the number up to which events were handled.
	Offset int64
	// SequenceNumber is the number at which the handler has failed, to be passed to
	// [Operator.Skip]: the number of the event, or the last number of a gap or of a purge. It is 0
	// if the journal could not be read, and for a purge after which the numbers start again at 1.
	SequenceNumber int64
	// Reason is the text of the last failure, shortened.
	Reason string
}

// Stuck returns the persistence ids that are stuck in the projection, or in all projections of the
// journal if the operator has no name. It reads the index of debts while the loop runs: half a read
// unit for each projection and for each 4 KB of entries, of about 200 bytes each, and 1 read unit
// for each persistence id. Persistence ids that became stuck in the last second may be missing.
//
// A persistence id that became stuck with version 0.1.0 is not in the index before it is triggered
// again, or dynajournal.UpdateTables has run.
//
// Errors: a *dynajournal.ArgumentError, [projection.ErrNoProjection], [ErrNoIndex], and errors of
// requests. After an error the sequence ends.
func (o *Operator) Stuck(ctx context.Context) iter.Seq2[StuckID, error] {
	return func(yield func(StuckID, error) bool) {
		err := o.eachDebt(ctx, engine.ListedStuck, func(projection string, run engine.DebtEntry, row engine.Row) bool {
			return yield(StuckID{projection, run.PersistenceID, run.Since, row.Seq, row.Failed, row.Reason}, nil)
		})
		if err != nil {
			yield(StuckID{}, fmt.Errorf("list stuck persistence ids: %w", err))
		}
	}
}
