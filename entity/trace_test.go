package entity_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/entity/entitytest"
)

type traceKey struct{}

// traced records what hooks of entities and of the journal get, with the trace in their contexts.
type traced struct {
	mu     sync.Mutex
	events []string
	// shared counts the writes of several commands.
	shared int
}

func (t *traced) note(ctx context.Context, format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	trace, _ := ctx.Value(traceKey{}).(string)
	t.events = append(t.events, trace+": "+fmt.Sprintf(format, args...))
}

// within adds a step to the trace of a context.
func within(ctx context.Context, step string) context.Context {
	trace, _ := ctx.Value(traceKey{}).(string)
	return context.WithValue(ctx, traceKey{}, trace+"/"+step)
}

func (t *traced) hook() entity.Hook {
	return entity.Hook{
		StartCommand: func(ctx context.Context, c entity.CommandStart) context.Context {
			t.note(ctx, "start command %s of %s %s", c.CommandID, c.Type, c.PersistenceID)
			return within(ctx, "command")
		},
		OnCommand: func(ctx context.Context, c entity.Command) { t.note(ctx, "command of %s: %v", c.Type, c.Err) },
		StartWrite: func(ctx context.Context, w entity.WriteStart) context.Context {
			t.note(ctx, "start write of %s: %d commands, %d events", w.Type, len(w.Commands), w.Events)
			if len(w.Commands) > 1 {
				t.mu.Lock()
				t.shared++
				t.mu.Unlock()
				for _, c := range w.Commands {
					t.note(c, "link")
				}
			}
			return within(ctx, "write")
		},
		OnWrite: func(ctx context.Context, w entity.Write) { t.note(ctx, "write of %s: %v", w.Type, w.Err) },
		StartRecovery: func(ctx context.Context, r entity.RecoveryStart) context.Context {
			t.note(ctx, "start recovery of %s", r.Type)
			return within(ctx, "recovery")
		},
		OnRecovery: func(ctx context.Context, r entity.Recovery) { t.note(ctx, "recovery of %s: %v", r.Type, r.Err) },
		OnConflict: func(ctx context.Context, c entity.Conflict) { t.note(ctx, "conflict of %s", c.Type) },
		OnSnapshot: func(ctx context.Context, s entity.Snapshot) { t.note(ctx, "snapshot of %s", s.Type) },
		OnDrop:     func(ctx context.Context, d entity.Drop) { t.note(ctx, "drop of %s %s", d.Type, d.PersistenceID) },
	}
}

// requests is a hook of a journal that records the traces of its requests.
func (t *traced) requests() dynajournal.Hook {
	return dynajournal.Hook{StartRequest: func(ctx context.Context, r dynajournal.RequestStart) context.Context {
		t.note(ctx, "%s to %s", r.Operation, r.Purpose)
		return ctx
	}}
}

func (t *traced) want(tb testing.TB, events ...string) {
	tb.Helper()
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, event := range events {
		if !slices.Contains(t.events, event) {
			tb.Errorf("there is no %q in %q", event, t.events)
		}
	}
}

func depositing(amount int) func(*accountTx) error {
	return func(tx *accountTx) error {
		tx.Record(Deposited{amount})
		return nil
	}
}

func TestHooks_ContextOfACommandReachesItsRequests(t *testing.T) {
	t.Parallel()
	b := setup(t, dynajournal.TableOptions{})
	seen := &traced{}
	j := b.Journal(func(c *dynajournal.Config) { c.Hooks = []dynajournal.Hook{seen.requests()} })
	a := b.open(j, accountType(), entity.Options{Hooks: []entity.Hook{seen.hook(), {}}})
	ctx := context.WithValue(t.Context(), traceKey{}, "caller")
	if _, err := a.Update(ctx, "anna", depositing(5), entity.CommandID("c-1")); err != nil {
		t.Fatal(err)
	}
	seen.want(t,
		"caller: start command c-1 of account account|anna",
		"caller/command: start recovery of account",
		"caller/command/recovery: Query to recover",
		"caller/command/recovery: recovery of account: <nil>",
		"caller/command: start write of account: 1 commands, 1 events",
		"caller/command/write: PutItem to append",
		"caller/command/write: write of account: <nil>",
		"caller/command: command of account: <nil>",
	)
	if err := a.Drop(t.Context(), "anna"); err != nil {
		t.Fatal(err)
	}
	seen.want(t, ": drop of account account|anna")
}

func TestHooks_WriteOfSeveralCommandsHasTheirContexts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := entitytest.OpenJournal(t, newRegistry(t))
		seen := &traced{}
		a, err := entity.Open(j.Journal, accountType(), entity.Options{Hooks: []entity.Hook{seen.hook()}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.Update(t.Context(), "anna", depositing(1)); err != nil {
			t.Fatal(err)
		}
		stop := j.Throttle()
		var calls sync.WaitGroup
		const many = 4
		for i := range many {
			ctx := context.WithValue(t.Context(), traceKey{}, fmt.Sprint("caller-", i))
			calls.Go(func() {
				if _, err := a.Update(ctx, "anna", depositing(1)); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait() // the first write waits, and the others gather
		stop()
		calls.Wait()
		if err := a.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if seen.shared == 0 {
			t.Errorf("no write is of several commands: %q", seen.events)
		}
		for i := range many {
			link := fmt.Sprintf("caller-%d/command: link", i)
			alone := fmt.Sprintf("caller-%d/command: start write of account: 1 commands, 1 events", i)
			if !slices.Contains(seen.events, link) && !slices.Contains(seen.events, alone) {
				t.Errorf("no write links to command %d: %q", i, seen.events)
			}
		}
	})
}

func TestHooks_Conflict(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := entitytest.OpenJournal(t, newRegistry(t))
		seen := &traced{}
		a, err := entity.Open(j.Journal, accountType(), entity.Options{Hooks: []entity.Hook{seen.hook()}})
		if err != nil {
			t.Fatal(err)
		}
		ctx := context.WithValue(t.Context(), traceKey{}, "caller")
		if _, err := a.Update(ctx, "anna", depositing(1)); err != nil {
			t.Fatal(err)
		}
		j.Conflict("account|anna", Deposited{100})
		if _, err := a.Update(ctx, "anna", depositing(1)); err != nil {
			t.Fatal(err)
		}
		if err := a.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		seen.want(t,
			"caller/command/write: conflict of account",
			"caller/command/write: start recovery of account",
			"caller/command/write/recovery: recovery of account: <nil>",
		)
	})
}

// Commands of several callers meet conflicts, lost responses, throttling and drops. Each start that
// a hook gets has an end.
func TestHooks_EachStartHasAnEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := entitytest.OpenJournal(t, newRegistry(t))
		var mu sync.Mutex
		open := map[string]int{}
		count := func(what string, n int) {
			mu.Lock()
			defer mu.Unlock()
			open[what] += n
			open["all "+what] += max(n, 0)
		}
		a, err := entity.Open(j.Journal, accountType(), entity.Options{MaxEntities: 2, Hooks: []entity.Hook{{
			StartCommand:  func(ctx context.Context, _ entity.CommandStart) context.Context { count("commands", 1); return ctx },
			OnCommand:     func(context.Context, entity.Command) { count("commands", -1) },
			StartWrite:    func(ctx context.Context, _ entity.WriteStart) context.Context { count("writes", 1); return ctx },
			OnWrite:       func(context.Context, entity.Write) { count("writes", -1) },
			StartRecovery: func(ctx context.Context, _ entity.RecoveryStart) context.Context { count("recoveries", 1); return ctx },
			OnRecovery:    func(context.Context, entity.Recovery) { count("recoveries", -1) },
		}}})
		if err != nil {
			t.Fatal(err)
		}
		var calls sync.WaitGroup
		for caller := range 8 {
			calls.Go(func() {
				for i := range 100 {
					time.Sleep(time.Duration(caller) * 10 * time.Millisecond) // in the bubble
					id := fmt.Sprint("id-", (caller+i)%4)
					ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+i%7)*time.Second)
					_, _ = a.Update(ctx, id, depositing(1)) // it may fail
					cancel()
				}
			})
		}
		for i := range 20 {
			time.Sleep(time.Millisecond) // in the bubble
			switch i % 4 {
			case 0:
				stop := j.Throttle()
				time.Sleep(2 * time.Second)
				stop()
			case 1:
				stop := j.LoseResponses()
				time.Sleep(time.Second)
				stop()
			case 2:
				j.Conflict("account|id-1", Deposited{1})
			case 3:
				_ = a.Drop(t.Context(), "id-2") // it may be in use
			}
		}
		calls.Wait()
		if err := a.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, what := range []string{"commands", "writes", "recoveries"} {
			if open[what] != 0 || open["all "+what] < 10 {
				t.Errorf("%d of %d %s have no end", open[what], open["all "+what], what)
			}
		}
	})
}
