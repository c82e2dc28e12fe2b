package projection_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection"
)

// reads counts the reads of rows of a journal.
type reads struct{ atomic.Int64 }

func (l *reads) install(c *dynajournal.Config) {
	c.Hooks = []dynajournal.Hook{{OnRequest: func(_ context.Context, r dynajournal.Request) {
		if r.Operation == "GetItem" && r.Table == projectionsTable {
			l.Add(1)
		}
	}}}
}

// blocked is a handler whose first call waits.
type blocked struct {
	recorder

	arrived chan struct{}
	passed  chan struct{}
	first   atomic.Bool
}

func block() *blocked {
	b := &blocked{arrived: make(chan struct{}), passed: make(chan struct{})}
	b.on = func(ctx context.Context, _ dynajournal.Event) error {
		if b.first.CompareAndSwap(false, true) {
			close(b.arrived)
			select {
			case <-b.passed:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	}
	return b
}

func TestClaim_WaitsForOtherProcess(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("a", "x", "y")
	first, second := block(), &recorder{}
	start(t, group(t, b.journal, fast(), projection.AtLeastOnce("all", first)))
	comes(t, "the first event", first.arrived)
	var seen reads
	other := group(t, b.Journal(seen.install), fast(), projection.AtLeastOnce("all", second))
	start(t, other)
	until(t, "the other process reads the row three times", func() bool { return seen.Load() >= 3 })
	want(t, "the other process", second.of("a"))
	close(first.passed)
	b.await("group/all", "a", 2)
	until(t, "the other process is done", func() bool { return other.Lag()[0].IDs == 0 })
	want(t, "the first process", first.of("a"), "1 x", "2 y")
	want(t, "the other process", second.of("a"))
}

func TestClaim_TakenOverFromDeadProcess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		b.unindexed() // with the index a payment takes the claim over
		b.write("a", "x", "y")
		first, second := block(), &recorder{}
		gate := b.gate("")
		start(t, group(t, b.Journal(gate.install, func(c *dynajournal.Config) { c.Retries = -1 }), fast(), projection.AtLeastOnce("all", first)))
		comes(t, "the first event", first.arrived)
		gate.dead.Store(true)
		close(first.passed)
		config := fast()
		config.ClaimTimeout = 100 * time.Millisecond
		start(t, group(t, b.Journal(), config, projection.AtLeastOnce("all", second)))
		b.await("group/all", "a", 2)
		want(t, "the second process", second.of("a"), "1 x", "2 y")
	})
}

// A process that dies before it stores an offset leaves the writer of the first event that its
// handler has seen. So an erasure is also reported then, once, and only if there was one.
func TestPurge_ErasureAfterCrashBeforeFirstOffset(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		w := b.write("a", "x", "y")
		b.write("b", "x")
		first, second := &recorder{}, &recorder{}
		gate := b.gate("")
		first.on = func(context.Context, dynajournal.Event) error {
			gate.dead.Store(true)
			return nil
		}
		config := fast()
		config.Concurrency = 1
		g := group(t, b.Journal(gate.install, func(c *dynajournal.Config) { c.Retries = -1 }), config, projection.AtLeastOnce("all", first))
		stop := start(t, g)
		until(t, "the handler was called", func() bool { return len(first.of("a"))+len(first.of("b")) > 0 })
		stop()
		if _, err := w.Purge(t.Context(), dynajournal.PurgeOptions{Now: true}); err != nil {
			t.Fatal(err)
		}
		b.write("a", "u", "v")
		config.ClaimTimeout = 100 * time.Millisecond
		start(t, group(t, b.Journal(), config, projection.AtLeastOnce("all", second)))
		b.await("group/all", "a", 2)
		b.await("group/all", "b", 1)
		handled := []string{"1 u", "2 v"}
		if len(first.of("a")) > 0 {
			handled = append([]string{"purge at 0"}, handled...)
		}
		want(t, "the persistence id that was purged", second.of("a"), handled...)
		want(t, "the other one", second.of("b"), "1 x")
		if row := b.row("group/all", "a"); row["first_writer"] != nil {
			t.Errorf("the row has %v", row)
		}
	})
}

// A process that was wrongly taken for dead does not move the offset back.
func TestClaim_OffsetWithoutClaimIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		b.write("a", "x")
		first, second := block(), &recorder{}
		slow := group(t, b.journal, fast(), projection.AtLeastOnce("all", first))
		start(t, slow)
		comes(t, "the first event", first.arrived)
		b.write("a", "y")
		config := fast()
		config.ClaimTimeout = 100 * time.Millisecond
		stop := start(t, group(t, b.Journal(), config, projection.AtLeastOnce("all", second)))
		b.await("group/all", "a", 2)
		stop()
		close(first.passed)
		until(t, "the slow process is done", func() bool { return slow.Lag()[0].IDs == 0 })
		if seq := b.rowNumber("group/all", "a", "seq"); seq != 2 {
			t.Errorf("the offset is %d", seq)
		}
		want(t, "the second process", second.of("a"), "1 x", "2 y")
	})
}

// A run whose offset was refused starts again: no other process stores what it has handled.
func TestClaim_RunRestartsAfterRefusedOffset(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		b.unindexed() // with the index a payment takes the claim over
		b.write("a", "x", "y")
		first, failed := block(), make(chan struct{}, 100)
		slow := group(t, b.journal, fast(), projection.AtLeastOnce("all", first))
		start(t, slow)
		comes(t, "the first event", first.arrived)
		config := fast()
		config.ClaimTimeout, config.Attempts = 100*time.Millisecond, 1_000_000
		stop := start(t, group(t, b.Journal(), config, projection.AtLeastOnce("all", &recorder{on: func(_ context.Context, e dynajournal.Event) error {
			if e.SequenceNumber == 2 {
				failed <- struct{}{}
				return errWanted
			}
			return nil
		}})))
		comes(t, "the failure", failed)
		stop()
		close(first.passed)
		b.await("group/all", "a", 2)
		until(t, "the slow process is done", func() bool { return slow.Lag()[0].IDs == 0 })
	})
}

// A trigger that arrives during a run, after its read, is not done by that run.
func TestTrigger_DuringRun(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("a", "x")
	all := block()
	g := group(t, b.journal, fast(), projection.AtLeastOnce("all", all))
	start(t, g)
	comes(t, "the first event", all.arrived)
	b.write("a", "y")
	g.Trigger("a")
	close(all.passed)
	b.await("group/all", "a", 2)
	want(t, "all", all.of("a"), "1 x", "2 y")
}

// When a group stops, the handler's context ends, the offset of handled events is stored, and the
// claim is released.
func TestRun_EndsWithContext(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("a", "x", "y")
	arrived := make(chan struct{})
	all := &recorder{on: func(ctx context.Context, e dynajournal.Event) error {
		if e.SequenceNumber == 2 {
			close(arrived)
			<-ctx.Done()
			return ctx.Err()
		}
		return nil
	}}
	stop := start(t, group(t, b.journal, fast(), projection.AtLeastOnce("all", all)))
	comes(t, "the event", arrived)
	stop()
	row := b.row("group/all", "a")
	if _, claimed := row["claim"]; claimed || b.rowNumber("group/all", "a", "seq") != 1 {
		t.Errorf("the row is %v", row)
	}
}

// A handler that takes longer than a third of Config.ClaimTimeout has failed.
func TestHandlerHasADeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		b.write("a", "x")
		config := fast()
		config.ClaimTimeout, config.Attempts = 100*time.Millisecond, 1
		g := group(t, b.journal, config, projection.AtLeastOnce("all", projection.HandlerFunc(func(ctx context.Context, _ dynajournal.Event) error {
			<-ctx.Done()
			return context.Cause(ctx)
		})))
		start(t, g)
		stuckness(b, "group/all", "a")
		wantError(t, "Resume", g.Resume(t.Context(), "all", "a"), context.DeadlineExceeded)
	})
}

func TestRun_Twice(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("a", "x")
	all := block()
	g := group(t, b.journal, fast(), projection.AtLeastOnce("all", all))
	stop := start(t, g)
	comes(t, "the first event", all.arrived)
	wantError(t, "a second Run", g.Run(t.Context()), projection.ErrRunning)
	close(all.passed)
	stop()
	b.write("a", "y")
	start(t, g)
	b.await("group/all", "a", 2)
}

func TestRun_EndsWithJournal(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("a", "x")
	j := b.Journal()
	g := group(t, j, fast(), projection.AtLeastOnce("all", &recorder{}))
	over := make(chan error, 1)
	go func() { over <- g.Run(context.Background()) }()
	b.await("group/all", "a", 1)
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	g.Trigger("a")
	if err := comes(t, "the end of the group", over); !errors.Is(err, dynajournal.ErrClosed) {
		t.Errorf("Run: %v", err)
	}
}
