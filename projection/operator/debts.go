package operator

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/dynajournal/dynajournal/projection/internal/engine"
)

// Debt is a stored run of a projection for a persistence id: its events could not be handled for
// some seconds, and are handled later.
type Debt struct {
	// Projection is the name of the group and of the projection, such as billing/balances.
	Projection    string
	PersistenceID string
	// Since is when the events could not be handled for the first time. Due is when a process of
	// the group retries.
	Since, Due time.Time
	// Offset is the number up to which events were handled. It is 0 for a projection of package
	// sqlprojection, which stores its offsets in its database.
	Offset int64
	// Reason is the text of the last error, shortened.
	Reason string
}

// Debts returns the persistence ids that have a debt by the projection, or by all projections of
// the journal if the operator has no name. Debts that are due first come first. It reads the index
// of debts while the loop runs: half a read unit for each projection and for each 4 KB of entries,
// of about 200 bytes each, and 1 read unit for each debt. Debts that were stored in the last second
// may be missing.
//
// Errors: a *dynajournal.ArgumentError, [projection.ErrNoProjection], [ErrNoIndex], and errors of
// requests. After an error the sequence ends.
func (o *Operator) Debts(ctx context.Context) iter.Seq2[Debt, error] {
	return func(yield func(Debt, error) bool) {
		err := o.eachDebt(ctx, engine.ListedDue, func(projection string, run engine.DebtEntry, row engine.Row) bool {
			return yield(Debt{projection, run.PersistenceID, run.Since, run.Due, row.Seq, row.Reason}, nil)
		})
		if err != nil {
			yield(Debt{}, fmt.Errorf("list debts: %w", err))
		}
	}
}
