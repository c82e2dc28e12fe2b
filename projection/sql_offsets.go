package projection

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// sqlOffsets are the offsets of a projection in a SQL database.
type sqlOffsets struct {
	*target

	// table is the projections table. It is nil for a program that does not run the projection.
	table *table
	// journal and name are the names of the journal, and of the group and the projection.
	journal, name string
	// limit bounds a statement.
	limit time.Duration
	// turn has a token while a transaction of the group is under way, nil if any number may be.
	turn chan struct{}
	// ready reports whether the table exists.
	ready atomic.Bool
}

func (*sqlOffsets) inRows() bool { return false }

// prepare creates the table of the offsets if it does not exist, and then records in the
// projections table that the offsets are not there.
func (o *sqlOffsets) prepare(ctx context.Context) error {
	if o.ready.Load() {
		return nil
	}
	if err := o.create(ctx); err != nil {
		return err
	}
	err := o.table.send(ctx, dynamo.Update{
		Table: o.table.name, Key: kindKey(o.journal, o.name),
		Expression: "SET " + attrOffsets + " = :sql", Condition: always,
		Values: dynamo.Attributes{":sql": text(offsetsInSQL)},
	})
	if err == nil {
		o.ready.Store(true)
	}
	return err
}

// create makes the table if it does not exist. Others may do so at the same time, which makes the
// statement of one of them fail: so the table is looked at again.
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

// stored is the offset of a row of the table. begun reports whether the row exists.
type stored struct {
	offset

	begun bool
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
		return stored{}, &damagedError{seq, writer}
	}
	return stored{offset{n, w}, true}, nil
}

// damagedError reports that a row of the table has what no projection stores.
type damagedError struct{ seq, writer any }

func (e *damagedError) Error() string {
	return fmt.Sprintf("the row in dynajournal_offsets is damaged: seq %v, writer %v", e.seq, e.writer)
}

// failed returns the error of a statement on the table.
func (o *sqlOffsets) failed(err error) error {
	if o.dialect.refuses(err) {
		return fmt.Errorf("projection %s: %w: %w", o.name, ErrNoOffsetsTable, err)
	}
	return fmt.Errorf("the offsets of projection %s: %w", o.name, err)
}

// locate replaces the offset of a row of the projections table by that in the SQL database, which
// alone counts. Where there is none, one in the projections table is where the projection begins,
// as FromNow has put it there. Without FromNow any other is of a projection of another kind. With
// it that can't be told: rows of v0.1.0 have no attrBegins.
func (o *sqlOffsets) locate(ctx context.Context, r *run, state *row) error {
	put := state.begins > 0 && state.begins == state.seq
	if state.begun && !put && !r.of.fromNow {
		return fmt.Errorf("projection %s of SQL: %w in the projections table", r.of.name, ErrOtherOffsets)
	}
	if err := o.prepare(ctx); err != nil {
		return err
	}
	state.inSQL = true
	now, err := o.read(ctx, r.pid)
	if damaged := new(damagedError); errors.As(err, &damaged) || begins(stateOf(err), "22") {
		return r.unreadable(ctx, state, err)
	}
	if state.begun = now.begun; now.begun {
		state.offset, state.exists = now.offset, true
	}
	return err
}

func (o *sqlOffsets) lookUp(ctx context.Context, persistenceID string, state *row) error {
	now, err := o.read(ctx, persistenceID)
	if err == nil && now.begun {
		state.exists, state.begun, state.offset = true, true, now.offset
	}
	return err
}
