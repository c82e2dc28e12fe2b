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

// maxInjections is the maximum number of injections that Injected returns.
const maxInjections = 10_000

// Injection is a request that was hit by a fault.
type Injection struct {
	// Number counts the injections of an engine from 1.
	Number int64
	// Fault is the fault that was passed to Inject.
	Fault Fault
	// At is the time of the request, by the engine's clock.
	At time.Time
	// Operation is the operation of the request.
	Operation string
	// Table and Key identify the first target that was hit. They are empty where the request does
	// not name them.
	Table, Key string
	// Items are the positions, from 0, of the items or statements that were hit. They are in the
	// order of the request; tables of a batch are in the order of their names.
	Items []int
}

// WithSeed seeds the random choices of faults. Defaults to 0. With the same seed, and the same
// faults injected in the same order, each fault hits the same ones of the requests that match it:
// for example the third and the seventh after its injection.
func WithSeed(seed uint64) Option {
	return func(o *options) { o.seed = seed }
}

// WithFaults injects faults when the engine is opened, like [Engine.Inject]. Opening fails if a
// fault is invalid.
func WithFaults(faults ...Fault) Option {
	return func(o *options) { o.faults = append(o.faults, faults...) }
}

// WithSleep replaces the timer of slow responses, for tests that do not wait. sleep must return
// with an error when ctx ends, and is called from many goroutines.
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

// injector decides which requests are hit by faults. All fields except seed, now and ending have
// useful zero values.
type injector struct {
	seed uint64
	now  func() time.Time
	// active is set while there are faults.
	active atomic.Bool
	// ending is closed before the engine closes. It ends requests that hang.
	ending chan struct{}
	ended  sync.Once

	lock   sync.Mutex
	faults []*activeFault
	// number is the number of faults that were injected.
	number uint64
	// injected has the newest injections. count is the number of all injections.
	injected []Injection
	count    int64
}

// activeFault is a fault that was injected and not removed.
type activeFault struct {
	Fault

	number uint64
	// matched counts the requests that matched the fault. hit counts the requests that it hit.
	matched uint64
	hit     int
	// stale has the states for stale reads and descriptions. It is nil for other effects.
	stale *staleStates
}

// Inject makes requests go wrong, as the fault describes, until remove is called. remove may be
// called more than once.
//
// At most one fault hits a request: the first injected of the faults that are due. Faults that were
// injected later do not count that request. Faults that change only the form of a response
// (EffectNoErrorChecksum, EffectStatementCapacity, EffectWrongClock) apply in addition.
//
// Inject fails if the fault is invalid, the engine is closed, or its storage has failed.
func (e *Engine) Inject(f Fault) (remove func(), err error) {
	if err := f.check(); err != nil {
		return nil, fmt.Errorf("embedded: injecting a fault: %w", err)
	}
	if err := e.enter(); err != nil {
		return nil, err
	}
	defer e.leave()
	active := e.inject(f)
	return func() { e.faults.remove(active) }, nil
}

func (e *Engine) inject(f Fault) *activeFault {
	in := &e.faults
	in.lock.Lock()
	defer in.lock.Unlock()
	in.number++
	active := &activeFault{Fault: f, number: in.number}
	switch f.Effect {
	case EffectStaleRead, EffectIndexLag, EffectStaleDescription:
		active.stale = newStaleStates(e.store, f.Delay, in.now())
	}
	in.faults = append(in.faults, active)
	in.active.Store(true)
	return active
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

// Injected returns the injections so far, oldest first, at most the newest 10,000.
func (e *Engine) Injected() []Injection {
	e.faults.lock.Lock()
	defer e.faults.lock.Unlock()
	return slices.Clone(e.faults.injected)
}

// injections returns the number of injections.
func (in *injector) injections() int64 {
	in.lock.Lock()
	defer in.lock.Unlock()
	return in.count
}

// end ends requests that hang or wait. It is called before the engine waits for its requests.
func (in *injector) end() { in.ended.Do(func() { close(in.ending) }) }

// removeAll removes all faults. It is called when no request is in flight.
func (in *injector) removeAll() {
	in.lock.Lock()
	defer in.lock.Unlock()
	for _, active := range in.faults {
		active.stale.close()
	}
	in.faults = nil
	in.active.Store(false)
}

// requestFault is a fault that hits a request.
type requestFault struct {
	Fault

	random *rand.Rand
	// hit has the positions of the targets that are hit, in ascending order. targets is the number
	// of all targets.
	hit     []int
	targets int
	// next is the position of the target for the next call of hits.
	next int
	// stale is the state to read from, or nil for the present one.
	stale *sharedSnapshot
	// first is the first target that is hit, or the zero target.
	first target
}

// match returns the fault that hits the request, or nil, and the faults that change the form of its
// response.
func (in *injector) match(operation string, targets []target) (hits *requestFault, forms []Fault) {
	in.lock.Lock()
	defer in.lock.Unlock()
	now := in.now()
	for _, active := range in.faults {
		active.stale.advance(now)
	}
	for _, active := range in.faults {
		if hits != nil && !active.Effect.formOnly() {
			continue
		}
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
		matched := &requestFault{
			Fault: active.Fault, random: random, hit: hit, targets: len(targets), stale: active.stale.stateAt(now),
		}
		matched.chooseTargets()
		in.record(matched, operation, targets, now)
		if active.Effect.formOnly() {
			forms = append(forms, active.Fault)
		} else {
			hits = matched
		}
	}
	return hits, forms
}

// due reports whether the fault hits the request that matched it last.
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

// chooseTargets chooses some of the targets at random, if the fault has Some.
func (s *requestFault) chooseTargets() {
	if !s.Some || len(s.hit) < 2 {
		return
	}
	s.random.Shuffle(len(s.hit), func(i, j int) { s.hit[i], s.hit[j] = s.hit[j], s.hit[i] })
	s.hit = s.hit[:1+s.random.IntN(len(s.hit)-1)]
	slices.Sort(s.hit)
}

// hits reports whether the next target is hit by the effect. It is called once for each target, in
// order.
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
		matched.first = first
	}
	if len(in.injected) == maxInjections {
		in.injected = slices.Delete(in.injected, 0, maxInjections/10)
	}
	in.injected = append(in.injected, injection)
}
