package projection_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/projection/awslambda"
)

// A process on Lambda has met an outage. When the outage is over, its invocations handle records
// again, without a call of Maintain.
func TestInvocation_AfterOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := streaming(t)
		var down atomic.Bool
		down.Store(true)
		all := delayedWhile(&down)
		g := group(t, b.Journal(), onLambda(), projection.AtLeastOnce("all", all))
		for i := range 5 {
			b.write(fmt.Sprint("id-", i), "x")
		}
		if failed := b.invoke(g, b.events(0), 30*time.Second); failed != "" {
			t.Errorf("in an outage the records fail at %q", failed)
		}
		down.Store(false)
		time.Sleep(20 * time.Second)
		from := len(b.streamRecords())
		for i := range 5 {
			b.write(fmt.Sprint("new-", i), "x")
			if failed := b.invoke(g, b.events(from+i), 30*time.Second); failed != "" {
				t.Errorf("after the outage a record fails at %q", failed)
			}
			want(t, "after the outage", all.of(fmt.Sprint("new-", i)), "1 x")
		}
	})
}

// Maintain pays the debts of all projections, and waits for handlers that take their time.
func TestMaintainPaysAllProjections(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := streaming(t)
		var down atomic.Bool
		down.Store(true)
		one, two := &recorder{}, &recorder{}
		late := func(time time.Duration) func(context.Context, dynajournal.Event) error {
			return func(ctx context.Context, _ dynajournal.Event) error {
				if down.Load() {
					return projection.Delayed(errDown)
				}
				return sleepFor(ctx, time)
			}
		}
		one.on, two.on = late(15*time.Second), late(0)
		launch := func() *projection.Group {
			return group(t, b.Journal(), onLambda(), projection.AtLeastOnce("one", one), projection.AtLeastOnce("two", two))
		}
		b.write("a", "x")
		if failed := b.invoke(launch(), b.events(0), 30*time.Second); failed != "" {
			t.Errorf("in an outage the records fail at %q", failed)
		}
		down.Store(false)
		time.Sleep(time.Minute)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := awslambda.Maintain(ctx, launch()); err != nil {
			t.Fatal(err)
		}
		want(t, "one", one.of("a"), "1 x")
		want(t, "two", two.of("a"), "1 x")
	})
}

// No process calls Maintain. The next record of a persistence id pays a debt that has been due for
// long.
func TestDebtOnLambdaWithoutMaintain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := streaming(t)
		var down atomic.Bool
		down.Store(true)
		all := delayedWhile(&down)
		w := b.write("a", "x")
		b.invoke(group(t, b.Journal(), onLambda(), projection.AtLeastOnce("all", all)), b.events(0), 30*time.Second)
		down.Store(false)
		time.Sleep(time.Hour)
		from := len(b.streamRecords())
		b.append(w, "y")
		if failed := b.invoke(group(t, b.Journal(), onLambda(), projection.AtLeastOnce("all", all)), b.events(from), 30*time.Second); failed != "" {
			t.Errorf("failed at %q", failed)
		}
		want(t, "a", all.of("a"), "1 x", "2 y")
	})
}

func sleepFor(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
