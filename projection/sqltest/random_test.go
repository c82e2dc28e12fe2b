package sqltest_test

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/projection/sqlprojection"
)

var seed = flag.Uint64("sql.seed", 1, "the seed of the random tests")

// history has the events that writers append while groups run.
type history struct {
	*bundle

	pids []string
	// last is the last number of each persistence id.
	last []int64
}

func (b *bundle) history(ids int) *history {
	h := &history{bundle: b, last: make([]int64, ids)}
	for i := range ids {
		h.pids = append(h.pids, fmt.Sprint("id", i))
	}
	return h
}

// write appends to all persistence ids, and sometimes deletes, until they have rounds appends.
func (h *history) write(rounds int) {
	var writing sync.WaitGroup
	for i, pid := range h.pids {
		writing.Go(func() {
			w, err := h.journal.Recover(h.Context(), pid, dynajournal.RecoverOptions{}, nil)
			for n := 0; n < rounds && err == nil; n++ {
				var result dynajournal.AppendResult
				events := make([]any, 1+n%3)
				for k := range events {
					events[k] = "x"
				}
				if result, err = w.Append(h.Context(), events...); err == nil {
					h.last[i] = result.Last
				}
				if err == nil && h.last[i]%7 == 6 {
					_, err = w.DeleteTo(h.Context(), h.last[i]-3)
				}
			}
			if err != nil {
				h.Error(err)
			}
		})
	}
	writing.Wait()
}

// check waits until everything is handled, and checks that each number was handled once, in order.
func (h *history) check() {
	h.Helper()
	for i, pid := range h.pids {
		h.await(pid, h.last[i])
		all := h.effects(pid)
		reached := int64(0)
		for what := range strings.SplitSeq(all, ", ") {
			var first, last int64
			if _, err := fmt.Sscanf(what, "gap %d-%d", &first, &last); err != nil {
				_, err = fmt.Sscanf(what, "%d x", &first)
				last = first
				if err != nil {
					h.Errorf("%s: %q: %v", pid, what, err)
				}
			}
			if first != reached+1 {
				h.Errorf("%s: %q follows %d: %s", pid, what, reached, all)
			}
			reached = last
		}
		if reached != h.last[i] {
			h.Errorf("%s: handled up to %d of %d: %s", pid, reached, h.last[i], all)
		}
	}
}

// flaky fails one time in ten, with an error or a panic.
func flaky() ledger {
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(*seed, 0))
	return ledger{on: func(context.Context, *sql.Tx, dynajournal.Event) error {
		mu.Lock()
		n := random.IntN(20)
		mu.Unlock()
		switch n {
		case 0:
			return errWanted
		case 1:
			panic(errWanted)
		}
		return nil
	}}
}

// restless returns a configuration that never gives up, and sweeps all persistence ids again and
// again.
func restless() projection.Config {
	config := fast()
	config.Attempts, config.BatchSize, config.ClaimTimeout = 1_000_000, 5, 6*time.Second
	config.Source = projection.Sweep(projection.SweepOptions{Every: 5 * time.Millisecond, PerSecond: -1})
	return config
}

// TestRandomHistories lets two processes at one database handle writes and deletions, while
// handlers fail, requests are lost, connections are ended and processes are killed.
func TestRandomHistories(t *testing.T) {
	t.Parallel()
	t.Logf("to repeat: -sql.seed=%d", *seed)
	each(t, func(b *bundle) {
		random := rand.New(rand.NewPCG(*seed, uint64(b.dialect)))
		h := b.history(6)
		source, workers := b.source, "" // the application name of the groups' connections
		if b.dialect == sqlprojection.Postgres {
			_, schema, _ := strings.Cut(b.source, "search_path=")
			workers = "workers_of_" + schema
			source += " application_name=" + workers
		}
		launch := func() (kill func()) {
			gate := newGate("")
			journal := b.open(gate.install, func(c *dynajournal.Config) { c.Retries = 1 })
			stop := b.start(b.group(journal, restless(), sqlprojection.New("effects", b.connect(source), b.dialect, flaky())))
			return func() {
				gate.dead.Store(true)
				stop()
			}
		}
		kills := []func(){launch(), launch()}
		for _, f := range []embedded.Fault{
			{Effect: embedded.EffectReset, Operation: "UpdateItem", Probability: 0.05, Applied: true},
			{Effect: embedded.EffectThrottling, Operation: "GetItem", Table: dynajournal.DefaultJournalTable + "-projections", Probability: 0.05},
			{Effect: embedded.EffectThroughputExceeded, Operation: "Query", Probability: 0.02},
		} {
			if _, err := b.engine.Inject(f); err != nil {
				b.Fatal(err)
			}
		}
		cut := func() {
			if b.dialect == sqlprojection.Postgres {
				b.exec(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
					WHERE application_name = $1 AND random() < 0.5`, workers)
			}
		}
		for round := range 8 {
			var writing sync.WaitGroup
			writing.Go(func() { h.write(3) })
			cut()
			if round%2 == 1 {
				i := random.IntN(len(kills))
				kills[i]()
				kills[i] = launch()
			}
			writing.Wait()
			cut()
		}
		h.check()
	})
}

// The server and all its processes are killed in the middle, and started again.
func TestServerIsKilled(t *testing.T) {
	t.Parallel()
	s := postgres(t, newServer)
	t.Cleanup(func() {
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	})
	b := setup(t, sqlprojection.Postgres, "pgx", s.source("", ""))
	h := b.history(4)
	for range 2 {
		b.start(b.group(b.open(), restless(), sqlprojection.New("effects", b.connect(b.source), b.dialect, flaky())))
	}
	for range 3 {
		h.write(4)
		s.kill()
		h.write(4)
		if err := s.start(); err != nil {
			t.Fatal(err)
		}
	}
	b.db = b.connect(b.source) // the connections of the other one are lost
	h.check()
}
