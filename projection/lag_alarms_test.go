package projection_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/testsize"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/projection/operator"
	"github.com/dynajournal/dynajournal/projection/outbox"
)

// Everything that is logged as an alarm is also a number of Lag.
func TestLag_OutagesAndStuckIDs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		var log bytes.Buffer
		config := fast()
		config.Attempts, config.RetryShortest, config.RetryLongest, config.Logger = 2, time.Second, 10*time.Second, slog.New(slog.NewTextHandler(&log, nil))
		down := errors.New("connection refused")
		box := &postbox{}
		box.answer(func(outbox.Message) error { return down })
		b.write("a", "x")
		b.write("b", "x")
		fails := projection.HandlerFunc(func(context.Context, dynajournal.Event) error { return errWanted })
		g := group(t, b.journal, config, outbox.New("out", box, oneEach), projection.AtLeastOnce("fails", fails))
		start(t, g)
		time.Sleep(40 * time.Second)
		lag := g.Lag()
		if out := lag[0]; out.IDs != 0 || out.Debts != 2 || out.Failing != 0 || out.Stuck != 0 || out.Oldest < 30*time.Second {
			t.Errorf("in an outage of the target: %+v", out)
		}
		if fails := lag[1]; fails.Stuck != 2 || fails.Delayed != 0 {
			t.Errorf("with stuck ids: %+v", fails)
		}
		if n := strings.Count(log.String(), down.Error()); n != 1 {
			t.Errorf("the log has %d lines of the outage, want 1:\n%s", n, log.String())
		}
		if n := strings.Count(log.String(), "is stuck"); n != 2 {
			t.Errorf("the log has %d lines of stuck ids, want 2:\n%s", n, log.String())
		}
		box.answer(nil)
		b.await("group/out", "a", 1)
		b.await("group/out", "b", 1)
		time.Sleep(10 * time.Second) // until the next poll
		if out := g.Lag()[0]; out.Debts != 0 || out.IDs != 0 {
			t.Errorf("after the outage: %+v", out)
		}
	})
}

// polledEvery returns a configuration that polls the stream at an interval, and its client. Leases
// are renewed every 10 seconds.
func (b *bundle) polledEvery(poll time.Duration) (projection.Config, *dynamodbstreams.Client) {
	config := fast()
	client, _ := b.streams()
	config.Source = projection.Streams(client, projection.StreamsOptions{
		LeaseTimeout: time.Minute, PerSecond: -1, Poll: poll,
	})
	return config, client
}

// While a stream can't be read there are no triggers, so the other numbers are 0.
func TestLag_UnreadableStream(t *testing.T) {
	t.Parallel()
	operations := []string{"GetRecords", "BatchGetItem"} // of the shard, and of the leases
	for _, operation := range operations[:testsize.Of(1, 2)] {
		t.Run(operation, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := streaming(t)
				config, _ := b.polledEvery(5 * time.Second)
				g := group(t, b.Journal(), config, projection.AtLeastOnce("all", &recorder{}))
				remove := b.inject("hang,operation=DescribeStream")
				stop := start(t, g)
				time.Sleep(time.Second)
				stop() // while it looks at the shards
				remove()
				time.Sleep(time.Hour)
				if delay := g.Lag()[0].StreamDelay; delay != 0 {
					t.Errorf("the delay is %v an hour after the group has ended", delay)
				}
				start(t, g)
				time.Sleep(time.Minute)
				if delay := g.Lag()[0].StreamDelay; delay > 6*time.Second {
					t.Errorf("the delay is %v though all is well", delay)
				}
				b.inject("internal-error,operation=" + operation)
				time.Sleep(5 * time.Minute)
				if delay := g.Lag()[0].StreamDelay; delay < 4*time.Minute || delay > 6*time.Minute {
					t.Errorf("after 5 minutes in which the stream can't be read the delay is %v", delay)
				}
			})
		})
	}
}

// The projections of a group share the leases. Positions distinguish the projection that is late.
func TestPositions_LateProjection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := streaming(t)
		hanging := make(chan struct{})
		slow := projection.HandlerFunc(func(_ context.Context, e dynajournal.Event) error {
			if e.PersistenceID == "b" {
				<-hanging
			}
			return nil
		})
		config, client := b.polledEvery(5 * time.Second)
		config.ClaimTimeout = time.Hour
		stop := start(t, group(t, b.journal, config, projection.AtLeastOnce("slow", slow), projection.AtLeastOnce("quick", &recorder{})))
		time.Sleep(time.Minute)
		b.write("a", "x")
		b.write("b", "x")
		time.Sleep(10 * time.Minute)
		b.write("a", "y")
		time.Sleep(30 * time.Second)
		lag := map[string]time.Duration{}
		positions, err := operator.New(b.journal, "").Positions(t.Context(), client)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range positions {
			lag[p.Projection] = max(lag[p.Projection], p.Delay)
		}
		if lag["group/slow"] < 9*time.Minute || lag["group/quick"] > time.Minute {
			t.Errorf("behind %v", lag)
		}
		close(hanging)
		b.await("group/slow", "b", 1)
		time.Sleep(time.Minute)
		if positions, err = operator.New(b.journal, "group/slow").Positions(t.Context(), client); err != nil {
			t.Fatal(err)
		}
		for _, p := range positions {
			if p.Delay > time.Minute {
				t.Errorf("all is handled: %+v", p)
			}
		}
		stop()
	})
}
