package projection_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/projection/operator"
)

// stuckness waits until a persistence id is stuck, and returns the error.
func stuckness(b *bundle, name, pid string) *projection.StuckError {
	b.Helper()
	const never = 1 << 40
	ctx, cancel := context.WithTimeout(b.Context(), patience)
	defer cancel()
	err := projection.WaitFor(ctx, b.journal, name, pid, never)
	wantError(b, "WaitFor", err, projection.ErrStuck)
	stuck, ok := errors.AsType[*projection.StuckError](err)
	if !ok {
		b.Fatalf("%T is no *StuckError", err)
	}
	return stuck
}

func TestFailingHandlerMakesItsIDStuck(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("a", "x", "poison", "y")
	b.write("b", "z")
	var attempts atomic.Int64
	var cured atomic.Bool
	all := &recorder{on: func(_ context.Context, e dynajournal.Event) error {
		if e.PersistenceID == "a" && e.SequenceNumber == 2 && !cured.Load() {
			attempts.Add(1)
			return errWanted
		}
		return nil
	}}
	config := fast()
	config.Attempts = 3
	g := group(t, b.journal, config, projection.AtLeastOnce("all", all))
	start(t, g)
	stuck := stuckness(b, "group/all", "a")
	if stuck.Offset != 1 || !strings.Contains(stuck.Reason, errWanted.Error()) || attempts.Load() != 3 {
		t.Errorf("after %d attempts: %+v", attempts.Load(), stuck)
	}
	b.await("group/all", "b", 1)
	want(t, "a", all.of("a"), "1 x")

	wantError(t, "Resume while it fails", g.Resume(t.Context(), "all", "a"), errWanted)
	stuckness(b, "group/all", "a")
	b.write("a", "w")
	g.Trigger("a")
	cured.Store(true)
	if err := g.Resume(t.Context(), "all", "a"); err != nil {
		t.Fatal(err)
	}
	b.await("group/all", "a", 4)
	want(t, "a", all.of("a"), "1 x", "2 poison", "3 y", "4 w")
	b.write("a", "v")
	g.Trigger("a")
	b.await("group/all", "a", 5)
}

// Each event fails once, and succeeds when it is retried. No event fails as often as Attempts.
func TestEachEventHasItsOwnAttempts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("a", "1", "2", "3", "4", "5", "6")
	once := func() func(dynajournal.Event) error {
		failed := map[int64]bool{}
		return func(e dynajournal.Event) error {
			if failed[e.SequenceNumber] {
				return nil
			}
			failed[e.SequenceNumber] = true
			return errWanted
		}
	}
	fails := once()
	all := &recorder{on: func(_ context.Context, e dynajournal.Event) error { return fails(e) }}
	config := fast()
	config.Attempts = 2
	start(t, group(t, b.journal, config,
		projection.AtLeastOnce("all", all), projection.Transactional("effects", newEffects(b, once()))))
	b.await("group/all", "a", 6)
	b.await("group/effects", "a", 6)
	want(t, "a", all.of("a"), "1 1", "2 2", "3 3", "4 4", "5 5", "6 6")
}

// A trigger that arrives while a stuck persistence id is resumed, after its events were read, is
// not lost.
func TestTriggerWhileAStuckIDIsResumed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := b.write("a", "poison")
	var cured atomic.Bool
	effects := newEffects(b, func(dynajournal.Event) error {
		if !cured.Load() {
			return errWanted
		}
		return nil
	})
	config := fast()
	config.Attempts = 1
	g := group(t, b.journal, config, projection.Transactional("effects", effects))
	start(t, g)
	stuckness(b, "group/effects", "a")
	cured.Store(true)
	gate := b.gate("REMOVE claim, reason")
	other := group(t, b.Journal(gate.install), config, projection.Transactional("effects", effects))
	resumed := make(chan error, 1)
	go func() { resumed <- other.Resume(context.Background(), "effects", "a") }()
	comes(t, "the end of the payment", gate.arrived)
	b.append(w, "y")
	g.Trigger("a")
	until(t, "the trigger is noted", func() bool { return b.row("group/effects", "a")["again"] != nil })
	gate.release()
	if err := comes(t, "the end of Resume", resumed); err != nil {
		t.Fatal(err)
	}
	b.await("group/effects", "a", 2)
	if n := effects.count("a"); n != "2" {
		t.Errorf("2 events had %s effects", n)
	}
}

func TestPanicIsAFailure(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("a", "x")
	config := fast()
	config.Attempts = 2
	g := group(t, b.journal, config,
		projection.AtLeastOnce("once", projection.HandlerFunc(func(context.Context, dynajournal.Event) error { panic("at least") })),
		projection.Transactional("effects", projection.TransactionalFunc(func(context.Context, dynajournal.Event) ([]types.TransactWriteItem, error) {
			panic(errWanted)
		})))
	start(t, g)
	if s := stuckness(b, "group/once", "a"); !strings.Contains(s.Reason, "at least") {
		t.Errorf("%+v", s)
	}
	stuckness(b, "group/effects", "a")
	err := g.Resume(t.Context(), "effects", "a")
	wantError(t, "Resume", err, projection.ErrPanic)
	wantError(t, "Resume", err, errWanted)
	if failed, ok := errors.AsType[*projection.HandlerError](err); !ok || failed.SequenceNumber != 1 || failed.PersistenceID != "a" || failed.Projection != "group/effects" {
		t.Errorf("Resume: %+v", err)
	}
}

// A handler that ends its goroutine fails like one that panics, and the only worker of the group
// continues with other persistence ids.
func TestGoexitIsAFailure(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("a", "x")
	b.write("b", "x")
	config := fast()
	config.Attempts, config.Concurrency = 2, 1
	exit := func(e dynajournal.Event) {
		if e.PersistenceID == "a" {
			runtime.Goexit()
		}
	}
	g := group(t, b.journal, config,
		projection.AtLeastOnce("once", projection.HandlerFunc(func(_ context.Context, e dynajournal.Event) error {
			exit(e)
			return nil
		})),
		projection.Transactional("effects", projection.TransactionalFunc(func(_ context.Context, e dynajournal.Event) ([]types.TransactWriteItem, error) {
			exit(e)
			return nil, nil
		})))
	start(t, g)
	for _, name := range []string{"group/once", "group/effects"} {
		b.await(name, "b", 1)
		if s := stuckness(b, name, "a"); !strings.Contains(s.Reason, "runtime.Goexit") {
			t.Errorf("%s: %+v", name, s)
		}
	}
	wantError(t, "Resume", g.Resume(t.Context(), "once", "a"), projection.ErrPanic)
}

// exitingBatch ends its goroutine at the third event.
type exitingBatch struct {
	recorder

	alone atomic.Int64
}

func (h *exitingBatch) HandleBatch(_ context.Context, events []dynajournal.Event) error {
	if len(events) == 1 {
		h.alone.Add(1)
	}
	for _, e := range events {
		if e.SequenceNumber == 3 {
			runtime.Goexit()
		}
	}
	return nil
}

// A handler ends its goroutine in a batch. The events before the one that causes it count as
// handled.
func TestGoexitInABatchMakesOneEventStuck(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("a", "1", "2", "3", "4")
	config := fast()
	config.Attempts = 1
	h := &exitingBatch{}
	start(t, group(t, b.journal, config, projection.AtLeastOnce("all", h)))
	if s := stuckness(b, "group/all", "a"); s.Offset != 2 || !strings.Contains(s.Reason, "at 3") {
		t.Errorf("%+v", s)
	}
	if h.alone.Load() != 3 {
		t.Errorf("%d events were handed over alone", h.alone.Load())
	}
}

func TestTooManyItemsMakeTheIDStuck(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("a", "x")
	config := fast()
	config.Attempts = 1
	start(t, group(t, b.journal, config, projection.Transactional("effects",
		projection.TransactionalFunc(func(context.Context, dynajournal.Event) ([]types.TransactWriteItem, error) {
			return make([]types.TransactWriteItem, 100), nil
		}))))
	if s := stuckness(b, "group/effects", "a"); !strings.Contains(s.Reason, projection.ErrTooManyItems.Error()) {
		t.Errorf("%+v", s)
	}
}

// A trigger of a stuck persistence id reads its row, and writes nothing. A retry makes its debt
// due.
func TestCostsOfAStuckID(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		w := b.write("a", "x")
		var spent costs
		config := inSeconds()
		config.Attempts, config.StuckAfter = 1, -1
		all := &recorder{on: func(context.Context, dynajournal.Event) error { return errWanted }}
		g := group(t, b.Journal(spent.install), config, projection.AtLeastOnce("all", all))
		start(t, g)
		stuckness(b, "group/all", "a")
		b.append(w, "y")
		synctest.Wait()
		spent.take()
		g.Trigger("a")
		synctest.Wait()
		if got := spent.take(); got != (dynajournal.Cost{Requests: 1, ReadUnits: 1}) {
			t.Errorf("a trigger costs %+v", got)
		}
		var asked costs
		j := b.Journal(asked.install)
		asked.take()
		if err := operator.New(j, "group/all").Retry(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		if got := asked.take(); got != (dynajournal.Cost{Requests: 4, ReadUnits: 2.5, WriteUnits: 3}) {
			t.Errorf("a retry costs %+v", got)
		}
	})
}

// The attempts of a retried persistence id are counted from 0 again.
func TestRetry_RestartsAttempts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		b.write("a", "x")
		var calls atomic.Int64
		all := &recorder{on: func(context.Context, dynajournal.Event) error {
			calls.Add(1)
			return errWanted
		}}
		config := inSeconds()
		config.Attempts, config.StuckAfter = 4, time.Minute
		start(t, group(t, b.Journal(), config, projection.AtLeastOnce("all", all)))
		time.Sleep(2 * time.Minute)
		stuckness(b, "group/all", "a")
		for range 2 {
			before := calls.Load()
			if err := operator.New(b.journal, "group/all").Retry(t.Context(), "a"); err != nil {
				t.Fatal(err)
			}
			if ids := b.stuckIDs(""); len(ids) != 0 || b.debts("group/all") != 1 {
				t.Errorf("stuck are %q", ids)
			}
			time.Sleep(30 * time.Second)
			if b.isStuck("group/all", "a") {
				t.Error("it is stuck before StuckAfter is over")
			}
			time.Sleep(90 * time.Second)
			if n := calls.Load() - before; n < 4 || !b.isStuck("group/all", "a") {
				t.Errorf("after %d calls the row is %v", n, b.row("group/all", "a"))
			}
		}
	})
}

// Without the index of debts no process would find a retry.
func TestRetryNeedsTheIndexOfDebts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("a", "x")
	config := fast()
	config.Attempts = 1
	var cured atomic.Bool
	all := &recorder{on: func(context.Context, dynajournal.Event) error {
		if cured.Load() {
			return nil
		}
		return errWanted
	}}
	b.unindexed()
	g := group(t, b.journal, config, projection.AtLeastOnce("all", all))
	start(t, g)
	stuckness(b, "group/all", "a")
	operated := operator.New(b.journal, "group/all")
	wantError(t, "Retry", operated.Retry(t.Context(), "a"), operator.ErrNoIndex)
	_, err := operated.Skip(t.Context(), "a", 1)
	wantError(t, "Skip", err, operator.ErrNoIndex)
	for _, err := range operated.Stuck(t.Context()) {
		wantError(t, "Stuck", err, operator.ErrNoIndex)
	}
	cured.Store(true)
	if err := g.Resume(t.Context(), "all", "a"); err != nil {
		t.Fatal(err)
	}
	want(t, "a", all.of("a"), "1 x")
}

// Resume of a persistence id that has no debt does not wait for the run of a trigger.
func TestResumeWhileATriggerIsHandled(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("a", "x")
	all := block()
	start(t, group(t, b.journal, fast(), projection.AtLeastOnce("all", all)))
	comes(t, "the event", all.arrived)
	defer close(all.passed)
	if err := group(t, b.Journal(), fast(), projection.AtLeastOnce("all", &recorder{})).Resume(t.Context(), "all", "a"); err != nil {
		t.Errorf("Resume: %v", err)
	}
}

// A persistence id that waits after many attempts is retried: its earlier attempts no longer count.
func TestRetryOfAnIDThatWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		b.storedDebt(atLeastOnce)
		row := b.row("group/all", "a")
		row["attempts"] = numbered(7)
		row["failing_since"] = numbered(int(time.Now().Add(-time.Hour).UnixMilli()))
		b.put(projectionsTable, row)
		if err := operator.New(b.journal, "group/all").Retry(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		config := inSeconds()
		config.Attempts, config.StuckAfter = 3, 30*time.Minute
		all := &recorder{on: func(context.Context, dynajournal.Event) error { return errWanted }}
		start(t, group(t, b.Journal(), config, projection.AtLeastOnce("all", all)))
		time.Sleep(20 * time.Minute)
		if b.isStuck("group/all", "a") {
			t.Error("it is stuck")
		}
	})
}

// A payment that was requested by Resume fails, once in the handler and once because of an outage:
// a persistence id that was stuck stays stuck.
func TestResumeThatFailsLeavesTheIDStuck(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("a", "x")
	failure := errWanted
	all := &recorder{on: func(context.Context, dynajournal.Event) error { return failure }}
	config := fast()
	config.Attempts = 1
	stop := start(t, group(t, b.journal, config, projection.AtLeastOnce("all", all)))
	stuckness(b, "group/all", "a")
	stop()
	config.Attempts = 5
	g := group(t, b.journal, config, projection.AtLeastOnce("all", all))
	wantError(t, "Resume", g.Resume(t.Context(), "all", "a"), errWanted)
	if !b.isStuck("group/all", "a") {
		t.Errorf("after a failure the row is %v", b.row("group/all", "a"))
	}
	failure = projection.Delayed(errDown)
	wantError(t, "Resume", g.Resume(t.Context(), "all", "a"), errDown)
	if !b.isStuck("group/all", "a") {
		t.Errorf("after an outage the row is %v", b.row("group/all", "a"))
	}
}

// The event after a skipped one has attempts of its own.
func TestSkippedEventLeavesNoAttempts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		b.write("a", "x", "poison", "bad")
		all := &recorder{on: func(_ context.Context, e dynajournal.Event) error {
			if e.SequenceNumber > 1 {
				return errWanted
			}
			return nil
		}}
		config := inSeconds()
		config.Attempts, config.StuckAfter = 2, time.Minute
		start(t, group(t, b.Journal(), config, projection.AtLeastOnce("all", all)))
		time.Sleep(3 * time.Minute)
		want(t, "stuck", b.stuckIDs(""), "group/all a 1 2")
		if _, err := operator.New(b.journal, "group/all").Skip(t.Context(), "a", 2); err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Second)
		want(t, "stuck", b.stuckIDs(""))
		time.Sleep(2 * time.Minute)
		want(t, "stuck", b.stuckIDs(""), "group/all a 2 3")
	})
}
