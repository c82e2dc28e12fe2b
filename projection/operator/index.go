package operator

import (
	"context"
	"fmt"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/projection/internal/engine"
)

// payable returns an error if the processes of a group can't find debts.
func (o *operated) payable(ctx context.Context) error {
	_, _, err := o.Table.Debts(ctx, o.Projection, engine.ListedDue, nil)
	return noIndex(err)
}

// noIndex returns an error that is ErrNoIndex if err reports that there is no index of debts. It
// returns other errors unchanged.
func noIndex(err error) error {
	if engine.IsNoIndex(err) {
		return fmt.Errorf("%w: %w", ErrNoIndex, err)
	}
	return err
}

// eachDebt calls do with each row in a list of debts, of the projection or of all projections,
// until do returns false.
func (o *Operator) eachDebt(
	ctx context.Context, list engine.Listed, do func(projection string, run engine.DebtEntry, row engine.Row) bool,
) error {
	infos, err := o.selected(ctx)
	for i, more := 0, true; err == nil && more && i < len(infos); i++ {
		more, err = eachDebtOf(ctx, engine.OpenTable(o.journal), infos[i].Projection, list, do)
	}
	return err
}

// eachDebtOf is eachDebt for one projection. It reports whether do has always returned true.
func eachDebtOf(
	ctx context.Context, t *engine.Table, projection string, list engine.Listed,
	do func(projection string, run engine.DebtEntry, row engine.Row) bool,
) (bool, error) {
	var next dynamo.Attributes
	for {
		page, after, err := t.Debts(ctx, projection, list, next)
		if err != nil {
			return false, noIndex(err)
		}
		keys := make([]dynamo.Attributes, len(page))
		for i, run := range page {
			keys[i] = engine.RowKey(t.JournalName, projection, run.PersistenceID)
		}
		rows, err := t.Batch(ctx, keys)
		if err != nil {
			return false, err
		}
		for i, run := range page {
			row, err := engine.DecodeRow(t.Name, rows[i])
			switch {
			case err != nil: // the loop continues with the others
				row.Reason = err.Error()
			case !row.Debt.Exists || row.Stuck() != (list == engine.ListedStuck):
				continue // it has changed meanwhile
			}
			if !do(projection, run, row) {
				return false, nil
			}
		}
		if next = after; next == nil {
			return true, nil
		}
	}
}
