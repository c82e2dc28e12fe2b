package sqlprojection

import (
	"context"
	"database/sql"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/projection/internal/engine"
)

// statementTimeout limits the time of a statement of WaitFor.
const statementTimeout = 20 * time.Second

// WaitFor is [projection.WaitFor] for a projection of [New]: it waits until the effects of the
// events up to a sequence number are in the database. It polls the offset there. Each poll also
// costs 1 read unit of the projections table, to see whether the persistence id is stuck. WaitFor
// also waits while the table of the offsets does not exist.
//
// Errors: as for projection.WaitFor, [ErrNoOffsetsTable], and errors of the driver.
func WaitFor(
	ctx context.Context, journal *dynajournal.Journal, db *sql.DB, dialect Dialect,
	name, persistenceID string, sequenceNumber int64,
) error {
	if err := engine.CheckWait(journal, name, sequenceNumber); err != nil {
		return err
	}
	if db == nil {
		return engine.Argument("db", nil, "it must be a database")
	}
	if err := dialect.check(); err != nil {
		return err
	}
	t := engine.OpenTable(journal)
	key := engine.RowKey(t.JournalName, name, persistenceID)
	o := &sqlOffsets{target: &target{db: db, dialect: dialect}, journal: t.JournalName, name: name, limit: statementTimeout}
	read := func() (engine.Row, error) {
		now, err := o.read(ctx, persistenceID)
		if err != nil && !dialect.isTemporary(err) && !dialect.missing(err) {
			return engine.Row{}, err
		}
		if now.Seq >= sequenceNumber {
			return engine.Row{Offset: now.Offset}, nil
		}
		state, err := t.Row(ctx, key)
		if err == nil && state.Stuck() {
			// Events may have been handled after the offset was read, and before the persistence id
			// became stuck.
			if now, err = o.read(ctx, persistenceID); err != nil && (dialect.isTemporary(err) || dialect.missing(err)) {
				return engine.Row{}, nil // the next poll reads the offset again
			}
		}
		if now.started {
			state.Offset = now.Offset
		}
		return state, err
	}
	state, err := engine.Wait(ctx, name, persistenceID, sequenceNumber, read)
	if err == nil && state.Seq < sequenceNumber {
		return &projection.StuckError{Projection: name, PersistenceID: persistenceID, Offset: state.Seq, Reason: state.Reason}
	}
	return err
}
