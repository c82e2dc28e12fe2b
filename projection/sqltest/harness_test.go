package sqltest_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	_ "modernc.org/sqlite"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/projection/sqlprojection"
)

func TestMain(m *testing.M) {
	code := m.Run()
	err := stopShared()
	if err == nil && code == 0 {
		err = goleak.Find()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// stopShared stops the shared server if a test has used it.
func stopShared() error {
	if !sharedUsed.Load() {
		return nil
	}
	s, err := shared()
	if err != nil {
		return nil //nolint:nilerr // the tests have reported it
	}
	return s.stop()
}

var (
	// schemas counts the schemas of tests.
	schemas atomic.Int64
	// sharedUsed reports whether a test has used the shared server.
	sharedUsed atomic.Bool
)

// patience is how long a test waits for an expected event, even on a busy machine. Without a
// safeguard the test is expected to fail, so it waits less.
var patience = func() time.Duration {
	if os.Getenv("DYNAJOURNAL_WITHOUT") != "" {
		return 10 * time.Second
	}
	return time.Minute
}()

// bundle is an engine with the tables of a journal, and a SQL database.
type bundle struct {
	*testing.T

	engine  *embedded.Engine
	config  dynajournal.Config
	journal *dynajournal.Journal
	dialect sqlprojection.Dialect
	// source names the database for the driver.
	driver, source string
	db             *sql.DB
}

// each runs a test with each kind of database.
func each(t *testing.T, test func(*bundle)) {
	t.Helper()
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		test(onSQLite(t))
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		test(onPostgres(t))
	})
}

func onSQLite(t *testing.T) *bundle {
	t.Helper()
	file := filepath.Join(t.TempDir(), "db")
	return setup(t, sqlprojection.SQLite, "sqlite", "file:"+file+"?_pragma=journal_mode(WAL)&_pragma=busy_timeout(1000)")
}

func onPostgres(t *testing.T) *bundle {
	t.Helper()
	sharedUsed.Store(true)
	s := postgres(t, shared)
	return setup(t, sqlprojection.Postgres, "pgx", s.source(s.schema(t), ""))
}

func setup(t *testing.T, dialect sqlprojection.Dialect, driver, source string) *bundle {
	t.Helper()
	engine, err := embedded.OpenMemory(embedded.WithSweepInterval(0))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = engine.Close() })
	b := &bundle{
		T: t, engine: engine, dialect: dialect, driver: driver, source: source,
		config: dynajournal.Config{AWS: engine.AWSConfig(), BackoffBase: 1, BackoffCap: 1},
	}
	if err := dynajournal.CreateTables(t.Context(), b.config, dynajournal.TableOptions{Projections: true}); err != nil {
		t.Fatal(err)
	}
	b.journal = b.open()
	b.db = b.connect(source)
	b.exec(`CREATE TABLE effects (id text NOT NULL, nth bigint NOT NULL, what text NOT NULL)`)
	return b
}

// open opens the journal.
func (b *bundle) open(change ...func(*dynajournal.Config)) *dynajournal.Journal {
	b.Helper()
	config := b.config
	for _, f := range change {
		f(&config)
	}
	j, err := dynajournal.Open(b.Context(), config)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = j.Close() })
	return j
}

// connect opens the database under a name.
func (b *bundle) connect(source string) *sql.DB {
	b.Helper()
	db, err := sql.Open(b.driver, source)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	return db
}

func (b *bundle) exec(text string, values ...any) {
	b.Helper()
	if _, err := b.db.ExecContext(b.Context(), text, values...); err != nil {
		b.Fatal(err)
	}
}

// write appends events, each on its own, and returns the writer.
func (b *bundle) write(pid string, events ...any) *dynajournal.Writer {
	b.Helper()
	w, err := b.journal.Recover(b.Context(), pid, dynajournal.RecoverOptions{}, nil)
	if err != nil {
		b.Fatal(err)
	}
	for _, e := range events {
		if _, err := w.Append(b.Context(), e); err != nil {
			b.Fatal(err)
		}
	}
	return w
}

// ledger is a handler that writes its calls into the table effects.
type ledger struct {
	// on, if set, is called before an event is written. Its error becomes the handler's.
	on func(ctx context.Context, tx *sql.Tx, e dynajournal.Event) error
}

func (l ledger) Handle(ctx context.Context, tx *sql.Tx, e dynajournal.Event) error {
	text, err := dynajournal.Decode[string](ctx, e)
	if err == nil {
		err = note(ctx, tx, e.PersistenceID, fmt.Sprintf("%d %s", e.SequenceNumber, text))
	}
	if err == nil && l.on != nil {
		err = l.on(ctx, tx, e)
	}
	return err
}

func (l ledger) HandleGap(ctx context.Context, tx *sql.Tx, g projection.Gap) error {
	return note(ctx, tx, g.PersistenceID, fmt.Sprintf("gap %d-%d", g.First, g.Last))
}

func (l ledger) HandlePurge(ctx context.Context, tx *sql.Tx, p projection.Purge) error {
	return note(ctx, tx, p.PersistenceID, fmt.Sprintf("purge at %d up to %d", p.Offset, p.Last))
}

// note writes a row, numbered in the order of its persistence id.
func note(ctx context.Context, tx *sql.Tx, pid, what string) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO effects (id, nth, what)
		SELECT $1, count(*) + 1, $2 FROM effects WHERE id = $1`, pid, what)
	return err
}

// effects returns the effects that were written for a persistence id.
func (b *bundle) effects(pid string) string {
	b.Helper()
	rows, err := b.db.QueryContext(b.Context(), `SELECT what FROM effects WHERE id = $1 ORDER BY nth`, pid)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	var all []string
	for rows.Next() {
		var what string
		if err := rows.Scan(&what); err != nil {
			b.Fatal(err)
		}
		all = append(all, what)
	}
	if err := rows.Err(); err != nil {
		b.Fatal(err)
	}
	return strings.Join(all, ", ")
}

func (b *bundle) wantEffects(pid string, want ...string) {
	b.Helper()
	if got := b.effects(pid); got != strings.Join(want, ", ") {
		b.Errorf("%s has the effects %q, want %q", pid, got, strings.Join(want, ", "))
	}
}

// wantNumber checks the number that a query returns.
func (b *bundle) wantNumber(query string, want int64) {
	b.Helper()
	var n int64
	if err := b.db.QueryRowContext(b.Context(), query).Scan(&n); err != nil || n != want {
		b.Errorf("%s: %d, %v, want %d", query, n, err, want)
	}
}

// fast returns a configuration with short pauses, whose source does nothing before the test ends.
func fast() projection.Config {
	return projection.Config{
		Name: "group", Source: projection.Sweep(projection.SweepOptions{Every: time.Hour, PerSecond: -1}),
		RetryShortest: time.Millisecond, RetryLongest: 5 * time.Millisecond, StuckAfter: -1,
		Logger: slog.New(slog.DiscardHandler),
	}
}

// group makes a group of the journal.
func (b *bundle) group(j *dynajournal.Journal, config projection.Config, projections ...projection.Projection) *projection.Group {
	b.Helper()
	g, err := projection.New(j, config, projections...)
	if err != nil {
		b.Fatal(err)
	}
	return g
}

// start runs a group until stop is called or the test ends.
func (b *bundle) start(g *projection.Group) (stop func()) {
	b.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan error, 1)
	go func() { over <- g.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-over; err != nil {
			b.Errorf("Run: %v", err)
		}
	})
	b.Cleanup(stop)
	return stop
}

// run starts a group of one projection, group/effects.
func (b *bundle) run(config projection.Config, h sqlprojection.Handler) *projection.Group {
	b.Helper()
	g := b.group(b.journal, config, sqlprojection.New("effects", b.db, b.dialect, h))
	b.start(g)
	return g
}

// await waits until the projection has handled events up to a number.
func (b *bundle) await(pid string, seq int64) {
	b.Helper()
	if err := b.wait(pid, seq); err != nil {
		b.Fatal(err)
	}
}

func (b *bundle) wait(pid string, seq int64) error {
	ctx, cancel := context.WithTimeout(b.Context(), patience)
	defer cancel()
	return sqlprojection.WaitFor(ctx, b.journal, b.db, b.dialect, "group/effects", pid, seq)
}

// stuckness waits until a persistence id is stuck, and returns the error.
func (b *bundle) stuckness(pid string) *projection.StuckError {
	b.Helper()
	err := b.wait(pid, 1<<40)
	stuck, ok := errors.AsType[*projection.StuckError](err)
	if !ok {
		b.Fatalf("WaitFor: %v, want a *StuckError", err)
	}
	return stuck
}

// until waits until a condition holds.
func (b *bundle) until(what string, done func() bool) {
	b.Helper()
	for deadline := time.Now().Add(patience); !done(); {
		if time.Now().After(deadline) {
			b.Fatalf("it never happens: %s", what)
		}
		time.Sleep(time.Millisecond)
	}
}
