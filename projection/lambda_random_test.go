package projection_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/internal/testsize"
	"github.com/dynajournal/dynajournal/projection"
)

var lambdaEvents = flag.Int("projection.lambda.events", testsize.Of(500, 100_000),
	"how many events TestLambdaHistories has at least")

// function is a function of Lambda. Its processes are killed, and their answers are lost.
type function struct {
	*bundle

	told *chronicle
	// calm reports that nothing fails any more.
	calm    atomic.Bool
	timeout time.Duration
	running sync.WaitGroup

	mu   sync.Mutex
	idle []*instance
	// invoked, killed, lost, twice and failed count invocations, and failures of handlers.
	invoked, killed, lost, twice, failed int
}

// instance is a process of a function.
type instance struct {
	gate  *gate
	group *projection.Group
}

// one reports whether something happens that happens once in n times, while something fails.
func (f *function) one(n int, counter *int) bool {
	if f.calm.Load() || rand.IntN(n) > 0 {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	*counter++
	return true
}

// Handle fails, panics, needs more time than it has, or ignores that, once in some calls.
func (f *function) fails(ctx context.Context, e dynajournal.Event, of *instance) error {
	poison := e.PersistenceID == "id0" && e.SequenceNumber%20 == 3
	switch {
	case poison && !f.calm.Load():
		return errWanted
	case f.one(40, &f.failed):
		return errWanted
	case f.one(80, &f.failed):
		panic("wanted")
	case f.one(80, &f.failed):
		<-ctx.Done()
		return ctx.Err()
	case f.one(300, &f.failed):
		time.Sleep(time.Minute) // it does not look at its context
	}
	if of.gate.dead.Load() {
		return errKilled
	}
	return nil
}

type lambdaHandler struct {
	*chronicle

	function *function
	instance *instance
}

func (h *lambdaHandler) Handle(ctx context.Context, e dynajournal.Event) error {
	if err := h.function.fails(ctx, e, h.instance); err != nil {
		return err
	}
	life, err := lifeOf(e)
	h.add(e.PersistenceID, entry{life, e.SequenceNumber, e.SequenceNumber})
	return err
}

type lambdaLedger struct {
	ledger

	function *function
	instance *instance
}

func (h *lambdaLedger) Handle(ctx context.Context, e dynajournal.Event) ([]types.TransactWriteItem, error) {
	if err := h.function.fails(ctx, e, h.instance); err != nil {
		return nil, err
	}
	life, err := lifeOf(e)
	return h.put(e.PersistenceID, fmt.Sprintf("%s %d %d", life, e.SequenceNumber, e.SequenceNumber)), err
}

// launch begins a process. It fails while the store is down.
func (f *function) launch() (*instance, error) {
	i := &instance{gate: f.gate("")}
	settings := f.config
	settings.Retries = 1
	i.gate.install(&settings)
	j, err := dynajournal.Open(f.Context(), settings)
	if err != nil {
		return nil, err
	}
	f.Cleanup(func() { _ = j.Close() })
	config := onLambda()
	config.Attempts, config.BatchSize, config.Concurrency = 6, 7, 4
	config.RetryShortest, config.RetryLongest = 50*time.Millisecond, time.Second
	i.group, err = projection.New(j, config,
		projection.AtLeastOnce("all", &lambdaHandler{f.told, f, i}),
		projection.Transactional("ledger", &lambdaLedger{ledger{}, f, i}))
	return i, err
}

// take takes a process that is free, or begins one.
func (f *function) take() (*instance, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n := len(f.idle); n > 0 && rand.IntN(10) > 0 {
		i := f.idle[n-1]
		f.idle = f.idle[:n-1]
		return i, nil
	}
	return f.launch()
}

// invoke sends an event to the function, at times twice, and loses its response at times.
func (f *function) invoke(event json.RawMessage) (json.RawMessage, error) {
	var other sync.WaitGroup
	if f.one(20, &f.twice) {
		other.Go(func() { _, _ = f.once(event) })
	}
	response, err := f.once(event)
	if rand.IntN(2) == 0 {
		other.Wait()
	} else {
		f.running.Go(other.Wait)
	}
	if f.one(20, &f.lost) {
		return nil, errLambda
	}
	return response, err
}

// once invokes a process, which is killed at its deadline at the latest.
func (f *function) once(event json.RawMessage) (json.RawMessage, error) {
	i, err := f.take()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(f.Context(), f.timeout)
	defer cancel()
	var ignored int
	f.mu.Lock()
	f.invoked++
	f.mu.Unlock()
	life := f.timeout
	if f.one(25, &f.killed) {
		life = time.Duration(rand.Int64N(int64(f.timeout))) + 1
	}
	type result struct {
		response projection.DynamoDBEventResponse
		err      error
	}
	over := make(chan result, 1)
	f.running.Go(func() {
		if f.one(30, &ignored) {
			_ = i.group.Maintain(ctx)
		}
		response, err := i.group.HandleDynamoDBEvent(ctx, event)
		over <- result{response, err}
	})
	select {
	case r := <-over:
		if f.one(50, &f.killed) { // behind its answer
			i.gate.dead.Store(true)
		} else {
			f.mu.Lock()
			f.idle = append(f.idle, i)
			f.mu.Unlock()
		}
		if r.err != nil {
			return nil, r.err
		}
		return json.Marshal(r.response)
	case <-time.After(life):
		i.gate.dead.Store(true)
		return nil, errKilled
	}
}

// TestLambdaHistories lets a mapping send what writers write and delete to a function, while
// handlers fail, processes are killed, answers are lost, events come twice and the store is down.
func TestLambdaHistories(t *testing.T) {
	t.Parallel()
	if *seed == 0 {
		*seed = rand.Uint64()
	}
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
	f := &function{bundle: b, told: &chronicle{}, timeout: 3*time.Second + time.Duration(random.IntN(20))*time.Second}
	source := &eventSource{
		TB: t, client: dynamodbstreams.NewFromConfig(b.engine.AWSConfig()), arn: b.streamARN(), invoke: f.invoke,
		batchSize: 1 + random.IntN(100), lanes: 1 + random.IntN(4), window: time.Duration(random.IntN(3)) * 100 * time.Millisecond,
	}
	ctx, cancel := context.WithCancel(t.Context())
	var reading sync.WaitGroup
	reading.Go(func() { source.run(ctx) })
	defer time.Sleep(2 * time.Minute) // for handlers that do not look at their context
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
		if random.IntN(2) == 0 {
			if err := b.engine.SplitShards(dynajournal.DefaultJournalTable); err != nil {
				t.Fatal(err)
			}
		}
		if random.IntN(2) == 0 {
			down, err := b.engine.Inject(embedded.Fault{Effect: embedded.EffectThroughputExceeded, Table: projectionsTable})
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
		checkOrder(t, "at least once, "+what, f.told.of(pid), *state[pid], false)
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

// arrives waits until a projection has handled a number. It resumes a stuck id.
func (f *function) arrives(name, pid string, seq int64) {
	f.Helper()
	for range 2 {
		ctx, cancel := context.WithTimeout(f.Context(), time.Hour)
		err := projection.WaitFor(ctx, f.journal, "group/"+name, pid, seq)
		cancel()
		if err == nil {
			return
		}
		if f.row("group/"+name, pid)["stuck"] == nil {
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
		remove, err := b.engine.Inject(f)
		if err != nil {
			b.Fatal(err)
		}
		faults = append(faults, remove)
	}
	return faults
}
