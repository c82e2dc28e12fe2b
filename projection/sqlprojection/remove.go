package sqlprojection

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/projection/internal/engine"
)

// RemoveOffsets deletes the offsets of a projection of [New] in its database, named as
// group/projection, and returns how many. Call it before or after operator.Operator.Remove; the
// projection that is next to get the name continues at what is left. No process may run it, nor
// begin meanwhile. It deletes 1,000 rows in a statement. If it is interrupted, call it again. A
// table that does not exist has none.
//
// Errors: a *dynajournal.ArgumentError, [projection.ErrInUse], [ErrNoOffsetsTable], those of
// requests, and those of the driver.
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
	o := &sqlOffsets{target: &target{db: db, dialect: dialect}, journal: t.JournalName, name: name, limit: sqlLook}
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
