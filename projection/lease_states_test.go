package projection_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/internal/testsize"
	"github.com/dynajournal/dynajournal/projection"
)

// handledWithin is the time within which a patient group handles new events.
const handledWithin = 25 * time.Minute

// patient returns a configuration that reads the stream with so few requests that a test of days in
// virtual time is fast.
func (b *bundle) patient() projection.Config {
	config := fast()
	config.ClaimTimeout = 10 * time.Minute
	client, _ := b.streams()
	config.Source = projection.Streams(client, projection.StreamsOptions{
		LeaseTimeout: 30 * time.Minute, PerSecond: -1, Poll: handledWithin / 5,
	})
	return config
}

// passes lets hours pass. The shards of the stream are replaced every four hours.
func (b *bundle) passes(hours int) {
	b.Helper()
	for range hours / 4 {
		time.Sleep(4 * time.Hour)
		if _, err := b.Engine.SweepExpired(); err != nil {
			b.Fatal(err)
		}
	}
	time.Sleep(handledWithin)
}

// wantSweepsRequested checks the number of sweeps that were requested so far.
func (b *bundle) wantSweepsRequested(want int64) {
	b.Helper()
	if got := numberOf(b, b.items("owed")[0]["owed"]); got != want {
		b.Errorf("%d sweeps were requested, want %d", got, want)
	}
}

// The stream has one shard at a time. After a day and a half there are leases of this shard, of the
// shards of the last day, and of the sweeps.
func TestLeasesOfTrimmedShardsAreDeleted(t *testing.T) {
	t.Parallel()
	testsize.NeedsLong(t, "it lets days pass, and TestFollow_EndsIfRecordsMayBeTrimmed lets half a day pass")
	synctest.Test(t, func(t *testing.T) {
		b := streaming(t)
		start(t, group(t, b.Journal(), b.patient(), projection.AtLeastOnce("all", &recorder{})))
		b.passes(36)
		if got := len(b.items("beat")); got != 1+7+1 {
			t.Errorf("%d leases, want 9", got)
		}
		b.write("a", "x")
		time.Sleep(handledWithin)
		b.await("group/all", "a", 1)
		b.wantSweepsRequested(1) // by the start of the group
	})
}

// The leases stay, and that is logged once.
func TestLeasesThatMayNotBeDeleted(t *testing.T) {
	t.Parallel()
	testsize.NeedsLong(t, "it lets days pass, and TestFollow_EndsIfRecordsMayBeTrimmed lets half a day pass")
	synctest.Test(t, func(t *testing.T) {
		b := streaming(t)
		b.inject("access-denied,operation=DeleteItem")
		var log bytes.Buffer
		config := b.patient()
		config.Logger = slog.New(slog.NewTextHandler(&log, nil))
		stop := start(t, group(t, b.Journal(), config, projection.AtLeastOnce("all", &recorder{})))
		b.passes(36)
		if got := len(b.items("beat")); got != 1+9+1 {
			t.Errorf("%d leases, want 11", got)
		}
		b.wantSweepsRequested(1)
		stop()
		if got := strings.Count(log.String(), "can't be deleted"); got != 1 {
			t.Errorf("the log has\n%s", log.String())
		}
	})
}

// A handler takes so long that its shard is trimmed, and its process is killed. After 32 hours the
// child of the shard is still listed, after 40 hours it is not.
func TestShardTrimmedDuringACall(t *testing.T) {
	t.Parallel()
	testsize.NeedsLong(t, "it lets days pass, and TestFollow_EndsIfRecordsMayBeTrimmed lets half a day pass")
	for hours, childListed := range map[int]bool{32: true, 40: false} {
		t.Run(fmt.Sprint(hours), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := streaming(t)
				hanging := make(chan struct{})
				first := &recorder{on: func(_ context.Context, e dynajournal.Event) error {
					if e.PersistenceID == "b" {
						<-hanging
					}
					return nil
				}}
				gate := b.gate("")
				j := b.Journal(gate.install, func(c *dynajournal.Config) { c.Retries = -1 })
				config := b.patient()
				config.Logger = slog.New(slog.DiscardHandler)
				stop := start(t, group(t, j, config, projection.AtLeastOnce("all", first)))
				time.Sleep(handledWithin)
				b.awaitQuiet()
				b.write("b", "y")
				open := b.shards()[len(b.shards())-1]
				b.passes(hours)
				if listed := slices.ContainsFunc(b.shards(), func(s streamtypes.Shard) bool {
					return aws.ToString(s.ParentShardId) == aws.ToString(open.ShardId)
				}); listed != childListed {
					t.Fatalf("the child of the shard is listed: %t", listed)
				}
				gate.dead.Store(true)
				close(hanging)
				stop()
				config = b.streamed()
				config.ClaimTimeout, config.Logger = 300*time.Millisecond, slog.New(slog.DiscardHandler)
				start(t, group(t, b.journal, config, projection.AtLeastOnce("all", &recorder{})))
				b.await("group/all", "b", 1)
			})
		})
	}
}

// Two processes read a stream whose shards are split again and again, and listed a minute late.
// Everything is handled without a sweep.
func TestGroupReadsShardsThatAreListedLate(t *testing.T) {
	t.Parallel()
	testsize.NeedsLong(t, "two processes share shards in TestShardsAreSharedAndSplit, too")
	for name, fault := range map[string]string{
		"all": "late-shards,delay=1m", "some": "late-shards,some,delay=1m",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := streaming(t, embedded.WithStreamShards(3))
				b.inject(fault)
				for range 2 {
					client, _ := b.streams()
					config := fast()
					config.Source = projection.Streams(client, projection.StreamsOptions{
						LeaseTimeout: 6 * time.Second, PerSecond: -1, Poll: time.Second,
					})
					start(t, group(t, b.Journal(), config, projection.AtLeastOnce("all", &recorder{})))
				}
				time.Sleep(time.Minute)
				b.awaitQuiet()
				requested := numberOf(b, b.items("owed")[0]["owed"])
				for round := range 12 {
					if round < 2 || round == 6 { // also before the last children are listed
						b.split()
					}
					for i := range 8 {
						b.write(fmt.Sprint("i", i), round)
					}
					time.Sleep(20 * time.Second)
				}
				time.Sleep(2 * time.Minute)
				for i := range 8 {
					b.await("group/all", fmt.Sprint("i", i), 12)
				}
				b.wantSweepsRequested(requested)
			})
		})
	}
}
