package projection_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/projection"
)

// A table is throttled for ten minutes, from before the group begins. No persistence id gets stuck,
// and everything is handled afterwards.
func TestTableThrottledForMinutes(t *testing.T) {
	t.Parallel()
	for _, table := range []string{projectionsTable, dynajournal.DefaultJournalTable} {
		t.Run(table, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := streaming(t)
				b.write("a", "x")
				b.write("b", "y")
				j := b.open()
				remove, err := b.engine.Inject(embedded.Fault{Effect: embedded.EffectThroughputExceeded, Table: table})
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

// A handler takes three times the claim's timeout, and does not look at its context. Another
// process takes the claim over: both handle the events, and none is missed.
func TestHandlerSlowerThanItsClaim(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		b.write("a", "x", "y", "z")
		config := fast()
		config.ClaimTimeout = time.Second
		config.Source = projection.Sweep(projection.SweepOptions{Every: 100 * time.Millisecond})
		slow, other := &recorder{}, &recorder{}
		slow.on = func(context.Context, dynajournal.Event) error {
			time.Sleep(3 * config.ClaimTimeout)
			return nil
		}
		start(t, group(t, b.open(), config, projection.AtLeastOnce("all", slow)))
		time.Sleep(config.ClaimTimeout / 2)
		start(t, group(t, b.open(), config, projection.AtLeastOnce("all", other)))
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
		return b.row("group/all", "a")["stuck"] != nil
	})
	if seq := b.rowNumber("group/all", "a", "seq"); seq != 0 {
		t.Errorf("the offset is %d", seq)
	}
}
