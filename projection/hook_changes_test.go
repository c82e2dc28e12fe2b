package projection_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/projection/outbox"
)

// changes records calls of hooks as texts.
type changes struct {
	mu  sync.Mutex
	all []string
}

func (c *changes) note(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, fmt.Sprintf(format, args...))
}

func (c *changes) count(text string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, s := range c.all {
		if s == text {
			n++
		}
	}
	return n
}

func (c *changes) hook() projection.Hook {
	return projection.Hook{
		OnClaim: func(_ context.Context, claim projection.Claim) {
			c.note("%s %s %s", claim.Projection, claim.PersistenceID, claim.Change)
		},
		OnLease: func(_ context.Context, lease projection.Lease) {
			if lease.Group != "group" || !strings.HasPrefix(lease.Shard, "shardId-") {
				c.note("wrong lease %+v", lease)
			}
			c.note("%s", lease.Change)
		},
	}
}

// with returns a configuration with a hook.
func with(config projection.Config, hook projection.Hook) projection.Config {
	config.Hooks = []projection.Hook{hook}
	return config
}

// Each change of a claim is reported by the process that it concerns. With the index of debts, a
// payment takes the claim over.
func TestHooks_Claims(t *testing.T) {
	t.Parallel()
	for name, indexed := range map[string]bool{"by a trigger": false, "by a payment": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := setup(t)
				if !indexed {
					b.unindexed()
				}
				b.write("a", "x")
				first, second := block(), &recorder{}
				var suspended, taker changes
				slow := group(t, b.journal, with(fast(), suspended.hook()), projection.AtLeastOnce("all", first))
				start(t, slow)
				comes(t, "the first event", first.arrived)
				config := with(fast(), taker.hook())
				config.ClaimTimeout = time.Second
				stop := start(t, group(t, b.Journal(), config, projection.AtLeastOnce("all", second)))
				b.await("group/all", "a", 1)
				stop()
				close(first.passed)
				until(t, "the slow process is done", func() bool { return slow.Lag()[0].IDs == 0 })
				waits := taker.count("group/all a waits")
				if n := taker.count("group/all a taken_over"); waits == 0 || n != 1 || len(taker.all) != waits+n {
					t.Errorf("the second process reports %q", taker.all)
				}
				if n := suspended.count("group/all a lost"); n != 1 {
					t.Errorf("the first process reports %q", suspended.all)
				}
			})
		})
	}
}

// Shards are gained, lost to a second process, split, released and taken over after a crash. The
// lag has the number of shards that each process reads.
func TestHooks_Leases(t *testing.T) {
	t.Parallel()
	b := streaming(t, embedded.WithStreamShards(4))
	launch := func() (func(), *projection.Group, *gate, *changes) {
		gate, seen := b.gate(""), &changes{}
		j := b.Journal(gate.install, func(c *dynajournal.Config) { c.Retries = 1 })
		g := group(t, j, with(b.streamed(), seen.hook()), projection.AtLeastOnce("all", &recorder{}))
		return start(t, g), g, gate, seen
	}
	shards := func(g *projection.Group) int {
		lag := g.Lag()[0]
		if !lag.ReadsStream {
			t.Error("the lag does not show that the group reads a stream")
		}
		return lag.Shards
	}
	stop, first, _, seen := launch()
	until(t, "the first process reads all shards", func() bool { return shards(first) == 4 })
	if n := seen.count("gained"); n != 4 {
		t.Errorf("the first process reports %q", seen.all)
	}
	_, second, dead, other := launch()
	until(t, "the shards are shared", func() bool { return shards(first) == 2 && shards(second) == 2 })
	until(t, "both have noticed", func() bool { return seen.count("lost") == 2 && other.count("taken_over") == 2 })
	if err := b.Engine.SplitShards(dynajournal.DefaultJournalTable); err != nil {
		t.Fatal(err)
	}
	until(t, "the parents have ended", func() bool { return seen.count("ended")+other.count("ended") == 4 })
	until(t, "the children are read", func() bool { return shards(first)+shards(second) == 8 })
	gained := seen.count("taken_over")
	dead.dead.Store(true)
	until(t, "the first process reads all shards", func() bool { return shards(first) == 8 })
	if n := seen.count("taken_over") - gained; n < 1 {
		t.Errorf("the first process reports %q", seen.all)
	}
	stop()
	if n := seen.count("released"); n != 8 || shards(first) != 0 {
		t.Errorf("after its end the first process reads %d shards, and reports %q", shards(first), seen.all)
	}
}

func TestHooks_StreamReads(t *testing.T) {
	t.Parallel()
	b := streaming(t)
	var mu sync.Mutex
	records, failed := 0, 0
	hook := projection.Hook{OnStreamRead: func(_ context.Context, r projection.StreamRead) {
		mu.Lock()
		defer mu.Unlock()
		records += r.Records
		if r.Err != nil {
			failed++
			if reason := projection.Reason(r.Err); reason != "denied" {
				t.Errorf("a read has failed because of %q: %v", reason, r.Err)
			}
		}
		if r.Group != "group" || r.Shard == "" || r.Duration <= 0 || r.Err != nil && r.Records > 0 {
			t.Errorf("a read is reported as %+v", r)
		}
	}}
	remove := b.inject("access-denied,operation=GetRecords")
	start(t, group(t, b.journal, with(b.streamed(), hook), projection.AtLeastOnce("all", &recorder{})))
	until(t, "a read has failed", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return failed > 0
	})
	remove()
	b.write("a", "x", "y", "z")
	b.await("group/all", "a", 3)
	mu.Lock()
	defer mu.Unlock()
	if records < 3 {
		t.Errorf("the reads have %d records, want at least 3", records)
	}
}

// Each attempt to send a message is reported, with its result. The target gets the context of
// StartSend.
func TestHooks_Messages(t *testing.T) {
	t.Parallel()
	down, calls := errors.New("connection refused"), 0
	target := outbox.TargetFunc(func(ctx context.Context, m outbox.Message) error {
		if ctx.Value(hookKey{}) != "span of "+m.ID {
			return fmt.Errorf("%w: the context has %v", outbox.ErrRefused, ctx.Value(hookKey{}))
		}
		calls++
		switch {
		case string(m.Body) == "refused":
			return outbox.ErrRefused
		case calls == 1:
			return down
		case calls == 2:
			panic("wanted")
		}
		return nil
	})
	seen := &changes{}
	hook := projection.Hook{
		StartSend: func(ctx context.Context, m projection.Sending) context.Context {
			seen.note("start %s %s %d %q", m.Projection, m.PersistenceID, m.SequenceNumber, m.Topic)
			return context.WithValue(ctx, hookKey{}, "span of "+m.MessageID)
		},
		OnSend: func(ctx context.Context, m projection.Sent) {
			if m.Duration <= 0 || ctx.Value(hookKey{}) != "span of "+m.MessageID {
				t.Errorf("the end of %+v has the context of %v", m, ctx.Value(hookKey{}))
			}
			seen.note("%s %s %v", m.Result, m.PersistenceID, projection.Reason(m.Err))
		},
	}
	b := setup(t)
	b.write("a", "x", "refused")
	config := with(fast(), hook)
	config.Attempts = 100
	start(t, group(t, b.journal, config, outbox.New("out", target, oneEach)))
	b.await("group/out", "a", 2)
	first, second := `start group/out a 1 ""`, `start group/out a 2 ""`
	want := []string{first, "failed a other", first, "failed a panic", first, "accepted a ", second, "refused a refused"}
	if !slices.Equal(seen.all, want) {
		t.Errorf("the hooks report\n%q, want\n%q", seen.all, want)
	}
}
