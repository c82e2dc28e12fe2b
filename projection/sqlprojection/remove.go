package sqlprojection

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/projection/internal/engine"
)

// RemoveOffsets deletes the offsets of a projection of [New] from its database, and returns their
// number. The projection is named as group/projection. Call RemoveOffsets before or after
// operator.Operator.Remove: otherwise the next projection with that name continues at the remaining
// offsets. No process may run or start the projection meanwhile. Each statement deletes 1,000 rows.
// If RemoveOffsets is interrupted, call it again. It returns 0 if the table does not exist.
//
// Errors: a *dynajournal.ArgumentError, [projection.ErrInUse], [ErrNoOffsetsTable], errors of
// requests, and errors of the driver.
func RemoveOffsets(
	ctx context.Context, journal *dynajournal.Journal, db *sql.DB, dialect Dialect, name string,
) (int64, error) {
	if journal == nil {
		return 0, engine.Argument("journal", nil, "it must be an open journal")
	}
	if _, err := engine.CheckProjection(name); err != nil {
		return 0, err
	}
	if db == nil {
		return 0, engine.Argument("db", nil, "it must be a database")
	}
	if err := dialect.check(); err != nil {
		return 0, err
	}
	t := engine.OpenTable(journal)
	infos, err := t.Infos(ctx, []string{name})
	if err == nil && len(infos) > 0 && infos[0].Processes > 0 {
		err = projection.ErrInUse
	}
	if err != nil {
		return 0, fmt.Errorf("remove the offsets of projection %s: %w", name, err)
	}
	o := &sqlOffsets{target: &target{db: db, dialect: dialect}, journal: t.JournalName, name: name, limit: statementTimeout}
	var removed int64
	for {
		some, err := o.removeSome(ctx)
		removed += some
		if err != nil && !dialect.missing(err) {
			return removed, o.failed(err)
		}
		if some == 0 {
			return removed, nil
		}
	}
}

// removeSome deletes some of the offsets, and returns their number.
func (o *sqlOffsets) removeSome(ctx context.Context) (int64, error) {
	within, cancel := context.WithTimeout(ctx, o.limit)
	defer cancel()
	result, err := o.db.ExecContext(within, o.dialect.statement(removeOffsets), o.journal, o.name, o.journal, o.name)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}
