package sqlprojection

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/projection/internal/engine"
)

// sqlOffsets are the offsets of a projection in a SQL database.
type sqlOffsets struct {
	*target

	// table is the projections table. It is nil for a program that does not run the projection.
	table *engine.Table
	// journal and name are the names of the journal, and of the group and the projection.
	journal, name string
	// limit is the time limit of a statement.
	limit time.Duration
	// turn has a token while a transaction of the group is under way. It is nil if the number of
	// transactions is not limited.
	turn chan struct{}
	// ready reports whether the table exists.
	ready atomic.Bool
}

func (*sqlOffsets) InRows() bool { return false }

// Prepare creates the table of the offsets if it does not exist, and then records in the
// projections table that the offsets are not there.
func (o *sqlOffsets) Prepare(ctx context.Context) error {
	if o.ready.Load() {
		return nil
	}
	if err := o.create(ctx); err != nil {
		return err
	}
	err := o.table.Send(ctx, dynamo.Update{
		Table: o.table.Name, Key: engine.KindKey(o.journal, o.name),
		Expression: "SET " + engine.AttrOffsets + " = :sql", Condition: engine.Always,
		Values: dynamo.Attributes{":sql": engine.Text(engine.OffsetsInSQL)},
	})
	if err == nil {
		o.ready.Store(true)
	}
	return err
}

// create creates the table if it does not exist. If other processes do so at the same time, one of
// the statements fails, so create reads the table again.
func (o *sqlOffsets) create(ctx context.Context) error {
	_, err := o.read(ctx, "")
	if !o.dialect.missing(err) {
		return err
	}
	within, cancel := context.WithTimeout(ctx, o.limit)
	defer cancel()
	_, failed := o.db.ExecContext(within, o.dialect.OffsetsTable())
	if _, err = o.read(ctx, ""); failed != nil && o.dialect.missing(err) {
		return o.failed(failed)
	}
	return err
}

// stored is an offset in the table. started reports whether its row exists.
type stored struct {
	engine.Offset

	started bool
}

// read reads the offset of a persistence id.
func (o *sqlOffsets) read(ctx context.Context, pid string) (stored, error) {
	within, cancel := context.WithTimeout(ctx, o.limit)
	defer cancel()
	var seq, writer any
	err := o.db.QueryRowContext(within, o.dialect.statement(readOffset), o.journal, o.name, pid).Scan(&seq, &writer)
	if errors.Is(err, sql.ErrNoRows) {
		return stored{}, nil
	}
	if err != nil {
		return stored{}, o.failed(err)
	}
	n, isNumber := seq.(int64)
	w, isText := writer.(string)
	if !isNumber || !isText || n < 0 {
		return stored{}, &engine.DamagedOffsetError{Seq: seq, Writer: writer}
	}
	return stored{engine.Offset{Seq: n, Writer: w}, true}, nil
}

// failed returns the error for a failed statement on the table.
func (o *sqlOffsets) failed(err error) error {
	if o.dialect.refuses(err) {
		return fmt.Errorf("projection %s: %w: %w", o.name, ErrNoOffsetsTable, err)
	}
	return fmt.Errorf("the offsets of projection %s: %w", o.name, err)
}

// Locate replaces the offset of a row of the projections table with the one in the SQL database,
// which alone counts. If the database has no offset, an offset in the projections table may be the
// start of the projection, stored by FromNow. Without FromNow, any other offset is from a
// projection of another kind. With FromNow it can't be distinguished, because rows of v0.1.0 do not
// have begins_behind.
func (o *sqlOffsets) Locate(ctx context.Context, r *engine.Run, state *engine.Row) error {
	put := state.FromNow > 0 && state.FromNow == state.Seq
	if state.Started && !put && !r.Of.FromNow {
		return fmt.Errorf("projection %s of SQL: %w in the projections table", r.Of.Name, projection.ErrOtherOffsets)
	}
	if err := o.Prepare(ctx); err != nil {
		return err
	}
	state.InSQL = true
	now, err := o.read(ctx, r.Pid)
	if damaged := new(engine.DamagedOffsetError); errors.As(err, &damaged) || hasCode(stateOf(err), "22") {
		return r.Unreadable(ctx, state, err)
	}
	if state.Started = now.started; now.started {
		state.Offset, state.Exists = now.Offset, true
	}
	return err
}

func (o *sqlOffsets) LookUp(ctx context.Context, persistenceID string, state *engine.Row) error {
	now, err := o.read(ctx, persistenceID)
	if err == nil && now.started {
		state.Exists, state.Started, state.Offset = true, true, now.Offset
	}
	return err
}
