package projection_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/internal/testsize"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/projection/awslambda"
)

// Each attempt is made by another process. The last one makes the persistence id stuck, and only
// then is its record done.
func TestInvocationsCountAttempts(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]func(*effects) projection.Projection{
		"at least once": func(e *effects) projection.Projection { return projection.AtLeastOnce("all", &e.recorder) },
		"transactional": func(e *effects) projection.Projection { return projection.Transactional("all", e) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := streaming(t)
				b.write("a", "x", "poison")
				calls := 0
				e := newEffects(b, func(e dynajournal.Event) error {
					if e.SequenceNumber == 2 {
						calls++
						return errWanted
					}
					return nil
				})
				config := onLambda()
				config.Attempts, config.RetryShortest, config.RetryLongest = 3, time.Hour, time.Hour
				if failed := b.invoke(group(t, b.Journal(), config, of(e)), b.events(0), 10*time.Second); calls != 1 || failed != "" {
					t.Fatalf("after %d calls an invocation fails at %q", calls, failed)
				}
				for i := range 2 {
					g := group(t, b.Journal(), config, of(e))
					maintain(t, g)
					if calls != i+1 {
						t.Fatalf("%d calls before the pause is over", calls)
					}
					time.Sleep(time.Hour)
					maintain(t, g)
					if calls != i+2 {
						t.Fatalf("%d calls after pause %d", calls, i+1)
					}
				}
				if s := stuckness(b, "group/all", "a"); s.Offset != 1 || !strings.Contains(s.Reason, errWanted.Error()) {
					t.Errorf("%+v", s)
				}
				if n := b.row("group/all", "a")["attempts"]; n != nil {
					t.Errorf("a stuck row has attempts: %v", n)
				}
			})
		})
	}
}

// While an index of tags can't be written, invocations count no attempts, however many there are.
func TestOutageOfAnIndexIsNoAttempt(t *testing.T) {
	t.Parallel()
	testsize.NeedsLong(t, "TestInvocationWhileTheStoreIsDown does the same without a tag index")
	synctest.Test(t, func(t *testing.T) {
		b := streaming(t)
		b.createTagIndex(tagsTable, 1)
		b.write("a", withTags("x", "red"))
		config := onLambda()
		config.Attempts, config.RetryShortest, config.RetryLongest = 1, time.Second, time.Second
		invoke := func() string {
			j := b.Journal()
			return b.invoke(group(t, j, config, b.openTagIndex(j, tagsTable).Projection("tags")), b.events(0), 10*time.Second)
		}
		remove, err := b.Engine.Inject(embedded.Fault{Effect: embedded.EffectThroughputExceeded, Table: tagsTable, Operation: "PutItem"})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 25 {
			if invoke() == "" {
				t.Fatalf("invocation %d does not fail", i+1)
			}
		}
		remove()
		if failed := invoke(); failed != "" {
			t.Errorf("after the outage an invocation fails at %q", failed)
		}
		want(t, "red", b.byTag("red"), "a 1")
	})
}

// A success between failures makes the attempts count from 1 again.
func TestAttemptsAreOfOneOffset(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := streaming(t)
		b.write("a", "x", "y", "z")
		calls := map[int64]int{}
		all := &recorder{on: func(_ context.Context, e dynajournal.Event) error {
			if calls[e.SequenceNumber]++; calls[e.SequenceNumber] < 3 {
				return errWanted
			}
			return nil
		}}
		config := onLambda()
		config.Attempts = 3
		g := group(t, b.Journal(), config, projection.AtLeastOnce("all", all))
		if failed := b.invoke(g, b.events(0), 10*time.Second); failed != "" {
			t.Errorf("failed at %q", failed)
		}
		want(t, "a", all.of("a"), "1 x", "2 y", "3 z")
		if n := b.row("group/all", "a")["attempts"]; n != nil {
			t.Errorf("the row has attempts: %v", n)
		}
	})
}

// The event that a process handles kills it at each attempt, and finally becomes stuck. Attempts
// without a claim are counted when the records are an hour old.
func TestEventThatKillsItsProcessIsStuck(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]func(*effects) projection.Projection{
		"at least once": func(e *effects) projection.Projection { return projection.AtLeastOnce("all", &e.recorder) },
		"transactional": func(e *effects) projection.Projection { return projection.Transactional("all", e) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := streaming(t, embedded.WithClock(time.Now))
				b.write("a", "x", "poison")
				config := onLambda()
				config.Attempts, config.ClaimTimeout, config.RetryLongest = 1, 24*time.Hour, 10*time.Second
				e := newEffects(b, nil)
				done := false
				for range 40 {
					gate := b.gate("")
					e.on = func(_ context.Context, e dynajournal.Event) error {
						if e.SequenceNumber == 2 {
							gate.dead.Store(true)
						}
						return nil
					}
					j := b.Journal(gate.install, func(c *dynajournal.Config) { c.Retries = -1 })
					g := group(t, j, config, of(e))
					ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
					response, err := awslambda.Handler(g)(ctx, b.events(0))
					cancel()
					if done = err == nil && len(response.BatchItemFailures) == 0; done {
						break
					}
					time.Sleep(5 * time.Minute)
				}
				if !done {
					t.Fatal("it is tried for ever")
				}
				if s := stuckness(b, "group/all", "a"); !strings.Contains(s.Reason, "10 attempts") {
					t.Errorf("%+v", s)
				}
			})
		})
	}
}
