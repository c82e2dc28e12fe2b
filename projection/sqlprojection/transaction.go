package sqlprojection

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/dynajournal/dynajournal/projection/internal/engine"
)

// transaction is a transaction that has locked the row of an offset.
type transaction struct {
	*sqlOffsets

	conn *sql.Conn
	tx   *sql.Tx
	pid  string
	// run is the id of the transaction in the row.
	run string
}

// take waits until a transaction may start.
func (o *sqlOffsets) take(ctx context.Context) error {
	if o.turn == nil {
		return nil
	}
	select {
	case o.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// give lets the next transaction start.
func (o *sqlOffsets) give() {
	if o.turn != nil {
		<-o.turn
	}
}

// start starts a transaction that has locked the row of an offset. The error is engine.ErrAgain if
// the row has changed since it was read.
//
// The lock is a write: at any isolation level the database makes another transaction on the row
// wait until this one has ended, and then compare. So a transaction that a lost connection has left
// open is also waited for. In SQLite the transaction thereby starts with a write, and can't meet a
// writer later.
func (o *sqlOffsets) start(ctx context.Context, pid string, at stored) (*transaction, error) {
	within, cancel := context.WithTimeout(ctx, o.limit)
	defer cancel()
	t := &transaction{sqlOffsets: o, pid: pid, run: uuid.NewString()}
	err := t.open(ctx, within, at)
	if err != nil {
		t.end()
		return nil, err
	}
	return t, nil
}

// open opens the transaction with the context ctx, and locks the row, for which it has the time of
// within.
func (t *transaction) open(ctx, within context.Context, at stored) error {
	var err error
	if t.conn, err = t.db.Conn(within); err != nil {
		return t.failed(err)
	}
	if t.tx, err = t.conn.BeginTx(ctx, nil); err != nil {
		return t.failed(err)
	}
	text, values := lockOffset+unmoved, []any{t.run, t.journal, t.name, t.pid, at.Seq, at.Writer}
	if !at.started {
		text, values = firstOffset, []any{t.journal, t.name, t.pid, at.Seq, at.Writer, t.run}
	}
	locked, err := t.execute(within, text, values...)
	switch {
	case isConflict(err):
		return fmt.Errorf("%w: %w", engine.ErrAgain, err)
	case err != nil:
		return t.failed(err)
	case !locked:
		return engine.ErrAgain
	}
	return nil
}

// execute executes a statement on the row, and reports whether it changed the row.
func (t *transaction) execute(ctx context.Context, text string, values ...any) (bool, error) {
	result, err := t.tx.ExecContext(ctx, t.dialect.statement(text), values...)
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return n == 1, err
}

// move stores an offset. The error is ErrTransactionEnded if the row does not have the id of the
// transaction: then the writes of the handlers were rolled back, and the offset would be stored
// alone.
func (t *transaction) move(ctx context.Context, to engine.Offset) error {
	within, cancel := context.WithTimeout(ctx, t.limit)
	defer cancel()
	moved, err := t.execute(within, moveOffset, to.Seq, to.Writer, t.journal, t.name, t.pid, t.run)
	return notEnded(moved, err)
}

// whole returns ErrTransactionEnded if SQLite has rolled the transaction back, as it does after
// some errors of statements. A handler that ignores such an error does not notice: later writes
// would be stored without earlier ones. PostgreSQL refuses all statements after an error.
func (t *transaction) whole(ctx context.Context) error {
	if t.dialect != SQLite {
		return nil
	}
	updated, err := t.execute(ctx, checkOffset, t.run, t.journal, t.name, t.pid, t.run)
	return notEnded(updated, err)
}

// notEnded returns the error of a statement on the row: ErrTransactionEnded if it has not found the
// row with the id of the transaction.
func notEnded(found bool, err error) error {
	if errors.Is(err, sql.ErrTxDone) || err == nil && !found {
		return ErrTransactionEnded
	}
	return err
}

// broken rolls the transaction back, and reports whether its connection is lost.
func (t *transaction) broken(ctx context.Context) error {
	_ = t.tx.Rollback() // it may have ended already
	within, cancel := context.WithTimeout(ctx, t.limit)
	defer cancel()
	return t.conn.PingContext(within)
}

// end rolls the transaction back if it was not committed, and gives the connection back.
func (t *transaction) end() {
	if t.tx != nil {
		_ = t.tx.Rollback() // it may have ended already
	}
	if t.conn != nil {
		_ = t.conn.Close() // returns it to the pool
	}
}
