package projection_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"testing"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/projection/sqlprojection"
)

// The rest is tested with real databases in the module sqltest below this folder.

// connector is a database that refuses all connections.
type connector struct{ err error }

func (c connector) Connect(context.Context) (driver.Conn, error) { return nil, c.err }

func (connector) Driver() driver.Driver { return nil }

// coded is an error of a PostgreSQL driver.
type coded struct{ code string }

func (e coded) Error() string { return "the server says " + e.code }

func (e coded) SQLState() string { return e.code }

func nothing(context.Context, *sql.Tx, dynajournal.Event) error { return nil }

func TestWrongArgumentsOfSQLAreRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	db := sql.OpenDB(connector{errWanted})
	t.Cleanup(func() { _ = db.Close() })
	for name, p := range map[string]projection.Projection{
		"no name":       sqlprojection.New("", db, sqlprojection.SQLite, sqlprojection.HandlerFunc(nothing)),
		"no database":   sqlprojection.New("a", nil, sqlprojection.SQLite, sqlprojection.HandlerFunc(nothing)),
		"no dialect":    sqlprojection.New("a", db, 0, sqlprojection.HandlerFunc(nothing)),
		"wrong dialect": sqlprojection.New("a", db, 9, sqlprojection.HandlerFunc(nothing)),
		"no handler":    sqlprojection.New("a", db, sqlprojection.Postgres, nil),
	} {
		_, err := projection.New(b.journal, fast(), p)
		wantError(t, name, err, dynajournal.ErrInvalidArgument)
	}
	wait := func(j *dynajournal.Journal, db *sql.DB, dialect sqlprojection.Dialect, name string, seq int64) error {
		return sqlprojection.WaitFor(t.Context(), j, db, dialect, name, "a", seq)
	}
	for name, err := range map[string]error{
		"no journal":        wait(nil, db, sqlprojection.SQLite, "group/all", 1),
		"no database":       wait(b.journal, nil, sqlprojection.SQLite, "group/all", 1),
		"no dialect":        wait(b.journal, db, 0, "group/all", 1),
		"no slash":          wait(b.journal, db, sqlprojection.SQLite, "all", 1),
		"a negative number": wait(b.journal, db, sqlprojection.SQLite, "group/all", -1),
	} {
		wantError(t, "WaitFor: "+name, err, dynajournal.ErrInvalidArgument)
	}
	wantError(t, "WaitFor without a server", wait(b.journal, db, sqlprojection.Postgres, "group/all", 1), errWanted)
}

// A database that can't be reached stops its own projection only, and makes nothing stuck.
func TestDatabaseThatIsDownIsWaitedFor(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("a", "x")
	db := sql.OpenDB(connector{errWanted})
	t.Cleanup(func() { _ = db.Close() })
	config := fast()
	config.Attempts = 1
	g := group(t, b.journal, config, projection.AtLeastOnce("all", &recorder{}),
		sqlprojection.New("effects", db, sqlprojection.Postgres, sqlprojection.HandlerFunc(nothing)))
	start(t, g)
	b.await("group/all", "a", 1)
	until(t, "it is tried", func() bool { return g.Lag()[1].Delayed == 1 })
	if b.row("group/effects", "a") != nil {
		t.Errorf("there is the row %v", b.row("group/effects", "a"))
	}
}

// A server that refuses the group permanently stops it.
func TestDatabaseThatRefusesEndsTheGroup(t *testing.T) {
	t.Parallel()
	b := setup(t)
	db := sql.OpenDB(connector{coded{"28P01"}})
	t.Cleanup(func() { _ = db.Close() })
	g := group(t, b.journal, fast(), sqlprojection.New("effects", db, sqlprojection.Postgres, sqlprojection.HandlerFunc(nothing)))
	err := g.Run(t.Context())
	wantError(t, "Run", err, sqlprojection.ErrNoOffsetsTable)
	if code, ok := errors.AsType[coded](err); !ok || code.code != "28P01" {
		t.Errorf("Run: %v", err)
	}
}

// A projection keeps its kind: a projection whose offsets were in DynamoDB can't become one of SQL,
// and the reverse.
func TestProjectionKeepsItsKind(t *testing.T) {
	t.Parallel()
	db := sql.OpenDB(connector{errWanted})
	t.Cleanup(func() { _ = db.Close() })
	inSQL := func(options ...projection.Option) projection.Projection {
		return sqlprojection.New("all", db, sqlprojection.SQLite, sqlprojection.HandlerFunc(nothing), options...)
	}
	inTable := func(options ...projection.Option) projection.Projection {
		return projection.AtLeastOnce("all", &recorder{}, options...)
	}
	for name, defined := range map[string]projection.Projection{
		"from the first event": inTable(), "from now": inTable(projection.FromNow()),
		"from now, in SQL": inSQL(projection.FromNow()),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			w := b.write("a", "x")
			if err := group(t, b.journal, fast(), defined).Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			if _, err := w.Append(t.Context(), "y"); err != nil {
				t.Fatal(err)
			}
			stop := start(t, group(t, b.journal, fast(), inTable()))
			b.await("group/all", "a", 2)
			stop()
			wantError(t, "Run", group(t, b.journal, fast(), inSQL()).Run(t.Context()), projection.ErrOtherOffsets)
		})
	}
}
