package projection_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/internal/backoff"
	"github.com/dynajournal/dynajournal/internal/testsize"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/projection/awslambda"
)

var lambdaEvents = flag.Int("projection.lambda.events", testsize.Of(60, 8_000),
	"how many events TestLambdaHistories has at least")

// TestLambdaHistories lets a mapping send records of writes and deletions to a function, while
// handlers fail, processes are killed, responses are lost, events come twice and the store is down.
func TestLambdaHistories(t *testing.T) {
	t.Parallel()
	t.Logf("to repeat: -projection.seed=%d", *seed)
	random := rand.New(rand.NewPCG(*seed, 2))
	sum := &function{}
	events, dropped := 0, 0
	for history := 0; events < *lambdaEvents && !t.Failed(); history++ {
		synctest.Test(t, func(t *testing.T) {
			n, source := lambdaHistory(t, random, sum)
			events += n
			dropped += source.dropped
		})
	}
	t.Logf("%d events, %d invocations, %d killed, %d answers lost, %d sent twice, %d failures of handlers",
		events, sum.invoked, sum.killed, sum.lost, sum.twice, sum.failed)
	if dropped > 0 {
		t.Errorf("%d records were dropped", dropped)
	}
}

func lambdaHistory(t *testing.T, random *rand.Rand, sum *function) (int, *eventSource) {
	t.Helper()
	views := types.StreamViewType("").Values()
	b := viewed(t, views[random.IntN(len(views))], embedded.WithStreamShards(1+random.IntN(3)))
	(&effects{bundle: b}).table()
	f := &function{bundle: b, chronicle: &chronicle{}, timeout: 3*time.Second + time.Duration(random.IntN(20))*time.Second}
	source := &eventSource{
		TB: t, client: dynamodbstreams.NewFromConfig(b.Engine.AWSConfig()), arn: b.streamARN(), invoke: f.invoke,
		batchSize: 1 + random.IntN(100), lanes: 1 + random.IntN(4), window: time.Duration(random.IntN(3)) * 100 * time.Millisecond,
	}
	ctx, cancel := context.WithCancel(t.Context())
	var reading sync.WaitGroup
	reading.Go(func() { source.run(ctx) })
	reading.Go(func() { f.maintain(ctx) })
	defer time.Sleep(2 * time.Minute) // for handlers that ignore their context
	defer f.running.Wait()
	defer reading.Wait()
	defer cancel()
	faults := lambdaFaults(b)
	state, pids := map[string]*committed{}, []string{}
	for i := range 8 {
		pid := fmt.Sprint("id", i)
		pids = append(pids, pid)
		state[pid] = &committed{life: "l0"}
	}
	for range testsize.Of(2, 8) {
		var writing sync.WaitGroup
		for _, pid := range pids {
			ops := random.Perm(12)
			writing.Go(func() { writeSome(b, pid, state[pid], ops) })
		}
		writing.Wait()
		time.Sleep(time.Duration(random.IntN(20_000)) * time.Millisecond)
		if random.IntN(4) == 0 {
			if err := b.Engine.SplitShards(dynajournal.DefaultJournalTable); err != nil {
				t.Fatal(err)
			}
		}
		if random.IntN(2) == 0 {
			down, err := b.Engine.Inject(embedded.Fault{Effect: embedded.EffectThroughputExceeded, Table: projectionsTable})
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Duration(random.IntN(60)) * time.Second)
			down()
		}
	}
	time.Sleep(time.Duration(random.IntN(60)) * time.Second)
	for _, remove := range faults {
		remove()
	}
	f.calm.Store(true)
	n := 0
	for _, pid := range pids {
		n += 2 * int(state[pid].last)
		for _, name := range []string{"all", "ledger"} {
			f.arrives(name, pid, state[pid].last)
		}
		what := fmt.Sprint(views, " ", pid)
		checkOrder(t, "at least once, "+what, f.chronicle.of(pid), *state[pid], false)
		checkOrder(t, "transactional, "+what, ledger{}.entries(b, pid), *state[pid], true)
	}
	until(t, "all records are done", source.idle)
	f.mu.Lock()
	defer f.mu.Unlock()
	sum.invoked += f.invoked
	sum.killed += f.killed
	sum.lost += f.lost
	sum.twice += f.twice
	sum.failed += f.failed
	return n / 2, source
}

// maintain calls Maintain once a minute, each time in a new process.
func (f *function) maintain(ctx context.Context) {
	for backoff.Wait(ctx, time.Minute) == nil {
		i, err := f.launch()
		if err != nil {
			continue // the store is down
		}
		within, cancel := context.WithTimeout(ctx, f.timeout)
		_ = awslambda.Maintain(within, i.group)
		cancel()
	}
}

// arrives waits until a projection has handled events up to a number. It resumes a stuck
// persistence id.
func (f *function) arrives(name, pid string, seq int64) {
	f.Helper()
	for range 2 {
		ctx, cancel := context.WithTimeout(f.Context(), time.Hour)
		err := projection.WaitFor(ctx, f.journal, "group/"+name, pid, seq)
		cancel()
		if err == nil {
			return
		}
		if !f.isStuck("group/"+name, pid) {
			f.Fatalf("%s of %s does not come to %d: %v", name, pid, seq, err)
		}
		i, err := f.launch()
		if err != nil {
			f.Fatal(err)
		}
		if err := i.group.Resume(f.Context(), name, pid); err != nil {
			f.Fatal(err)
		}
	}
}

func lambdaFaults(b *bundle) []func() {
	b.Helper()
	var faults []func()
	for _, f := range []embedded.Fault{
		{Effect: embedded.EffectReset, Operation: "UpdateItem", Probability: 0.05, Applied: true},
		{Effect: embedded.EffectReset, Operation: "UpdateItem", Probability: 0.05},
		{Effect: embedded.EffectReset, Operation: "TransactWriteItems", Probability: 0.1, Applied: true},
		{Effect: embedded.EffectTransactionConflict, Operation: "TransactWriteItems", Probability: 0.05},
		{Effect: embedded.EffectThrottling, Operation: "GetItem", Table: projectionsTable, Probability: 0.05},
		{Effect: embedded.EffectThroughputExceeded, Operation: "Query", Probability: 0.02},
		{Effect: embedded.EffectExpiredIterator, Operation: "GetRecords", Probability: 0.05},
		{Effect: embedded.EffectHalfPage, Operation: "GetRecords", Probability: 0.2},
		{Effect: embedded.EffectReaderLimit, Operation: "GetRecords", Probability: 0.05},
		{Effect: embedded.EffectStreamLag, Operation: "GetRecords", Probability: 0.2, Delay: 20 * time.Millisecond},
	} {
		remove, err := b.Engine.Inject(f)
		if err != nil {
			b.Fatal(err)
		}
		faults = append(faults, remove)
	}
	return faults
}
