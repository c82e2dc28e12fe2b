package sqltest_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/projection/sqlprojection"
)

var errWanted = errors.New("wanted")

func TestEventsAreHandledOnce(t *testing.T) {
	t.Parallel()
	each(t, func(b *bundle) {
		w := b.write("a", "x", "y", "z")
		b.write("b", "x")
		if _, err := w.DeleteTo(b.Context(), 1); err != nil {
			b.Fatal(err)
		}
		g := b.run(fast(), ledger{})
		b.await("a", 3)
		b.await("b", 1)
		b.wantEffects("a", "gap 1-1", "2 y", "3 z")
		b.wantEffects("b", "1 x")

		if _, err := w.Purge(b.Context(), dynajournal.PurgeOptions{Now: true}); err != nil {
			b.Fatal(err)
		}
		b.write("a", "new")
		g.Trigger("a")
		b.until("the new life is handled", func() bool { return strings.HasSuffix(b.effects("a"), "1 new") })
		b.wantEffects("a", "gap 1-1", "2 y", "3 z", "purge at 3 up to 0", "1 new")

		err := projection.WaitFor(b.Context(), b.journal, "group/effects", "b", 1)
		if !errors.Is(err, projection.ErrOtherOffsets) || !strings.Contains(err.Error(), "sqlprojection.WaitFor") {
			b.Errorf("WaitFor: %v", err)
		}
	})
}

// The effects of a purge are in the transaction of the offset, whether the persistence id is used
// again or not.
func TestPurge_InTransactionOfOffset(t *testing.T) {
	t.Parallel()
	each(t, func(b *bundle) {
		w := b.write("a", "x", "y")
		b.write("b", "x")
		g := b.run(fast(), ledger{})
		b.await("a", 2)
		b.await("b", 1)
		if _, err := w.Purge(b.Context(), dynajournal.PurgeOptions{}); err != nil {
			b.Fatal(err)
		}
		g.Trigger("a")
		b.await("a", 3)
		b.wantEffects("a", "1 x", "2 y", "purge at 2 up to 3")
		b.write("a", "z")
		g.Trigger("a")
		b.await("a", 4)
		b.wantEffects("a", "1 x", "2 y", "purge at 2 up to 3", "4 z")
		b.wantEffects("b", "1 x")
	})
}

// If an event fails, the events before it are stored without it, and the failure counts for that
// event alone.
func TestFailureLeavesTheEventsBeforeIt(t *testing.T) {
	t.Parallel()
	each(t, func(b *bundle) {
		b.write("a", "x", "y", "poison", "z")
		b.write("b", "x")
		var attempts atomic.Int64
		var cured atomic.Bool
		config := fast()
		config.Attempts = 3
		g := b.run(config, ledger{on: func(_ context.Context, _ *sql.Tx, e dynajournal.Event) error {
			if e.SequenceNumber == 3 && !cured.Load() {
				attempts.Add(1)
				if attempts.Load()%2 == 0 {
					panic(errWanted)
				}
				return errWanted
			}
			return nil
		}})
		stuck := b.stuckness("a")
		if stuck.Offset != 2 || !strings.Contains(stuck.Reason, errWanted.Error()) || attempts.Load() != 3 {
			b.Errorf("after %d attempts: %+v", attempts.Load(), stuck)
		}
		b.wantEffects("a", "1 x", "2 y")
		b.await("b", 1)
		if err := g.Resume(b.Context(), "effects", "a"); !errors.Is(err, errWanted) {
			b.Errorf("Resume while it fails: %v", err)
		}
		cured.Store(true)
		if err := g.Resume(b.Context(), "effects", "a"); err != nil {
			b.Fatal(err)
		}
		b.wantEffects("a", "1 x", "2 y", "3 poison", "4 z")
		b.write("a", "w")
		g.Trigger("a")
		b.await("a", 5)
	})
}

// Each event fails once, and succeeds when it is retried. No event fails as often as Attempts.
func TestEachEventHasItsOwnAttempts(t *testing.T) {
	t.Parallel()
	each(t, func(b *bundle) {
		b.write("a", "1", "2", "3", "4")
		failed := map[int64]bool{}
		h := ledger{on: func(_ context.Context, _ *sql.Tx, e dynajournal.Event) error {
			if failed[e.SequenceNumber] {
				return nil
			}
			failed[e.SequenceNumber] = true
			return errWanted
		}}
		config := fast()
		config.Attempts = 2
		b.run(config, h)
		b.await("a", 4)
		b.wantEffects("a", "1 1", "2 2", "3 3", "4 4")
	})
}

// A process reads the offset, and then another process stores a higher one. The first process
// writes nothing.
func TestLateProcessIsRefused(t *testing.T) {
	t.Parallel()
	each(t, func(b *bundle) {
		b.write("a", "x")
		stop := b.start(b.group(b.journal, fast(), sqlprojection.New("effects", b.db, b.dialect, ledger{})))
		b.await("a", 1)
		stop()
		b.write("a", "y", "z")
		gate := newGate("journal-P-a-")
		b.Cleanup(gate.release)
		late := b.group(b.open(gate.install), fast(), sqlprojection.New("effects", b.connect(b.source), b.dialect, ledger{}))
		b.start(late)
		<-gate.arrived // it has read the offset
		b.start(b.group(b.journal, fast(), sqlprojection.New("effects", b.db, b.dialect, ledger{})))
		b.await("a", 3)
		gate.release()
		b.until("the late process is done", func() bool { return late.Lag()[0].IDs == 0 })
		b.wantEffects("a", "1 x", "2 y", "3 z")
	})
}

// Two processes at a persistence id without a row: the second waits in the database for the first.
func TestFirstRowOfTwoProcesses(t *testing.T) {
	t.Parallel()
	each(t, func(b *bundle) {
		b.write("a", "x", "y")
		arrived, passed := make(chan struct{}, 10), make(chan struct{})
		h := ledger{on: func(ctx context.Context, _ *sql.Tx, _ dynajournal.Event) error {
			arrived <- struct{}{}
			select {
			case <-passed:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}}
		first := b.group(b.journal, fast(), sqlprojection.New("effects", b.db, b.dialect, h))
		b.start(first)
		<-arrived
		second := b.group(b.open(), fast(), sqlprojection.New("effects", b.connect(b.source), b.dialect, ledger{}))
		b.start(second)
		b.until("the second process is at it", func() bool { return second.Lag()[0].IDs == 1 })
		close(passed)
		b.await("a", 2)
		b.until("both are done", func() bool { return first.Lag()[0].IDs+second.Lag()[0].IDs == 0 })
		b.wantEffects("a", "1 x", "2 y")
	})
}

// A transaction that a handler has ended stores no offset, even if the handler returns no error.
// The other events are stored.
func TestHandlerThatEndsItsTransaction(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(context.Context, *sql.Tx) error{
		"rollback":           func(_ context.Context, tx *sql.Tx) error { return tx.Rollback() },
		"commit":             func(_ context.Context, tx *sql.Tx) error { return tx.Commit() },
		"rollback statement": func(ctx context.Context, tx *sql.Tx) error { _, err := tx.ExecContext(ctx, "ROLLBACK"); return err },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(b *bundle) {
				b.write("a", "x", "y", "z", "u", "v")
				config := fast()
				config.Attempts = 1
				b.run(config, ledger{on: func(ctx context.Context, tx *sql.Tx, e dynajournal.Event) error {
					if e.SequenceNumber == 4 {
						return end(ctx, tx)
					}
					return nil
				}})
				stuck := b.stuckness("a")
				if stuck.Offset != 3 || !strings.Contains(stuck.Reason, sqlprojection.ErrTransactionEnded.Error()) {
					b.Errorf("%+v", stuck)
				}
				if name == "rollback" || name == "rollback statement" && b.dialect == sqlprojection.SQLite {
					b.wantEffects("a", "1 x", "2 y", "3 z")
				}
			})
		})
	}
}

// An error of the database at the end of a transaction is a failure of the event that caused it.
func TestCommit_DeferredConstraint(t *testing.T) {
	t.Parallel()
	each(t, func(b *bundle) {
		b.exec(`CREATE TABLE parents (n bigint PRIMARY KEY)`)
		b.exec(`CREATE TABLE children (n bigint REFERENCES parents (n) DEFERRABLE INITIALLY DEFERRED)`)
		b.write("a", "x", "y", "z", "u")
		if b.dialect == sqlprojection.SQLite {
			b.db = b.connect(b.source + "&_pragma=foreign_keys(1)")
		}
		config := fast()
		config.Attempts = 2
		b.run(config, ledger{on: func(ctx context.Context, tx *sql.Tx, e dynajournal.Event) error {
			if e.SequenceNumber != 3 {
				return nil
			}
			_, err := tx.ExecContext(ctx, `INSERT INTO children (n) VALUES (7)`)
			return err
		}})
		stuck := b.stuckness("a")
		if stuck.Offset != 2 || !strings.Contains(strings.ToLower(stuck.Reason), "constraint") {
			b.Errorf("%+v", stuck)
		}
		b.wantEffects("a", "1 x", "2 y")
	})
}

// Events that a projection leaves out move the offset.
func TestEventsThatAreLeftOutMoveTheOffset(t *testing.T) {
	t.Parallel()
	each(t, func(b *bundle) {
		tagged := func(text string) dynajournal.NewEvent {
			return dynajournal.NewEvent{Value: text, Tags: []string{"wanted"}}
		}
		b.write("a", "x", tagged("y"), "z", tagged("u"), "v")
		b.write("b", "x")
		b.start(b.group(b.journal, fast(), sqlprojection.New("effects", b.db, b.dialect, ledger{}, projection.OnlyTags("wanted"))))
		b.await("a", 5)
		b.await("b", 1)
		b.wantEffects("a", "2 y", "4 u")
		b.wantEffects("b")
	})
}

// The option is removed from the program after the projection has started, and added again.
func TestFromNowMeansNothingLater(t *testing.T) {
	t.Parallel()
	each(t, func(b *bundle) {
		b.write("a", "x", "y")
		b.write("b", "x")
		of := func(options ...projection.Option) *projection.Group {
			return b.group(b.journal, fast(), sqlprojection.New("effects", b.db, b.dialect, ledger{}, options...))
		}
		if err := of(projection.FromNow()).Start(b.Context()); err != nil {
			b.Fatal(err)
		}
		for n, options := range [][]projection.Option{nil, {projection.FromNow()}, nil} {
			b.write("a", fmt.Sprint(n))
			stop := b.start(of(options...))
			b.await("a", int64(3+n))
			b.await("b", 1)
			stop()
		}
		b.wantEffects("a", "3 0", "4 1", "5 2")
		b.wantEffects("b")
	})
}

// A projection with FromNow has its start in the projections table.
func TestFromNow_StartsAtEnd(t *testing.T) {
	t.Parallel()
	each(t, func(b *bundle) {
		b.write("a", "x", "y")
		for range 2 {
			g := b.group(b.journal, fast(), sqlprojection.New("effects", b.db, b.dialect, ledger{}, projection.FromNow()))
			if err := g.Start(b.Context()); err != nil {
				b.Fatal(err)
			}
			b.await("a", 2)
			b.wantEffects("a")
		}
		b.write("a", "z", "u")
		b.start(b.group(b.journal, fast(), sqlprojection.New("effects", b.db, b.dialect, ledger{}, projection.FromNow())))
		b.await("a", 4)
		b.wantEffects("a", "3 z", "4 u")
		err := projection.WaitFor(b.Context(), b.journal, "group/effects", "a", 4)
		if !errors.Is(err, projection.ErrOtherOffsets) {
			b.Errorf("WaitFor: %v", err)
		}
	})
}
