package embedded

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// keptInjections is how many injections are remembered.
const keptInjections = 10_000

// Injection is a fault that a request was hit by.
type Injection struct {
	// Number counts the injections of an engine from 1.
	Number int64
	// Fault is the fault as it was given to Inject.
	Fault Fault
	// At is when the request was hit, by the engine's clock.
	At time.Time
	// Operation is the operation of the request.
	Operation string
	// Table and Key tell of the first item or table hit, as far as the request names one.
	Table, Key string
	// Items are the positions, from 0, of the items or statements of the request that were hit: in
	// the order of the request, for batches by table in the order of the tables' names.
	Items []int
}

// WithSeed seeds what faults do at random; without it the seed is 0. An engine with the same seed
// and the same faults, injected in the same order, hits the same of the requests that match each
// fault, counted from its injection.
func WithSeed(seed uint64) Option {
	return func(o *options) { o.seed = seed }
}

// WithFaults injects faults from the start, as Inject does. Opening fails if one of them is not
// valid.
func WithFaults(faults ...Fault) Option {
	return func(o *options) { o.faults = append(o.faults, faults...) }
}

// WithSleep makes slow answers wait by sleep instead of a timer, for tests without waiting. It must
// return early, with an error, when ctx ends, and is called from many goroutines.
func WithSleep(sleep func(ctx context.Context, d time.Duration) error) Option {
	return func(o *options) { o.sleep = sleep }
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// injector decides which requests are hit by faults. Its zero value is ready, except for seed and
// now.
type injector struct {
	seed uint64
	now  func() time.Time
	// active reports whether there are faults at all.
	active atomic.Bool
	// ending is closed when the engine is about to be: requests that hang end then.
	ending chan struct{}
	ended  sync.Once

	lock   sync.Mutex
	faults []*activeFault
	// number is how many faults there have been.
	number uint64
	// injected are the newest injections, and count is how many there have been.
	injected []Injection
	count    int64
}

// activeFault is a fault that waits for its requests.
type activeFault struct {
	Fault

	number uint64
	// matched and hit count requests.
	matched uint64
	hit     int
	// stale is what stale answers are taken from; nil for other effects.
	stale *staleStates
}

// Inject makes requests from now on go wrong as the fault says, until remove is called, which may
// be done more than once. A request is hit by at most one fault: of those that it is due for, the
// one injected first. Requests that are hit are not counted by faults injected later. The error
// tells what is not valid in the fault, or that the engine is closed.
func (e *Engine) Inject(f Fault) (remove func(), err error) {
	if err := f.check(); err != nil {
		return nil, fmt.Errorf("embedded: injecting a fault: %w", err)
	}
	if err := e.enter(); err != nil {
		return nil, err
	}
	defer e.leave()
	return e.inject(f), nil
}

func (e *Engine) inject(f Fault) (remove func()) {
	in := &e.faults
	in.lock.Lock()
	defer in.lock.Unlock()
	in.number++
	active := &activeFault{Fault: f, number: in.number}
	if f.Effect == EffectStaleRead || f.Effect == EffectIndexLag {
		active.stale = newStaleStates(e.store, f.Delay, in.now())
	}
	in.faults = append(in.faults, active)
	in.active.Store(true)
	return func() { in.remove(active) }
}

func (in *injector) remove(active *activeFault) {
	in.lock.Lock()
	defer in.lock.Unlock()
	i := slices.Index(in.faults, active)
	if i < 0 {
		return
	}
	in.faults = slices.Delete(in.faults, i, i+1)
	in.active.Store(len(in.faults) > 0)
	active.stale.close()
}

// Injected returns the injections up to now, oldest first, at most the newest 10,000.
func (e *Engine) Injected() []Injection {
	e.faults.lock.Lock()
	defer e.faults.lock.Unlock()
	return slices.Clone(e.faults.injected)
}

// injections returns how many requests were hit.
func (in *injector) injections() int64 {
	in.lock.Lock()
	defer in.lock.Unlock()
	return in.count
}

// end lets requests that hang or wait go on; it comes before the engine waits for them.
func (in *injector) end() { in.ended.Do(func() { close(in.ending) }) }

// removeAll forgets the faults. No request is under way any more.
func (in *injector) removeAll() {
	in.lock.Lock()
	defer in.lock.Unlock()
	for _, active := range in.faults {
		active.stale.close()
	}
	in.faults = nil
	in.active.Store(false)
}

// requestFault is one fault on one request.
type requestFault struct {
	Fault

	random *rand.Rand
	// hit are the targets hit, in ascending order, of so many.
	hit     []int
	targets int
	// next is the target that picked is asked for next.
	next int
	// stale is the state to read from, nil for the present one.
	stale *sharedSnapshot
}

// match finds the fault that hits the request, nil if none does.
func (in *injector) match(operation string, targets []target) *requestFault {
	in.lock.Lock()
	defer in.lock.Unlock()
	now := in.now()
	for _, active := range in.faults {
		active.stale.advance(now)
	}
	for _, active := range in.faults {
		hit, matching := active.targets(operation, targets)
		if !matching {
			continue
		}
		active.matched++
		random := rand.New(rand.NewPCG(in.seed^active.number<<32, active.matched)) //nolint:gosec // to be reproduced
		if !active.due(random) {
			continue
		}
		active.hit++
		matched := &requestFault{Fault: active.Fault, random: random, hit: hit, targets: len(targets), stale: active.stale.stateAt(now)}
		matched.chooseTargets()
		in.record(matched, operation, targets, now)
		return matched
	}
	return nil
}

// due reports whether the matching request that was counted last is to be hit.
func (a *activeFault) due(random *rand.Rand) bool {
	switch {
	case a.Times > 0 && a.hit >= a.Times:
		return false
	case a.Nth > 0 && a.matched != uint64(a.Nth):
		return false
	case a.Every > 0 && a.matched%uint64(a.Every) != 0:
		return false
	}
	return a.Probability == 0 || random.Float64() < a.Probability
}

// chooseTargets takes some of the targets that match, if the fault says so.
func (s *requestFault) chooseTargets() {
	if !s.Some || len(s.hit) < 2 {
		return
	}
	s.random.Shuffle(len(s.hit), func(i, j int) { s.hit[i], s.hit[j] = s.hit[j], s.hit[i] })
	s.hit = s.hit[:1+s.random.IntN(len(s.hit)-1)]
	slices.Sort(s.hit)
}

// hits tells, asked once for each target in order, whether the target is hit by the effect.
func (s *requestFault) hits(effect Effect) bool {
	if s == nil || s.Effect != effect {
		return false
	}
	_, found := slices.BinarySearch(s.hit, s.next)
	s.next++
	return found
}

func (in *injector) record(matched *requestFault, operation string, targets []target, now time.Time) {
	in.count++
	injection := Injection{Number: in.count, Fault: matched.Fault, At: now, Operation: operation, Items: matched.hit}
	if len(matched.hit) > 0 {
		first := targets[matched.hit[0]]
		injection.Table, injection.Key = first.table, first.key
	}
	if len(in.injected) == keptInjections {
		in.injected = slices.Delete(in.injected, 0, keptInjections/10)
	}
	in.injected = append(in.injected, injection)
}
