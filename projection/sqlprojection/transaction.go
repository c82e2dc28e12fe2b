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
	// run names the transaction in the row.
	run string
}

// take waits until a transaction may begin.
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

// give lets the next transaction begin.
func (o *sqlOffsets) give() {
	if o.turn != nil {
		<-o.turn
	}
}

// begin begins a transaction that has locked the row of an offset. The error is engine.ErrAgain if
// the row is not what was read.
//
// The lock is a write: the database makes another transaction on the row wait until this one has
// ended, and then compare, whatever the isolation level. So also what a lost connection has left
// behind is waited for. In SQLite the transaction so begins by writing, and can't meet a writer
// later.
func (o *sqlOffsets) begin(ctx context.Context, pid string, at stored) (*transaction, error) {
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

// open opens the transaction, whose context is ctx, and locks the row, for which it has the time of
// within.
func (t *transaction) open(ctx, within context.Context, at stored) error {
	var err error
	if t.conn, err = t.db.Conn(within); err != nil {
		return t.failed(err)
	}
	if t.tx, err = t.conn.BeginTx(ctx, nil); err != nil {
		return t.failed(err)
	}
	text, values := holdOffset+unmoved, []any{t.run, t.journal, t.name, t.pid, at.Seq, at.Writer}
	if !at.begun {
		text, values = firstOffset, []any{t.journal, t.name, t.pid, at.Seq, at.Writer, t.run}
	}
	locked, err := t.execute(within, text, values...)
	switch {
	case met(err):
		return fmt.Errorf("%w: %w", engine.ErrAgain, err)
	case err != nil:
		return t.failed(err)
	case !locked:
		return engine.ErrAgain
	}
	return nil
}

// execute executes a statement on the row, and reports whether it has changed it.
func (t *transaction) execute(ctx context.Context, text string, values ...any) (bool, error) {
	result, err := t.tx.ExecContext(ctx, t.dialect.statement(text), values...)
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return n == 1, err
}

// move stores an offset. The error is ErrTransactionEnded if the row does not have the name of the
// transaction: so what the handlers did was rolled back, and what follows would be stored alone.
func (t *transaction) move(ctx context.Context, to engine.Offset) error {
	within, cancel := context.WithTimeout(ctx, t.limit)
	defer cancel()
	moved, err := t.execute(within, moveOffset, to.Seq, to.Writer, t.journal, t.name, t.pid, t.run)
	return notEnded(moved, err)
}

// whole returns ErrTransactionEnded if the transaction was rolled back by SQLite, which some errors
// of a statement do. A handler that passes over such an error does not notice: what follows would
// be stored without what was before. PostgreSQL refuses everything that follows on an error.
func (t *transaction) whole(ctx context.Context) error {
	if t.dialect != SQLite {
		return nil
	}
	kept, err := t.execute(ctx, keepOffset, t.run, t.journal, t.name, t.pid, t.run)
	return notEnded(kept, err)
}

// notEnded returns the error of a statement on the row: ErrTransactionEnded if it has not found the
// row with the name of the transaction.
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
		_ = t.conn.Close() // it goes back to the pool
	}
}
