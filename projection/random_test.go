package projection_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/internal/testseed"
	"github.com/dynajournal/dynajournal/projection"
)

var seed = testseed.Flag("projection.seed")

// worker is a process of a group that can be killed.
type worker struct {
	gate *gate
	stop func()
}

// TestRandomHistories lets three processes handle writes, deletions and purges, while requests
// fail, responses are lost, processes are killed and claims are taken over.
func TestRandomHistories(t *testing.T) {
	t.Parallel()
	t.Logf("to repeat: -projection.seed=%d", *seed)
	t.Run("swept", func(t *testing.T) {
		t.Parallel()
		randomHistory(t, types.StreamViewTypeNewImage, func(*bundle) projection.Source {
			return projection.Sweep(projection.SweepOptions{Every: 20 * time.Millisecond, PerSecond: -1})
		})
	})
	views := types.StreamViewType("").Values()
	view := views[*seed%uint64(len(views))]
	t.Run("streamed "+string(view), func(t *testing.T) {
		t.Parallel()
		randomHistory(t, view, func(b *bundle) projection.Source { return b.streamed().Source })
	})
}

func randomHistory(t *testing.T, view types.StreamViewType, source func(*bundle) projection.Source) {
	t.Helper()
	random := rand.New(rand.NewPCG(*seed, 1))
	b := viewed(t, view, embedded.WithStreamShards(3))
	effects := &effects{bundle: b}
	effects.table()
	all := &chronicle{}
	config := fast()
	config.ClaimTimeout, config.Attempts, config.BatchSize = 300*time.Millisecond, 1000, 7
	launch := func() *worker {
		gate := b.gate("")
		j := b.Journal(gate.install, func(c *dynajournal.Config) { c.Retries = 1 })
		config := config
		config.Source = source(b)
		g := group(t, j, config, projection.AtLeastOnce("all", all), projection.Transactional("ledger", ledger{}))
		return &worker{gate, start(t, g)}
	}
	state := map[string]*committed{}
	var pids []string
	for i := range 5 {
		pid := fmt.Sprintf("id%d", i)
		pids = append(pids, pid)
		state[pid] = &committed{life: "l0"}
	}
	for round := range 3 {
		workers := []*worker{launch(), launch(), launch()}
		var faults []func()
		for _, f := range []embedded.Fault{
			{Effect: embedded.EffectReset, Operation: "UpdateItem", Probability: 0.05, Applied: true},
			{Effect: embedded.EffectReset, Operation: "TransactWriteItems", Probability: 0.1, Applied: true},
			{Effect: embedded.EffectReset, Operation: "TransactWriteItems", Probability: 0.05},
			{Effect: embedded.EffectTransactionConflict, Operation: "TransactWriteItems", Probability: 0.05},
			{Effect: embedded.EffectThrottling, Operation: "GetItem", Table: projectionsTable, Probability: 0.05},
			{Effect: embedded.EffectThroughputExceeded, Operation: "Query", Probability: 0.02},
			{Effect: embedded.EffectExpiredIterator, Operation: "GetRecords", Probability: 0.05},
			{Effect: embedded.EffectHalfPage, Operation: "GetRecords", Probability: 0.2},
			{Effect: embedded.EffectTrimmed, Operation: "GetRecords", Probability: 0.01},
			{Effect: embedded.EffectReaderLimit, Operation: "GetRecords", Probability: 0.05},
			{Effect: embedded.EffectStreamLag, Operation: "GetRecords", Probability: 0.2, Delay: 20 * time.Millisecond},
		} {
			remove, err := b.Engine.Inject(f)
			if err != nil {
				t.Fatal(err)
			}
			faults = append(faults, remove)
		}
		var writing sync.WaitGroup
		for _, pid := range pids {
			ops := random.Perm(12)
			writing.Go(func() { writeSome(b, pid, state[pid], ops) })
		}
		kills := random.Perm(len(workers))[:1+random.IntN(len(workers))]
		for _, i := range kills {
			workers[i].gate.dead.Store(true) // at whatever it is doing
			workers[i].stop()
			workers[i] = launchWithoutFaults(faults, launch)
			faults = nil
		}
		writing.Wait()
		for _, remove := range faults {
			remove()
		}
		for _, pid := range pids {
			b.await("group/all", pid, state[pid].last)
			b.await("group/ledger", pid, state[pid].last)
			// The offset of the life before a purge may be the higher one.
			until(t, "the events after a purge are handled", func() bool {
				return state[pid].reportedBy(all.of(pid)) && state[pid].reportedBy(ledger{}.entries(b, pid))
			})
		}
		for _, w := range workers {
			w.stop()
		}
		for _, now := range state {
			now.fresh = false
		}
		for _, pid := range pids {
			what := fmt.Sprintf("round %d, %s", round, pid)
			checkOrder(t, "at least once, "+what, all.of(pid), *state[pid], false)
			checkOrder(t, "transactional, "+what, ledger{}.entries(b, pid), *state[pid], true)
		}
		if t.Failed() {
			return
		}
		for i, pid := range pids { // nothing reads meanwhile, as a purge with Now demands
			if i%3 == round%3 {
				w := b.write(pid)
				if _, err := w.Purge(t.Context(), dynajournal.PurgeOptions{Now: true}); err != nil {
					t.Fatal(err)
				}
				*state[pid] = committed{life: fmt.Sprintf("l%d", round+1), fresh: true, purges: state[pid].purges}
				b.write(pid, state[pid].life) // one event, so that the next life can be shorter
				state[pid].last = 1
			}
		}
	}
}

// launchWithoutFaults launches a process that can open its journal.
func launchWithoutFaults(faults []func(), launch func() *worker) *worker {
	for _, remove := range faults {
		remove()
	}
	return launch()
}

// writeSome appends single events and atomic writes, deletes, and purges.
func writeSome(b *bundle, pid string, now *committed, ops []int) {
	w, err := b.journal.Recover(b.Context(), pid, dynajournal.RecoverOptions{}, nil)
	for _, op := range ops {
		if err != nil {
			b.Error(err)
			return
		}
		if op == 0 && !now.fresh {
			_, err = w.DeleteTo(b.Context(), max(now.last-3, 0))
			continue
		}
		if op == 1 && !now.fresh {
			if _, err = w.Purge(b.Context(), dynajournal.PurgeOptions{}); err == nil {
				w, err = b.journal.Recover(b.Context(), pid, dynajournal.RecoverOptions{}, nil)
			}
			var next int64
			if err == nil {
				next, err = w.NextSequenceNumber(b.Context())
			}
			now.purges, now.life = append(now.purges, next-1), fmt.Sprintf("%s.%d", now.life, next-1)
			// At least one event follows, so that the end of the life is known.
		}
		if err != nil {
			continue
		}
		events := make([]any, 1+op%4)
		for i := range events {
			events[i] = now.life
		}
		var result dynajournal.AppendResult
		if result, err = w.Append(b.Context(), events...); err == nil {
			now.last = result.Last
		}
	}
}
