package stream

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"golang.org/x/sync/semaphore"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/projection/internal/engine"
)

// sentByPasses counts the requests of a consumer.
type sentByPasses struct {
	aws.HTTPClient

	descriptions atomic.Int64
	mu           sync.Mutex
	cost         dynajournal.Cost
}

func (s *sentByPasses) Do(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".DescribeStream") {
		s.descriptions.Add(1)
	}
	return s.HTTPClient.Do(r)
}

// take returns the cost of requests to the tables since its last call.
func (s *sentByPasses) take() dynajournal.Cost {
	s.mu.Lock()
	defer s.mu.Unlock()
	cost := s.cost
	s.cost = dynajournal.Cost{}
	return cost
}

// consuming returns a consumer of a stream without records, which leaves sweeps to others.
func consuming(t *testing.T, options ...embedded.Option) (*Consumer, *embedded.Engine, *sentByPasses) {
	t.Helper()
	served, err := embedded.OpenMemory(append(options, embedded.WithSweepInterval(0))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = served.Close() })
	sent := &sentByPasses{HTTPClient: served.AWSConfig().HTTPClient}
	config := dynajournal.Config{AWS: served.AWSConfig(), Hooks: []dynajournal.Hook{{
		OnRequest: func(_ context.Context, r dynajournal.Request) {
			sent.mu.Lock()
			defer sent.mu.Unlock()
			sent.cost = sent.cost.Add(r.Cost)
		},
	}}}
	tables := dynajournal.TableOptions{Projections: true, Stream: true}
	if err := dynajournal.CreateTables(t.Context(), config, tables); err != nil {
		t.Fatal(err)
	}
	journal, err := dynajournal.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = journal.Close() })
	arn, err := ARN(t.Context(), journal)
	if err != nil {
		t.Fatal(err)
	}
	streaming := served.AWSConfig()
	streaming.HTTPClient = sent
	source := &Streams{Client: dynamodbstreams.NewFromConfig(streaming)}
	if err := source.Check(); err != nil {
		t.Fatal(err)
	}
	return &Consumer{
		Streams: source, Group: &engine.Group{
			Config:  engine.Settings{Name: "group", Logger: slog.New(slog.DiscardHandler)},
			Journal: journal, Table: engine.OpenTable(journal),
		},
		Arn: arn, set: "set", worker: "me", ended: make(chan struct{}, 1),
		states: map[string]leaseState{}, reading: map[string]bool{sweepLease: true}, seen: map[string]sighting{},
		slots: semaphore.NewWeighted(10),
	}, served, sent
}

// Of two processes that have read the same lease, one takes it. The other can't store a checkpoint.
func TestCheckpointNeedsTheLease(t *testing.T) {
	t.Parallel()
	c, _, _ := consuming(t)
	read := func() lease {
		t.Helper()
		leases, err := c.leases(t.Context(), []string{"shard"})
		if err != nil {
			t.Fatal(err)
		}
		return leases[0]
	}
	none := read()
	for _, before := range []lease{none, {}} {
		if before.shard == "" {
			before = read()
		}
		taken, err := c.write(t.Context(), before, "first")
		if err != nil {
			t.Fatal(err)
		}
		before.checkpoint = "wrong"
		if _, err := c.write(t.Context(), before, "second"); !errors.Is(err, engine.ErrAgain) {
			t.Errorf("the second process: %v", err)
		}
		if now := read(); now != taken || now.worker != "first" || now.checkpoint != "" {
			t.Errorf("the lease is %+v, taken was %+v", now, taken)
		}
	}
}

// A process does not delete the lease of a trimmed shard that another process has changed since it
// was read.
func TestLease_ChangedIsNotDeleted(t *testing.T) {
	t.Parallel()
	c, _, _ := consuming(t)
	ended, err := c.write(t.Context(), lease{shard: "shard", checkpoint: checkpointEnd}, "")
	if err != nil {
		t.Fatal(err)
	}
	moved, err := c.write(t.Context(), ended, "other")
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range []lease{ended, moved} {
		if err := c.removeEnded(t.Context(), []lease{l}); err != nil {
			t.Fatal(err)
		}
		read, err := c.leases(t.Context(), []string{"shard"})
		if err != nil {
			t.Fatal(err)
		}
		if read[0].exists != (l == ended) {
			t.Errorf("after the deletion of %+v: %+v", l, read[0])
		}
	}
}

// A process takes the lease of a shard that it has seen in an older list, after the lease was
// deleted. It requests a sweep, and the lease is at its end again.
func TestLease_TakenAfterDeletion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, _, _ := consuming(t)
		ctx, cancel := context.WithCancel(t.Context())
		const gone = "shardId-00000001493840079292-f265b851"
		if err := c.take(ctx, lease{shard: gone}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		cancel()
		c.readers.Wait()
		read, err := c.leases(t.Context(), []string{gone})
		if err != nil {
			t.Fatal(err)
		}
		now, err := c.consumers(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if read[0].checkpoint != checkpointEnd || read[0].worker != "" || now.requested != 1 {
			t.Errorf("the lease is %+v, the set %+v", read[0], now)
		}
	})
}

// A pass over 4 open shards and 24 that were read to their ends reads the item of the set, the
// leases of the open shards, and the lease of the sweeps.
func TestPass_Costs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, served, sent := consuming(t, embedded.WithStreamShards(4))
		for range 6 {
			time.Sleep(4 * time.Hour)
			if _, err := served.SweepExpired(); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		pass := func() dynajournal.Cost {
			t.Helper()
			synctest.Wait()
			sent.take()
			if err := c.pass(ctx); err != nil {
				t.Fatal(err)
			}
			return sent.take()
		}
		pass()
		time.Sleep(c.LeaseTimeout/engine.Renewals + time.Second) // the ends are stored
		pass()
		before := sent.descriptions.Load()
		if got, want := pass(), (dynajournal.Cost{Requests: 2, ReadUnits: 6}); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
		if got := sent.descriptions.Load() - before; got != 1 {
			t.Errorf("%d descriptions of the stream, want 1", got)
		}
		cancel()
		c.readers.Wait()
	})
}
