package projection

import (
	"context"
	"database/sql"
	"time"

	"github.com/dynajournal/dynajournal"
)

// sqlLook bounds a statement of WaitForSQL.
const sqlLook = 20 * time.Second

// WaitForSQL is [WaitFor] for a projection of [SQL]: it waits until the effects of the events up to
// a sequence number are in the database. It reads the offset there, and 1 read unit of the
// projections table a look to see whether the persistence id is stuck. It waits also while the
// table of the offsets does not exist.
//
// Errors: those of WaitFor, [ErrNoOffsetsTable], and those of the driver.
func WaitForSQL(
	ctx context.Context, journal *dynajournal.Journal, db *sql.DB, dialect Dialect,
	projection, persistenceID string, sequenceNumber int64,
) error {
	if err := checkWait(journal, projection, sequenceNumber); err != nil {
		return err
	}
	if db == nil {
		return argument("db", nil, "it must be a database")
	}
	if err := dialect.check(); err != nil {
		return err
	}
	t := openTable(journal)
	key := rowKey(t.journalName, projection, persistenceID)
	o := &sqlOffsets{target: &target{db: db, dialect: dialect}, journal: t.journalName, name: projection, limit: sqlLook}
	look := func() (row, error) {
		now, err := o.read(ctx, persistenceID)
		if err != nil && !dialect.passes(err) && !dialect.missing(err) {
			return row{}, err
		}
		if now.seq >= sequenceNumber {
			return row{offset: now.offset}, nil
		}
		state, err := t.row(ctx, key)
		if err == nil && state.stuck > 0 {
			// Events can have been handled since the offset was read, before one was not.
			if now, err = o.read(ctx, persistenceID); err != nil && (dialect.passes(err) || dialect.missing(err)) {
				return row{}, nil // the next look tells
			}
		}
		if now.begun {
			state.offset = now.offset
		}
		return state, err
	}
	return wait(ctx, projection, persistenceID, sequenceNumber, look)
}
