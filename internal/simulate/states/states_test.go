package states_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anishathalye/porcupine"
	"go.uber.org/goleak"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/internal/explore"
	"github.com/dynajournal/dynajournal/internal/testsize"
	"github.com/dynajournal/dynajournal/serialization"
)

var (
	duration = flag.Duration("simulate.duration", 0, "how long to play; 0 is a fixed number of histories")
	first    = flag.Uint64("simulate.seed", 1, "the seed of the first history")
)

func TestMain(m *testing.M) {
	testsize.RelaxCollector()
	goleak.VerifyTestMain(m)
}

// fixed is the number of histories, unless a flag limits them by time.
var fixed = testsize.Of[uint64](8, 200)

const (
	processes = 3
	callers   = 2 // of each process
	calls     = 12
)

// beyond is longer than the fence window: earlier versions let purged states expire after it.
const beyond = dynajournal.MinFenceWindow + time.Minute

// TestStates runs random histories until one fails, or enough were run. It prints the seed.
func TestStates(t *testing.T) {
	start, sum := time.Now(), &totals{}
	seed := *first
	for ; *duration == 0 && seed < *first+fixed || time.Since(start) < *duration; seed++ {
		synctest.Test(t, func(t *testing.T) { run(t, seed, sum) })
		if t.Failed() {
			t.Fatalf("-simulate.seed=%d", seed)
		}
	}
	t.Logf("%d histories, %d operations judged, %d of unknown outcome, %d repeats that were duplicates, %d conflicts, %d kills, %d faults",
		seed-*first, sum.judged.Load(), sum.unknown.Load(), sum.duplicates.Load(), sum.conflicts.Load(), sum.kills.Load(), sum.faults.Load())
}

type totals struct{ judged, unknown, duplicates, conflicts, kills, faults atomic.Int64 }

// State is the state of an entity. Its padding shows that its parts belong together.
type State struct {
	Value   string
	Count   int
	Padding string
}

func (s *State) padded(size int) State {
	return State{s.Value, s.Count, strings.Repeat(s.Value+" ", size)}
}

// check returns an error if the state is a mix of several states.
func (s *State) check() error {
	if s.Padding != strings.Repeat(s.Value+" ", len(s.Padding)/max(len(s.Value)+1, 1)) {
		return fmt.Errorf("the padding is not that of %q: %q", s.Value, s.Padding)
	}
	return nil
}

// history is a history that is being run.
type history struct {
	*testing.T
	seed   uint64
	sum    *totals
	engine *embedded.Engine
	purges bool
	clock  atomic.Int64

	mu         sync.Mutex
	operations []porcupine.Operation
}

// process is a process that is killed and starts again.
type process struct {
	h *history

	mu         sync.Mutex
	connection *explore.Connection
	journal    *dynajournal.Journal
	states     *entity.States[State]
}

func run(t *testing.T, seed uint64, sum *totals) {
	engine, err := embedded.OpenMemory(embedded.WithSweepInterval(0), embedded.WithSeed(seed))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = engine.Close() }()
	random := rand.New(rand.NewPCG(seed, 1))
	h := &history{T: t, seed: seed, sum: sum, engine: engine, purges: random.IntN(2) == 0}
	if err := dynajournal.CreateTables(t.Context(), h.config(), dynajournal.TableOptions{SharedWithJVM: random.IntN(2) == 0}); err != nil {
		t.Fatal(err)
	}
	all := make([]*process, processes)
	for i := range all {
		all[i] = &process{h: h}
		all[i].start()
	}
	remove := h.inject(random)
	var working sync.WaitGroup
	for i := range processes * callers {
		caller := rand.New(rand.NewPCG(seed, uint64(i)+2))
		working.Go(func() {
			for n := range calls {
				time.Sleep(time.Duration(caller.IntN(20)) * time.Millisecond)
				if caller.IntN(calls) == 0 {
					h.pass()
				}
				h.call(all[i%processes], caller, fmt.Sprintf("%d.%d", i, n))
			}
		})
	}
	for range random.IntN(4) {
		time.Sleep(time.Duration(random.IntN(300)) * time.Millisecond)
		all[random.IntN(processes)].kill()
	}
	working.Wait()
	remove()
	h.pass() // late requests arrive
	last := &process{h: h}
	last.start()
	h.call(last, nil, "last")
	for _, p := range append(all, last) {
		p.end()
	}
	h.judge()
}

// pass lets the fence window pass, and removes expired items. The caller is paused meanwhile.
func (h *history) pass() {
	time.Sleep(beyond + time.Minute)
	if _, err := h.engine.SweepExpired(); err != nil {
		h.Error(err)
	}
}

func (h *history) config() dynajournal.Config {
	registry := serialization.NewRegistry()
	if err := serialization.JSON[State](registry, "state"); err != nil {
		h.Fatal(err)
	}
	return dynajournal.Config{
		AWS: h.engine.AWSConfig(), Serialization: registry, MaxItemSize: 8192, Retries: 2,
		FenceWindow: dynajournal.MinFenceWindow,
		BackoffBase: time.Millisecond, BackoffCap: 10 * time.Millisecond,
		AttemptTimeout: 100 * time.Millisecond, OperationTimeout: 300 * time.Millisecond,
	}
}

// inject injects faults into requests, until remove is called. A slow request is performed after
// its client has given up.
func (h *history) inject(random *rand.Rand) (remove func()) {
	rate := []float64{0, 0.02, 0.1}[random.IntN(3)]
	if rate == 0 {
		return func() {}
	}
	faults := []embedded.Fault{
		{Effect: embedded.EffectReset, Applied: true}, {Effect: embedded.EffectReset}, {Effect: embedded.EffectThrottling},
		{Effect: embedded.EffectInternalError, Applied: true}, {Effect: embedded.EffectSlow, Delay: 2 * time.Second},
		{Effect: embedded.EffectSlow, Delay: 50 * time.Millisecond}, {Effect: embedded.EffectSlow, Delay: beyond},
	}
	for i := range faults {
		faults[i].Probability = rate
	}
	remove, err := explore.InjectAll(h.engine, faults)
	if err != nil {
		h.Fatal(err)
	}
	return remove
}

func (p *process) start() {
	config := p.h.config()
	p.connection = explore.NewConnection(config.AWS.HTTPClient, &explore.Standstill{})
	config.AWS.HTTPClient = &http.Client{Transport: p.connection}
	for {
		var err error
		if p.journal, err = dynajournal.Open(context.Background(), config); err == nil {
			break
		}
	}
	var err error
	// All ids of a history are remembered, because a command may be repeated for a long time.
	options := entity.Options{Attempts: 20, CommandIDs: entity.CommandIDs{Last: processes * callers * calls}}
	if p.states, err = entity.OpenStates(p.journal, entity.StateType[State]{Name: "state"}, options); err != nil {
		p.h.Fatal(err)
	}
}

// kill kills the process, and starts another one.
func (p *process) kill() {
	p.h.sum.kills.Add(1)
	next := &process{h: p.h}
	p.connection.Kill()
	next.start()
	journal, states := p.journal, p.states
	p.mu.Lock() // never while time has to pass
	p.connection, p.journal, p.states = next.connection, next.journal, next.states
	p.mu.Unlock()
	closeAll(p.h, journal, states)
}

func (p *process) end() { closeAll(p.h, p.journal, p.states) }

func closeAll(h *history, journal *dynajournal.Journal, states *entity.States[State]) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := states.Close(ctx); err != nil {
		h.Errorf("Close: %v", err)
	}
	h.sum.conflicts.Add(states.Stats().Conflicts)
	_ = journal.Close()
}

func (p *process) hosted() *entity.States[State] {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.states
}

// call does a random operation. Without random it is a view that must succeed.
func (h *history) call(p *process, random *rand.Rand, value string) {
	dice, start := 0, h.clock.Add(1)
	if random != nil {
		dice = random.IntN(10)
	}
	switch {
	case dice < 3:
		var shown State
		version, err := p.hosted().View(context.Background(), "x", func(s State) error {
			shown = s
			return s.check()
		})
		if err == nil {
			h.note(start, input{}, output{true, true, shown.Value, shown.Count, version}, nil)
		} else if random == nil {
			h.Errorf("the last view: %v", err)
		}
	case dice == 3 && h.purges:
		err := p.hosted().Purge(context.Background(), "x")
		if err == nil || dynajournal.MaybeApplied(err) {
			h.note(start, input{kind: purge}, output{}, err)
		}
	default:
		h.set(p, random, start, value)
	}
}

// set sets the register. If the outcome is unknown, it repeats the command with the same id until
// the outcome is known. In histories with purges it does not, because a purge forgets the id.
func (h *history) set(p *process, random *rand.Rand, start int64, value string) {
	size := []int{0, 1, 1500, 4000}[random.IntN(4)]
	var opts []entity.CommandOption
	if !h.purges {
		opts = append(opts, entity.CommandID(value))
	}
	in := input{kind: set, value: value}
	for tries := 0; ; tries++ {
		ctx, cancel := context.WithTimeout(context.Background(), []time.Duration{time.Hour, time.Hour, 20 * time.Millisecond}[random.IntN(3)])
		var before State
		var broken error
		receipt, err := p.hosted().Update(ctx, "x", func(tx *entity.StateTx[State]) error {
			before = tx.State()
			broken = errors.Join(broken, before.check())
			next := State{Value: value, Count: before.Count + 1}
			tx.Record(next.padded(size))
			return nil
		}, opts...)
		cancel()
		if broken != nil {
			h.Error(broken)
		}
		_, duplicate := errors.AsType[*entity.DuplicateError](err)
		switch {
		case err == nil:
			h.note(start, in, output{true, true, before.Value, before.Count, receipt.Version}, nil)
		case duplicate && tries > 0:
			h.sum.duplicates.Add(1)
			h.note(start, in, output{}, nil)
		case !dynajournal.MaybeApplied(err) && tries == 0:
			// nothing was written
		case !h.purges && tries < 100:
			time.Sleep(10 * time.Millisecond)
			continue
		default:
			h.note(start, in, output{}, err)
		}
		return
	}
}

// note records an operation. If its outcome is unknown, it may happen at any time.
func (h *history) note(start int64, in input, out output, err error) {
	ended := h.clock.Add(1)
	if err != nil {
		h.sum.unknown.Add(1)
		ended = math.MaxInt64
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.operations = append(h.operations, porcupine.Operation{
		ClientId: len(h.operations), Input: in, Output: out, Call: start, Return: ended,
	})
}

func (h *history) judge() {
	h.sum.judged.Add(int64(len(h.operations)))
	h.sum.faults.Add(int64(len(h.engine.Injected())))
	if !porcupine.CheckOperations(model, h.operations) {
		for _, o := range h.operations {
			h.Logf("%+v", o)
		}
		h.Error("the results are not linearizable")
	}
}
