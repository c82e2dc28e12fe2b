package sqlprojection

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"testing"
)

func TestDialect_StatementParameters(t *testing.T) {
	t.Parallel()
	const text = `a = ? AND b = ?`
	if got := SQLite.statement(text); got != text {
		t.Errorf("SQLite: %s", got)
	}
	if got := Postgres.statement(text); got != `a = $1 AND b = $2` {
		t.Errorf("PostgreSQL: %s", got)
	}
}

// code is an error of a PostgreSQL driver.
type code string

func (c code) Error() string { return "the server says " + string(c) }

func (c code) SQLState() string { return string(c) }

func TestDialect_ClassifiesErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		dialect              Dialect
		err                  error
		met, passes, refuses bool
		violates, missing    bool
	}{
		{dialect: Postgres, err: code("40001"), met: true, passes: true},
		{dialect: Postgres, err: fmt.Errorf("handle: %w", code("40P01")), met: true, passes: true},
		{dialect: Postgres, err: code("57P01"), passes: true},
		{dialect: Postgres, err: code("08006"), passes: true},
		{dialect: Postgres, err: code("25006"), passes: true},
		{dialect: Postgres, err: driver.ErrBadConn, passes: true},
		{dialect: Postgres, err: code("42501"), refuses: true},
		{dialect: Postgres, err: code("42P01"), refuses: true, missing: true},
		{dialect: Postgres, err: code("23505"), violates: true},
		{dialect: Postgres, err: code("22012")},
		{dialect: Postgres, err: code("25P02")},
		{dialect: Postgres, err: errors.New("database is locked")},
		{dialect: SQLite, err: errors.New("database is locked (5) (SQLITE_BUSY)"), passes: true},
		{dialect: SQLite, err: errors.New("database table is locked: a"), passes: true},
		{dialect: SQLite, err: errors.New("SQL logic error: no such table: dynajournal_offsets (1)"), refuses: true, missing: true},
		{dialect: SQLite, err: errors.New("no such column: run"), refuses: true},
		{dialect: SQLite, err: errors.New("attempt to write a readonly database"), refuses: true},
		{dialect: SQLite, err: errors.New("FOREIGN KEY constraint failed"), violates: true},
		{dialect: SQLite, err: errors.New("the account is locked")},
	} {
		d := c.dialect
		if isConflict(c.err) != c.met || d.isTemporary(c.err) != c.passes || d.refuses(c.err) != c.refuses ||
			d.violates(c.err) != c.violates || d.missing(c.err) != c.missing {
			t.Errorf("%v, %v: met %t, passes %t, refuses %t, violates %t, missing %t", d, c.err,
				isConflict(c.err), d.isTemporary(c.err), d.refuses(c.err), d.violates(c.err), d.missing(c.err))
		}
	}
}
