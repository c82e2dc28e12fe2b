package projection_test

import (
	"context"
	"flag"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/testsize"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/projection/outbox"
)

var (
	manyIDs    = flag.Int("projection.ids", testsize.Of(200, 20_000), "the number of persistence ids beside one that is never handled")
	manyEvents = flag.Int("projection.events", testsize.Of(4_000, 100_000), "the number of events that a read model handles while an outbox is down")
)

// tally is a handler that checks that it gets the events of each persistence id in order and once.
type tally struct {
	mu    sync.Mutex
	last  map[string]int64
	wrong []string

	handled atomic.Int64
}

func (h *tally) Handle(_ context.Context, e dynajournal.Event) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.last == nil {
		h.last = map[string]int64{}
	}
	if h.last[e.PersistenceID] != e.SequenceNumber-1 && len(h.wrong) < 10 {
		h.wrong = append(h.wrong, fmt.Sprintf("%s: %d after %d", e.PersistenceID, e.SequenceNumber, h.last[e.PersistenceID]))
	}
	h.last[e.PersistenceID] = e.SequenceNumber
	h.handled.Add(1)
	return nil
}

// appendMany appends events to persistence ids, with several concurrent writers.
func (b *bundle) appendMany(ids, events int) {
	b.Helper()
	writing, ctx := errgroup.WithContext(b.Context())
	writing.SetLimit(16)
	for i := range ids {
		writing.Go(func() error {
			w, err := b.journal.Recover(ctx, fmt.Sprint("id-", i), dynajournal.RecoverOptions{}, nil)
			for n := 0; err == nil && n < events; n++ {
				_, err = w.Append(ctx, "x")
			}
			return err
		})
	}
	if err := writing.Wait(); err != nil {
		b.Fatal(err)
	}
}

// The target of an outbox never accepts the message of one persistence id. All other messages are
// sent within seconds, later ones as well as earlier ones. The pauses between retries of that
// message grow.
func TestMessageThatIsNeverTaken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := streaming(t)
		var sent, refused atomic.Int64
		target := targetFunc(func(m outbox.Message) error {
			if m.PersistenceID == "id-7" {
				refused.Add(1)
				return errDown
			}
			sent.Add(1)
			return nil
		})
		all := &tally{}
		g := group(t, b.Journal(), b.readsStream(), outbox.New("out", target, oneEach), projection.AtLeastOnce("all", all))
		start(t, g)
		for round := range int64(2) {
			b.appendMany(*manyIDs, 1)
			time.Sleep(30 * time.Second)
			if n := all.handled.Load(); n != (round+1)*int64(*manyIDs) || len(all.wrong) > 0 {
				t.Errorf("the read model has handled %d events, %v", n, all.wrong)
			}
			if n := sent.Load(); n != (round+1)*int64(*manyIDs-1) {
				t.Errorf("round %d: %d messages of %d are sent", round, n, *manyIDs-1)
			}
		}
		tried := refused.Load()
		time.Sleep(time.Hour)
		if n := refused.Load() - tried; n < 30 || n > 400 {
			t.Errorf("in an hour the message was tried %d times", n)
		}
		lag := g.Lag()[0]
		if lag.Debts != 1 || lag.IDs != 0 || lag.OldestDebt < time.Hour {
			t.Errorf("%+v", lag)
		}
	})
}

// targetFunc is a target of an outbox.
type targetFunc func(m outbox.Message) error

func (f targetFunc) Send(_ context.Context, m outbox.Message) error { return f(m) }

// A read model handles all events in order and once, while an outbox of the same group can't send
// any message.
func TestManyEventsWhileATargetIsDown(t *testing.T) {
	t.Parallel()
	b := streaming(t)
	all := &tally{}
	config := b.readsStream()
	g := group(t, b.Journal(), config, projection.AtLeastOnce("all", all),
		outbox.New("out", targetFunc(func(outbox.Message) error { return errDown }), oneEach))
	start(t, g)
	const each = 100
	ids := *manyEvents / each
	b.appendMany(ids, each)
	want := int64(ids * each)
	for deadline := time.Now().Add(10 * time.Minute); all.handled.Load() < want && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
	}
	if n := all.handled.Load(); n != want || len(all.wrong) > 0 {
		t.Errorf("%d of %d events are handled: %v", n, want, all.wrong)
	}
}
