package projection_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/projection"
)

var seed = flag.Uint64("projection.seed", 0, "the seed of the random test; 0 chooses one")

// chronicle is what a projection was told of one id, in order. An entry is a life and the first and
// last number: an event, or a gap. A purge has the numbers 0.
type chronicle struct {
	mu      sync.Mutex
	entries map[string][]entry
}

type entry struct {
	life        string // empty for a gap, whose life is not known
	first, last int64
}

func (c *chronicle) add(pid string, e entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries == nil {
		c.entries = map[string][]entry{}
	}
	c.entries[pid] = append(c.entries[pid], e)
}

func lifeOf(e dynajournal.Event) (string, error) { return dynajournal.Decode[string](e) }

// Handle notes an event. One of twenty fails.
func (c *chronicle) Handle(_ context.Context, e dynajournal.Event) error {
	if rand.IntN(20) == 0 {
		return errWanted
	}
	life, err := lifeOf(e)
	c.add(e.PersistenceID, entry{life, e.SequenceNumber, e.SequenceNumber})
	return err
}

func (c *chronicle) HandleGap(_ context.Context, g projection.Gap) error {
	c.add(g.PersistenceID, entry{"", g.First, g.Last})
	return nil
}

func (c *chronicle) HandlePurge(_ context.Context, p projection.Purge) error {
	c.add(p.PersistenceID, entry{"purge", 0, 0})
	return nil
}

// ledger is a transactional handler that appends what it is told to a list in an item of the id.
type ledger struct{}

func (ledger) put(pid, text string) []types.TransactWriteItem {
	return []types.TransactWriteItem{{Update: &types.Update{
		TableName:        aws.String(effectsTable),
		Key:              map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: pid}},
		UpdateExpression: aws.String("SET entries = list_append(if_not_exists(entries, :none), :one)"),
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":none": &types.AttributeValueMemberL{},
			":one":  &types.AttributeValueMemberL{Value: []types.AttributeValue{&types.AttributeValueMemberS{Value: text}}},
		},
	}}}
}

func (l ledger) Handle(_ context.Context, e dynajournal.Event) ([]types.TransactWriteItem, error) {
	if rand.IntN(20) == 0 {
		return nil, errWanted
	}
	life, err := lifeOf(e)
	return l.put(e.PersistenceID, fmt.Sprintf("%s %d %d", life, e.SequenceNumber, e.SequenceNumber)), err
}

func (l ledger) HandleGap(_ context.Context, g projection.Gap) ([]types.TransactWriteItem, error) {
	return l.put(g.PersistenceID, fmt.Sprintf("gap %d %d", g.First, g.Last)), nil
}

func (l ledger) HandlePurge(_ context.Context, p projection.Purge) ([]types.TransactWriteItem, error) {
	return l.put(p.PersistenceID, "purge 0 0"), nil
}

// entries reads what the ledger of an id has.
func (ledger) entries(b *bundle, pid string) []entry {
	out, err := b.table.GetItem(b.Context(), &dynamodb.GetItemInput{
		TableName: aws.String(effectsTable), ConsistentRead: aws.Bool(true),
		Key: map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: pid}},
	})
	if err != nil {
		b.Fatal(err)
	}
	list, _ := out.Item["entries"].(*types.AttributeValueMemberL)
	if list == nil {
		return nil
	}
	var all []entry
	for _, v := range list.Value {
		var e entry
		if _, err := fmt.Sscanf(v.(*types.AttributeValueMemberS).Value, "%s %d %d", &e.life, &e.first, &e.last); err != nil {
			b.Fatal(err)
		}
		if e.life == "gap" {
			e.life = ""
		}
		all = append(all, e)
	}
	return all
}

// committed are the events that were acknowledged: life by life, how many numbers each has.
type committed struct {
	life string
	last int64
	// fresh reports that the life began after the last round. Then nothing is deleted: a deletion
	// beyond the offset of the life before hides that it is another life.
	fresh bool
}

// checkOrder checks that no number of a life is told before the one below it, and that the last
// life was told to its end. With once, no number is told twice.
func checkOrder(t *testing.T, what string, entries []entry, now committed, once bool) {
	t.Helper()
	reached, life := int64(0), ""
	for i, e := range entries {
		fail := func(text string) { t.Errorf("%s: entry %d, %v, %s\n%v", what, i, e, text, entries) }
		switch {
		case e.life == "purge":
			reached, life = 0, ""
			continue
		case e.life != "" && life != "" && e.life != life:
			fail("is of another life, without a purge")
		case e.first > reached+1:
			fail(fmt.Sprintf("passes over %d", reached+1))
		case once && e.first <= reached:
			fail("is told twice")
		}
		if e.life != "" {
			life = e.life
		}
		reached = max(reached, e.last)
	}
	if reached < now.last || life != "" && life != now.life {
		t.Errorf("%s: told up to %d of life %s, committed are %d of life %s\n%v", what, reached, life, now.last, now.life, entries)
	}
}

// worker is a process of a group that can be killed.
type worker struct {
	gate *gate
	stop func()
}

// TestRandomHistories lets three processes handle what writers write, delete and purge, while
// requests fail, responses are lost, processes are killed and claims are taken over.
func TestRandomHistories(t *testing.T) {
	t.Parallel()
	if *seed == 0 {
		*seed = rand.Uint64()
	}
	t.Logf("to repeat: -projection.seed=%d", *seed)
	random := rand.New(rand.NewPCG(*seed, 1))
	b := setup(t)
	effects := &effects{bundle: b}
	effects.table()
	all := &chronicle{}
	config := fast()
	config.ClaimTimeout, config.Attempts, config.BatchSize = 300*time.Millisecond, 1000, 7
	config.Source = projection.Sweep(projection.SweepOptions{Every: 20 * time.Millisecond, PerSecond: -1})
	launch := func() *worker {
		gate := b.gate("")
		j := b.open(gate.install, func(c *dynajournal.Config) { c.Retries = 1 })
		g := group(t, j, config, projection.AtLeastOnce("all", all), projection.Transactional("ledger", ledger{}))
		return &worker{gate, start(t, g)}
	}
	state := map[string]*committed{}
	var pids []string
	for i := range 8 {
		pid := fmt.Sprintf("id%d", i)
		pids = append(pids, pid)
		state[pid] = &committed{life: "l0"}
	}
	for round := range 4 {
		workers := []*worker{launch(), launch(), launch()}
		var faults []func()
		for _, f := range []embedded.Fault{
			{Effect: embedded.EffectReset, Operation: "UpdateItem", Probability: 0.05, Applied: true},
			{Effect: embedded.EffectReset, Operation: "TransactWriteItems", Probability: 0.1, Applied: true},
			{Effect: embedded.EffectReset, Operation: "TransactWriteItems", Probability: 0.05},
			{Effect: embedded.EffectTransactionConflict, Operation: "TransactWriteItems", Probability: 0.05},
			{Effect: embedded.EffectThrottling, Operation: "GetItem", Table: projectionsTable, Probability: 0.05},
			{Effect: embedded.EffectThroughputExceeded, Operation: "Query", Probability: 0.02},
		} {
			remove, err := b.engine.Inject(f)
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
		}
		for _, w := range workers {
			w.stop()
		}
		for _, now := range state {
			now.fresh = false
		}
		for _, pid := range pids {
			what := fmt.Sprintf("round %d, %s", round, pid)
			checkOrder(t, "at least once, "+what, all.entries[pid], *state[pid], false)
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
				*state[pid] = committed{life: fmt.Sprintf("l%d", round+1), fresh: true}
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

// writeSome appends singles and atomic writes, and deletes.
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
