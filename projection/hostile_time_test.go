package projection_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/internal/testsize"
	"github.com/dynajournal/dynajournal/projection"
)

// A table is throttled for ten minutes, from before the group starts. No persistence id becomes
// stuck, and everything is handled afterwards.
func TestTableThrottledForMinutes(t *testing.T) {
	t.Parallel()
	for _, table := range []string{projectionsTable, dynajournal.DefaultJournalTable}[:testsize.Of(1, 2)] {
		t.Run(table, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := streaming(t)
				b.write("a", "x")
				b.write("b", "y")
				j := b.Journal()
				remove, err := b.Engine.Inject(embedded.Fault{Effect: embedded.EffectThroughputExceeded, Table: table})
				if err != nil {
					t.Fatal(err)
				}
				config := b.streamed()
				config.Attempts, config.RetryLongest = 1, 30*time.Second
				config.Source = projection.Sweep(projection.SweepOptions{Every: 10 * time.Second})
				all := &recorder{}
				start(t, group(t, j, config, projection.AtLeastOnce("all", all)))
				time.Sleep(10 * time.Minute)
				want(t, "throttled", all.of("a"))
				remove()
				b.await("group/all", "a", 1)
				b.await("group/all", "b", 1)
			})
		})
	}
}

// A handler takes three times the claim's timeout, and ignores its context. Another process takes
// the claim over: both handle the events, and no event is missed.
func TestHandlerSlowerThanItsClaim(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		b.write("a", "x", "y", "z")
		config := fast()
		config.ClaimTimeout = 10 * time.Second
		config.Source = projection.Sweep(projection.SweepOptions{Every: time.Second})
		slow, other := &recorder{}, &recorder{}
		slow.on = func(context.Context, dynajournal.Event) error {
			time.Sleep(3 * config.ClaimTimeout)
			return nil
		}
		start(t, group(t, b.Journal(), config, projection.AtLeastOnce("all", slow)))
		time.Sleep(config.ClaimTimeout / 2)
		start(t, group(t, b.Journal(), config, projection.AtLeastOnce("all", other)))
		b.await("group/all", "a", 3)
		want(t, "the other process", other.of("a"), "1 x", "2 y", "3 z")
	})
}

// A transactional handler returns a change of the row of its own projection.
func TestHandlerWritesItsOwnRow(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("a", "x")
	config := fast()
	config.Attempts = 2
	g := group(t, b.journal, config, projection.Transactional("all", projection.TransactionalFunc(
		func(context.Context, dynajournal.Event) ([]types.TransactWriteItem, error) {
			table := projectionsTable
			return []types.TransactWriteItem{{Delete: &types.Delete{TableName: &table, Key: rowKey("group/all", "a")}}}, nil
		})))
	start(t, g)
	until(t, "it is stuck", func() bool {
		g.Trigger("a")
		return b.isStuck("group/all", "a")
	})
	if seq := b.rowNumber("group/all", "a", "seq"); seq != 0 {
		t.Errorf("the offset is %d", seq)
	}
}

// A handler that ignores its context blocks its own persistence id and no other, even if it has the
// only worker. The number of additional workers is limited to Config.Concurrency.
func TestHandlerThatDoesNotReturnHoldsUpNoOtherID(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		for _, pid := range []string{"a", "b", "c", "d"} {
			b.write(pid, "x")
		}
		config := fast()
		config.Concurrency, config.ClaimTimeout = 1, time.Minute
		config.Source = projection.Sweep(projection.SweepOptions{Every: time.Hour})
		hanging := make(chan struct{})
		all := &recorder{}
		all.on = func(_ context.Context, e dynajournal.Event) error {
			if e.PersistenceID == "a" || e.PersistenceID == "c" {
				<-hanging
			}
			return nil
		}
		g := group(t, b.Journal(), config, projection.AtLeastOnce("all", all))
		stop := start(t, g)
		overdue := func(want int) {
			t.Helper()
			synctest.Wait()
			if lag := g.Lag()[0]; lag.Overdue != want {
				t.Errorf("%d calls are overdue, want %d", lag.Overdue, want)
			}
		}
		time.Sleep(config.ClaimTimeout*2/3 - time.Second)
		overdue(0)
		want(t, "while a handler is in time", all.of("b"))
		time.Sleep(2 * time.Second)
		overdue(1)
		want(t, "while a handler hangs", all.of("b"), "1 x")
		time.Sleep(config.ClaimTimeout)
		overdue(2)
		want(t, "while all workers hang", all.of("d"))
		close(hanging)
		for _, pid := range []string{"a", "b", "c", "d"} {
			b.await("group/all", pid, 1)
		}
		overdue(0)
		stop()
	})
}
