package projection_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection"
)

type hookKey struct{}

// hooked records the calls of hooks.
type hooked struct {
	mu    sync.Mutex
	calls []string
	ages  []time.Duration
	stuck []*projection.HandlerError
}

func (h *hooked) note(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls = append(h.calls, fmt.Sprintf(format, args...))
}

func (h *hooked) hook() projection.Hook {
	return projection.Hook{
		StartHandle: func(ctx context.Context, c projection.Handling) context.Context {
			h.note("start %s %s %d-%d: %d events, %v, %v", c.Projection, c.PersistenceID, c.First, c.Last, c.Events, c.Gap, c.Purge)
			return context.WithValue(ctx, hookKey{}, "span")
		},
		OnHandle: func(ctx context.Context, c projection.Handled) {
			h.note("end %v %d-%d: delayed %v, %v", ctx.Value(hookKey{}), c.First, c.Last, c.Delayed, c.Err)
			h.mu.Lock()
			defer h.mu.Unlock()
			h.ages = append(h.ages, c.Age)
		},
		OnStuck: func(_ context.Context, failure *projection.HandlerError) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.stuck = append(h.stuck, failure)
		},
	}
}

func (h *hooked) want(t *testing.T, calls ...string) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	if !slices.Equal(h.calls, calls) {
		t.Errorf("the hooks got\n%q, want\n%q", h.calls, calls)
	}
}

// spanned is a handler that fails without the context of StartHandle.
func spanned(ctx context.Context, _ dynajournal.Event) error {
	if ctx.Value(hookKey{}) != "span" {
		return errors.New("the context has no span")
	}
	return nil
}

func TestHooks_CallsOfHandlers(t *testing.T) {
	t.Parallel()
	newKind := map[string]func(*bundle) projection.Projection{
		"at least once": func(*bundle) projection.Projection {
			return projection.AtLeastOnce("all", projection.HandlerFunc(spanned))
		},
		"transactional": func(b *bundle) projection.Projection {
			newEffects(b, nil)
			e := &effects{bundle: b}
			e.on = spanned
			return projection.Transactional("all", e)
		},
	}
	for name, kind := range newKind {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := setup(t)
				j := b.Journal()
				w := b.Recover(j, "a")
				b.Append(w, "x")
				b.Append(w, "y")
				time.Sleep(time.Minute)
				seen, config := &hooked{}, fast()
				config.Hooks = []projection.Hook{seen.hook(), {}}
				start(t, group(t, j, config, kind(b)))
				b.await("group/all", "a", 2)
				seen.want(t,
					"start group/all a 1-1: 1 events, false, false", "end span 1-1: delayed false, <nil>",
					"start group/all a 2-2: 1 events, false, false", "end span 2-2: delayed false, <nil>",
				)
				for _, age := range seen.ages {
					if age.Round(time.Second) != time.Minute {
						t.Errorf("the age of an event is %v", age)
					}
				}
			})
		})
	}
}

func TestHooks_GapAndPurge(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		w := b.write("a", "x", "y", "z")
		if _, err := w.DeleteTo(t.Context(), 2); err != nil {
			t.Fatal(err)
		}
		seen, config := &hooked{}, fast()
		config.Hooks = []projection.Hook{seen.hook()}
		g := group(t, b.Journal(), config, projection.AtLeastOnce("all", &recorder{}))
		start(t, g)
		b.await("group/all", "a", 3)
		if _, err := w.Purge(t.Context(), dynajournal.PurgeOptions{}); err != nil {
			t.Fatal(err)
		}
		g.Trigger("a")
		time.Sleep(time.Second)
		seen.want(t,
			"start group/all a 1-2: 0 events, true, false", "end span 1-2: delayed false, <nil>",
			"start group/all a 3-3: 1 events, false, false", "end span 3-3: delayed false, <nil>",
			"start group/all a 4-4: 0 events, false, true", "end span 4-4: delayed false, <nil>",
		)
	})
}

func TestHooks_FailuresAndStuck(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		b.write("a", "x")
		seen, config := &hooked{}, fast()
		config.Hooks, config.Attempts = []projection.Hook{seen.hook()}, 3
		calls := 0
		start(t, group(t, b.Journal(), config, projection.AtLeastOnce("all", projection.HandlerFunc(
			func(context.Context, dynajournal.Event) error {
				if calls++; calls == 1 {
					return projection.Delayed(errDown)
				}
				return errWanted
			}))))
		time.Sleep(5 * time.Minute)
		seen.mu.Lock()
		stuck, ends := seen.stuck, 0
		for _, call := range seen.calls {
			if call == "end span 1-1: delayed false, wanted" {
				ends++
			}
		}
		delayed := slices.Contains(seen.calls, "end span 1-1: delayed true, the target is down")
		seen.mu.Unlock()
		if !delayed || ends != config.Attempts {
			t.Errorf("the hooks got %q", seen.calls)
		}
		if len(stuck) != 1 || stuck[0].Projection != "group/all" || stuck[0].PersistenceID != "a" || stuck[0].SequenceNumber != 1 ||
			!errors.Is(stuck[0], errWanted) {
			t.Errorf("%v have become stuck", stuck)
		}
	})
}
