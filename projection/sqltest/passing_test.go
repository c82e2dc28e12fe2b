package sqltest_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/projection/sqlprojection"
)

// once returns a configuration with which a single failure of a handler makes its persistence id
// stuck.
func once() projection.Config {
	config := fast()
	config.Attempts, config.BatchSize = 1, 3
	return config
}

// records counts log records.
type records struct {
	slog.Handler

	n atomic.Int64
}

func (r *records) Enabled(context.Context, slog.Level) bool { return true }

func (r *records) Handle(context.Context, slog.Record) error {
	r.n.Add(1)
	return nil
}

// Two persistence ids change the same rows in different orders, at the same time.
func TestDeadlock_Retried(t *testing.T) {
	t.Parallel()
	b := onPostgres(t)
	b.exec(`CREATE TABLE counters (id text PRIMARY KEY, n bigint NOT NULL)`)
	b.exec(`INSERT INTO counters VALUES ('a', 0), ('b', 0)`)
	b.write("a", "x", "y")
	b.write("b", "x", "y")
	var both sync.WaitGroup
	both.Add(2)
	var met atomic.Int64
	first := map[string]*sync.Once{"a": new(sync.Once), "b": new(sync.Once)}
	b.run(once(), ledger{on: func(ctx context.Context, tx *sql.Tx, e dynajournal.Event) error {
		other := map[string]string{"a": "b", "b": "a"}[e.PersistenceID]
		_, err := tx.ExecContext(ctx, `UPDATE counters SET n = n + 1 WHERE id = $1`, e.PersistenceID)
		first[e.PersistenceID].Do(func() {
			both.Done()
			both.Wait() // now each has what the other needs
		})
		if err == nil {
			_, err = tx.ExecContext(ctx, `UPDATE counters SET n = n + 1 WHERE id = $1`, other)
		}
		if err != nil && strings.Contains(err.Error(), "40P01") {
			met.Add(1)
		}
		return err
	}})
	b.await("a", 2)
	b.await("b", 2)
	b.wantEffects("a", "1 x", "2 y")
	b.wantEffects("b", "1 x", "2 y")
	b.wantNumber(`SELECT sum(n) FROM counters`, 8)
	if met.Load() == 0 {
		t.Error("there was no deadlock")
	}
}

// At the highest isolation level transactions on the same row fail to be serialized.
func TestSerializableTransactionsAreTriedAgain(t *testing.T) {
	t.Parallel()
	b := onPostgres(t)
	b.exec(`CREATE TABLE counters (n bigint NOT NULL)`)
	b.exec(`INSERT INTO counters VALUES (0)`)
	for i := range 5 {
		b.write(fmt.Sprint("id", i), "x", "y", "z", "u")
	}
	b.db = b.connect(b.source + " default_transaction_isolation=serializable")
	b.run(once(), ledger{on: func(ctx context.Context, tx *sql.Tx, _ dynajournal.Event) error {
		_, err := tx.ExecContext(ctx, `UPDATE counters SET n = (SELECT n + 1 FROM counters)`)
		return err
	}})
	for i := range 5 {
		b.await(fmt.Sprint("id", i), 4)
		b.wantEffects(fmt.Sprint("id", i), "1 x", "2 y", "3 z", "4 u")
	}
	b.wantNumber(`SELECT n FROM counters`, 20)
}

// Another program writes, for longer than the driver waits.
func TestLockedSQLiteIsWaitedFor(t *testing.T) {
	t.Parallel()
	b := onSQLite(t)
	b.write("a", "x", "y")
	b.db = b.connect(strings.Replace(b.source, "busy_timeout(1000)", "busy_timeout(0)", 1))
	config := once()
	stop := b.start(b.group(b.journal, config, sqlprojection.New("effects", b.db, b.dialect, ledger{})))
	b.await("a", 2)
	stop()
	b.write("a", "z")
	other, err := b.connect(b.source).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	if _, err := other.ExecContext(t.Context(), `BEGIN IMMEDIATE`); err != nil {
		t.Fatal(err)
	}
	g := b.group(b.journal, config, sqlprojection.New("effects", b.db, b.dialect, ledger{}))
	b.start(g)
	b.until("it waits for the database", func() bool { return g.Lag()[0].Delayed == 1 })
	if _, err := other.ExecContext(t.Context(), `ROLLBACK`); err != nil {
		t.Fatal(err)
	}
	b.await("a", 3)
	b.wantEffects("a", "1 x", "2 y", "3 z")
}

// A lost connection does not count as a failure, whether or not the handler returns the driver's
// error.
func TestLostConnectionIsNoFailure(t *testing.T) {
	t.Parallel()
	for name, hide := range map[string]func(error) error{
		"returned": func(err error) error { return err },
		"hidden":   func(err error) error { return errors.New(err.Error()) },
		"wanted":   func(error) error { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := onPostgres(t)
			b.write("a", "x", "y", "z")
			var left atomic.Int64
			left.Store(3)
			b.run(once(), ledger{on: func(ctx context.Context, tx *sql.Tx, e dynajournal.Event) error {
				if e.SequenceNumber != 2 || left.Add(-1) < 0 {
					return nil
				}
				_, err := tx.ExecContext(ctx, `SELECT pg_terminate_backend(pg_backend_pid())`)
				if err == nil {
					t.Error("the connection lives")
				}
				return hide(err)
			}})
			b.await("a", 3)
			b.wantEffects("a", "1 x", "2 y", "3 z")
		})
	}
}

// The responses of commits are lost, whether or not the server has received the commits.
func TestCommit_LostResponse(t *testing.T) {
	t.Parallel()
	b := onPostgres(t)
	s, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	var commits atomic.Int64
	p := s.proxy(t, func() (bool, bool) {
		n := commits.Add(1)
		return n%3 != 0, n%3 == 1
	})
	for i := range 3 {
		b.write(fmt.Sprint("id", i), "x", "y", "z", "u", "v")
	}
	_, schema, _ := strings.Cut(b.source, "search_path=")
	config := once()
	config.BatchSize, config.ClaimTimeout = 1, 6*time.Second // it polls for debts each second
	for range 2 {
		through := b.connect(s.source(schema, p.host()))
		b.start(b.group(b.open(), config, sqlprojection.New("effects", through, b.dialect, ledger{})))
	}
	for i := range 3 {
		b.await(fmt.Sprint("id", i), 5)
		b.wantEffects(fmt.Sprint("id", i), "1 x", "2 y", "3 z", "4 u", "5 v")
	}
	if commits.Load() < 15 {
		t.Errorf("only %d commits were seen", commits.Load())
	}
}

// A handler that takes too long has failed, although its connection is lost because of that.
func TestHandlerHasADeadline(t *testing.T) {
	t.Parallel()
	each(t, func(b *bundle) {
		b.write("a", "x", "y")
		config := once()
		config.ClaimTimeout = 900 * time.Millisecond // a third of it for a call
		b.run(config, ledger{on: func(ctx context.Context, tx *sql.Tx, e dynajournal.Event) error {
			if e.SequenceNumber != 2 {
				return nil
			}
			if b.dialect == sqlprojection.Postgres {
				_, _ = tx.ExecContext(ctx, `SELECT pg_sleep(60)`) // its result does not matter
				return nil
			}
			<-ctx.Done()
			return nil
		}})
		stuck := b.stuckness("a")
		if stuck.Offset != 1 || !strings.Contains(stuck.Reason, context.DeadlineExceeded.Error()) {
			b.Errorf("%+v", stuck)
		}
	})
}

// When a group stops, the transaction is rolled back, and another process continues.
func TestGroupThatEndsRollsBack(t *testing.T) {
	t.Parallel()
	each(t, func(b *bundle) {
		b.write("a", "x", "y")
		arrived := make(chan struct{}, 1)
		stop := b.start(b.group(b.journal, once(), sqlprojection.New("effects", b.db, b.dialect,
			ledger{on: func(ctx context.Context, _ *sql.Tx, _ dynajournal.Event) error {
				arrived <- struct{}{}
				<-ctx.Done()
				return ctx.Err()
			}})))
		<-arrived
		stop()
		b.wantEffects("a")
		b.start(b.group(b.journal, once(), sqlprojection.New("effects", b.connect(b.source), b.dialect, ledger{})))
		b.await("a", 2)
		b.wantEffects("a", "1 x", "2 y")
	})
}

// A group waits for a server that can't be reached when the group starts.
func TestServerThatComesLater(t *testing.T) {
	t.Parallel()
	b := onPostgres(t)
	s, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	p := s.proxy(t, nil)
	p.refuse.Store(true)
	b.write("a", "x")
	_, schema, _ := strings.Cut(b.source, "search_path=")
	config := once()
	seen := &records{}
	config.Logger = slog.New(seen)
	g := b.group(b.journal, config, sqlprojection.New("effects", b.connect(s.source(schema, p.host())), b.dialect, ledger{}))
	b.start(g)
	b.until("the outage is logged, and the group waits for the database", func() bool { return seen.n.Load() > 0 && g.Lag()[0].Delayed == 1 })
	p.refuse.Store(false)
	b.await("a", 1)
	b.wantEffects("a", "1 x")
}
