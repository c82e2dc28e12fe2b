package projection_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection"
)

// stuckness waits until an id is stuck, and returns the error.
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

// Each event fails once, and succeeds when it is tried again: none has failed as often as Attempts.
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

// resumedLate runs a group until a is stuck. Another process resumes a, and has handled its events
// when cured is set. Its request that removes the mark waits at the gate.
func (b *bundle) resumedLate(effects *effects, cured *atomic.Bool) (g *projection.Group, gate *gate, resumed <-chan error) {
	b.Helper()
	config := fast()
	config.Attempts = 1
	g = group(b, b.journal, config, projection.Transactional("effects", effects))
	start(b, g)
	stuckness(b, "group/effects", "a")
	cured.Store(true)
	gate = b.gate("REMOVE stuck")
	other := group(b, b.Journal(gate.install), config, projection.Transactional("effects", effects))
	ended := make(chan error, 1)
	go func() { ended <- other.Resume(context.Background(), "effects", "a") }()
	comes(b, "the request", gate.arrived)
	return g, gate, ended
}

// A trigger that comes while a stuck id is resumed, after its events were read, is not lost.
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
	g, gate, resumed := b.resumedLate(effects, &cured)
	if _, err := w.Append(t.Context(), "y"); err != nil {
		t.Fatal(err)
	}
	counter := func() int64 { return b.rowNumber("group/effects", "a", "stuck") }
	before := counter()
	g.Trigger("a")
	until(t, "the trigger is noted", func() bool { return counter() > before })
	gate.release()
	if err := comes(t, "the end of Resume", resumed); err != nil {
		t.Fatal(err)
	}
	b.await("group/effects", "a", 2)
	if n := effects.count("a"); n != "2" {
		t.Errorf("2 events had %s effects", n)
	}
}

// A persistence id is stuck, is resumed by two processes, and is stuck again at the next event. The
// process that has read the first mark does not remove the second one.
func TestResumedRunEndsNoLaterStuckState(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := b.write("a", "poison")
	var cured atomic.Bool
	effects := newEffects(b, func(e dynajournal.Event) error {
		if !cured.Load() || e.SequenceNumber == 2 {
			return errWanted
		}
		return nil
	})
	g, gate, resumed := b.resumedLate(effects, &cured)
	if err := g.Resume(t.Context(), "effects", "a"); err != nil {
		t.Fatal(err)
	}
	b.append(w, "y")
	g.Trigger("a")
	stuckness(b, "group/effects", "a")
	gate.release()
	wantError(t, "the end of Resume", comes(t, "the end of Resume", resumed), errWanted)
	stuckness(b, "group/effects", "a")
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

// A handler that ends its goroutine fails as one that panics, and the only worker of the group
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

// Of a batch whose handler ends its goroutine, the events before the one that is the cause count as
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
