package entities_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/internal/explore"
)

const (
	fenceWindow = time.Hour
	// signatureLife is how long a request can be in flight: the service rejects a request with an
	// older signature.
	signatureLife = 5 * time.Minute
	// maxLate limits the delayed requests. maxInside limits the requests that the engine has not
	// yet performed.
	maxLate   = 6
	maxInside = 3
	// mostRounds limits how often requests are served, or time passes, until all calls have ended.
	mostRounds = 50_000
)

// simulation is the state of a history that is being run.
type simulation struct {
	*testing.T
	history
	sum *totals

	engine *embedded.Engine
	net    *explore.Network
	rand   *rand.Rand
	// skew is how far the service's time is ahead of the time of the bubble: the time that has
	// passed without a timer firing.
	skew    atomic.Int64
	hosts   []*host
	auditor *dynajournal.Journal
	oracle  *oracle
	served  map[string]int
	// inside has the times at which the engine will perform slow requests.
	inside []time.Time
	// fair disables faults: everything is delivered.
	fair bool
	// changed reports whether something may have been written since the oracle last read the
	// journal.
	changed bool
	// closing counts the hosts that are being closed.
	closing atomic.Int64
	calls   []*call
}

// host is a process that is closed or crashes, and starts again.
type host struct {
	index, life int
	name        string
	machine     *explore.Machine
	journal     *dynajournal.Journal
	entities    *hosted
	paused      bool
	// withheld has the responses that a sleeping machine gets when it wakes.
	withheld []func()
}

// run runs a history, and returns the first error.
func run(t *testing.T, h history, sum *totals) error {
	t.Helper()
	g := &simulation{T: t, history: h, sum: sum, rand: rand.New(rand.NewPCG(h.seed, 1)), served: map[string]int{}}
	engine, err := embedded.OpenMemory(embedded.WithSweepInterval(0), embedded.WithSeed(h.seed), embedded.WithClock(g.now))
	if err != nil {
		t.Fatal(err)
	}
	g.engine = engine
	defer func() { _ = engine.Close() }()
	g.net = explore.NewNetwork(engine.Transport())
	g.net.SetClock(g.now)
	if err := dynajournal.CreateTables(t.Context(), g.config("setup"), dynajournal.TableOptions{SharedWithJVM: h.shared}); err != nil {
		t.Fatal(err)
	}
	g.auditor = g.journal("auditor", explore.NewMachine(g.now, 0, fenceWindow))
	g.oracle = newOracle(g)
	for i := range h.hosts {
		g.start(i, 0, explore.NewMachine(g.now, h.ahead[i], fenceWindow))
	}
	for _, c := range h.commands {
		g.trace("command", c)
		g.command(c)
		for range c.steps {
			g.step()
		}
		if g.oracle.failed() != nil {
			break
		}
	}
	g.finish()
	_ = g.auditor.Close()
	for fault := range explore.Injected(engine) {
		sum.injected[fault]++
	}
	sum.histories++
	return g.oracle.failed()
}

// now returns the service's time.
func (g *simulation) now() time.Time { return time.Now().Add(time.Duration(g.skew.Load())) }

func (g *simulation) config(process string) dynajournal.Config {
	config := dynajournal.Config{
		AWS: g.engine.AWSConfig(), FenceWindow: fenceWindow, BackoffBase: 1, BackoffCap: 1, Retries: 5,
		Serialization: registry(), MaxItemSize: g.maxItem,
	}
	if g.shared && g.metadata {
		config.EventMetadata = dynajournal.EventMetadataOn
	}
	if !g.grouped {
		config.GroupCommit = dynajournal.GroupCommitOff
	}
	config.AWS.HTTPClient = g.net.Client(process)
	return config
}

func (g *simulation) journal(process string, m *explore.Machine) *dynajournal.Journal {
	config := g.config(process)
	core.SetClock(&config, m.Clock())
	j, err := dynajournal.Open(g.Context(), config)
	if err != nil {
		g.Fatal(err)
	}
	return j
}

// start starts a life of a host.
func (g *simulation) start(i, life int, m *explore.Machine) {
	h := &host{index: i, life: life, name: fmt.Sprintf("h%d.%d", i, life), machine: m}
	h.journal = g.journal(h.name, m)
	h.entities = g.open(h.journal, g.snapshots[i])
	g.net.Block(h.name)
	if life == 0 {
		g.hosts = append(g.hosts, h)
	} else {
		g.hosts[i] = h
	}
}

func (g *simulation) open(j *dynajournal.Journal, snapshots entity.Snapshots) *hosted {
	k := kind{Name: "thing", Evolve: evolvePure, Snapshots: snapshots}
	if g.inPlace {
		k.Evolve, k.Copy = evolveInPlace, clone
	}
	entities, err := entity.Open(j, k, g.options)
	if err != nil {
		g.Fatal(err)
	}
	return entities
}

func id(entity int) string { return fmt.Sprint("e", entity) }

func pid(entity int) string { return "thing|" + id(entity) }

// command runs a command of the history.
func (g *simulation) command(c command) {
	time.Sleep(time.Microsecond)
	g.catchUp()
	h := g.hosts[c.host]
	switch c.what {
	case nothing:
	case cancelCall:
		g.cancel(c.size)
	case crashHost:
		g.end(h, true)
	case closeHost:
		g.end(h, false)
	case pauseHost:
		h.paused = !h.paused
	case sleepMachine:
		g.sleepOrWake(h)
	case stepClock:
		g.stepClock(h, c.size)
	case passTime:
		g.pass(c.size)
	case forgetLate:
		g.net.Forget()
	case purge:
		g.purge(h, c.entity)
	default:
		if !h.machine.Sleeps() {
			g.call(h, c)
		}
	}
	g.catchUp()
}

// cancel cancels a call that is under way.
func (g *simulation) cancel(size int) {
	var open []*call
	for _, c := range g.calls {
		if !c.over() {
			open = append(open, c)
		}
	}
	if len(open) > 0 {
		open[size%len(open)].cancel()
	}
}

// end ends the life of a host, and starts the next one. After a crash its requests in flight arrive
// later, or never.
func (g *simulation) end(h *host, crash bool) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	if crash {
		cancel()
		g.net.Crash(h.name)
	}
	if h.machine.Sleeps() {
		g.sleepOrWake(h)
	}
	h.paused = false
	g.closing.Add(1)
	go func() {
		defer g.closing.Add(-1)
		defer cancel()
		g.close(ctx, h)
	}()
	g.start(h.index, h.life+1, h.machine)
}

func (g *simulation) close(ctx context.Context, h *host) {
	_ = h.entities.Close(ctx) // its error is the error of the context
	stats := h.entities.Stats()
	if stats.Waiting != 0 {
		g.oracle.fail("after Close %d commands wait", stats.Waiting)
	}
	g.oracle.count(stats)
	_ = h.journal.Close()
}

// catchUp waits until everything is blocked, and lets the oracle read the new events.
func (g *simulation) catchUp() {
	synctest.Wait()
	now := time.Now()
	g.inside = slices.DeleteFunc(g.inside, func(due time.Time) bool {
		g.changed = g.changed || !due.After(now)
		return !due.After(now)
	})
	if g.changed {
		g.oracle.readNew()
		g.changed = false
	}
}

// step serves one request. It reports false if there is none.
func (g *simulation) step() bool {
	time.Sleep(time.Microsecond)
	g.catchUp()
	r, isLate := explore.PickRequest(g.net, g.rand, func(process string) bool {
		return slices.ContainsFunc(g.hosts, func(h *host) bool { return h.name == process && (h.paused || h.machine.Sleeps()) })
	})
	switch {
	case r == nil:
		time.Sleep(5 * time.Millisecond) // a writer that was not the fastest pauses
		g.catchUp()
		return false
	case isLate:
		g.sum.landed++
		g.carry(r)
	default:
		g.injectFault(r)
	}
	return true
}

// injectFault serves a request, with or without a fault. That depends only on the seed, the
// request, and how often the request was sent.
func (g *simulation) injectFault(r *explore.Request) {
	g.served[r.String()]++
	dice := explore.Roll(g.seed, r, g.served[r.String()])
	if g.fair {
		dice = 1000
	}
	if dice -= g.lateness; dice < 0 && r.Changes() && len(g.net.Late()) < maxLate {
		g.sum.injected["late"]++
		g.trace("late", r)
		g.net.Delay(r)
		return
	}
	f, _ := explore.PickFault(dice, r.Operation, g.rates, len(g.inside) < maxInside)
	if f != nil {
		g.hit(r, *f)
		return
	}
	g.carry(r)
}

// hit injects a fault of the engine into a request.
func (g *simulation) hit(r *explore.Request, f embedded.Fault) {
	g.trace(f.String(), r)
	due, err := explore.InjectFault(g.net, g.engine, r, f)
	if err != nil {
		g.Fatal(err)
	}
	if !due.IsZero() {
		g.inside = append(g.inside, due)
	}
	g.changed = g.changed || r.Changes()
}

// carry delivers a request.
func (g *simulation) carry(r *explore.Request) {
	status, _ := g.net.Deliver(r)
	g.trace(status, r)
	g.changed = g.changed || r.Changes()
	if status == http.StatusOK {
		g.sum.requests++
	}
}

// trace prints a step, if tracing is on.
func (g *simulation) trace(what any, of any) {
	if *tracing {
		g.Logf("%s %v: %v", time.Now().Format("15:04:05.000000"), what, of)
	}
}

// finish completes everything without further faults, and checks the final state.
func (g *simulation) finish() {
	if !g.drain() {
		return
	}
	g.oracle.finish()
	for _, h := range g.hosts {
		g.net.Free(h.name)
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		g.close(ctx, h)
		if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			g.oracle.fail("Close of %s has not ended in time", h.name)
		}
		cancel()
	}
}

// drain serves all requests without faults until nothing is left to do.
func (g *simulation) drain() bool {
	before := g.fair
	g.fair = true
	defer func() { g.fair = before }()
	for _, h := range g.hosts {
		h.paused = false
		if h.machine.Sleeps() {
			g.sleepOrWake(h)
		}
	}
	for rounds := 0; ; rounds++ {
		if !g.step() {
			if !g.busy() {
				return true
			}
			time.Sleep(100 * time.Millisecond)
			g.catchUp()
		}
		if rounds > mostRounds {
			var open []string
			for _, c := range g.calls {
				if !c.over() {
					open = append(open, c.String())
				}
			}
			g.oracle.fail("calls that do not end: %v", open)
			panic(fmt.Sprintf("%v\n%v", g.oracle.failed(), g.history)) // the bubble could not end
		}
	}
}

// busy reports whether a call, or a request within the engine, is under way.
func (g *simulation) busy() bool {
	return len(g.inside) > 0 || g.closing.Load() > 0 || slices.ContainsFunc(g.calls, func(c *call) bool { return !c.over() })
}
