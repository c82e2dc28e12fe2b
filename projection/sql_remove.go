package projection

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/dynajournal/dynajournal"
)

// RemoveSQLOffsets deletes the offsets of a projection of [SQL] in its database, named as
// group/projection, and returns how many. Call it before or after [Operator.Remove]; the projection
// that is next to get the name goes on at what is left. No process may run it, nor begin meanwhile.
// It deletes 1,000 rows in a statement. If it is interrupted, call it again. A table that does not
// exist has none.
//
// Errors: a *dynajournal.ArgumentError, [ErrInUse], [ErrNoOffsetsTable], those of requests, and
// those of the driver.
func RemoveSQLOffsets(
	ctx context.Context, journal *dynajournal.Journal, db *sql.DB, dialect Dialect, projection string,
) (int64, error) {
	if journal == nil {
		return 0, argument("journal", nil, "it must be an open journal")
	}
	if _, err := checkProjection(projection); err != nil {
		return 0, err
	}
	if db == nil {
		return 0, argument("db", nil, "it must be a database")
	}
	if err := dialect.check(); err != nil {
		return 0, err
	}
	t := openTable(journal)
	infos, err := t.infos(ctx, []string{projection})
	if err == nil && len(infos) > 0 && infos[0].Processes > 0 {
		err = ErrInUse
	}
	if err != nil {
		return 0, fmt.Errorf("remove the offsets of projection %s: %w", projection, err)
	}
	o := &sqlOffsets{target: &target{db: db, dialect: dialect}, journal: t.journalName, name: projection, limit: sqlLook}
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

// removeSome deletes some of the offsets, and returns how many: 0 if there are none.
func (o *sqlOffsets) removeSome(ctx context.Context) (int64, error) {
	within, cancel := context.WithTimeout(ctx, o.limit)
	defer cancel()
	result, err := o.db.ExecContext(within, o.dialect.statement(removeOffsets), o.journal, o.name, o.journal, o.name)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}
