package simulate_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/internal/explore"
)

const (
	// fenceWindow is short, because the engine does its own work while the bubble's time passes.
	fenceWindow = time.Hour
	// signatureLife is how long a request can be in flight: the service rejects a request with an
	// older signature.
	signatureLife = 5 * time.Minute

	journalTable  = dynajournal.DefaultJournalTable
	snapshotTable = dynajournal.DefaultSnapshotTable
)

// simulation is the state of a history that is being run.
type simulation struct {
	*testing.T
	history
	sum *totals

	files  *vfs.MemFS
	engine *embedded.Engine
	net    *explore.Network
	rand   *rand.Rand
	// skew is how far the service's time is ahead of the time of the bubble: the time that has
	// passed without a timer firing.
	skew atomic.Int64
	// actors has all processes of the network: first the ones that write, then the copier and the
	// mender.
	actors         []*actor
	copier, mender *actor
	auditor        *dynajournal.Journal
	copies         copies
	ledgers        []*explore.Ledger
	snapshots      []*snapshotOracle
	cells          []*cells
	lives          []int
	// purges counts the starts and the ends of the purges of each persistence id.
	purges []int
	// erasing reports whether one of the purges erases.
	erasing []bool
	// left is when a call on a persistence id last ended with an unknown outcome: the journal may
	// still be writing.
	left   []time.Time
	served map[string]int
	inside []inside
	// turns has the turns of the JVM, by entity. jvmTexts and jvmSaves count its events and
	// snapshots.
	turns              []turns
	jvmTexts, jvmSaves int
	// unlag removes the faults that make indexes return old data.
	unlag []func()
	// fair disables faults: everything is delivered.
	fair bool
	// wrong is the first error.
	wrong error

	mu     sync.Mutex
	checks []func()
}

// actor is a process with one journal. It makes one call at a time.
type actor struct {
	name    string
	machine *explore.Machine
	journal *dynajournal.Journal
	busy    chan struct{} // closed when its call has ended
	paused  bool
	cancel  context.CancelFunc
	// withheld has the responses that a sleeping machine gets when it wakes.
	withheld []func()
	// doing is its current or last call. on is the entity of that call.
	doing kind
	on    int

	entity int
	writer *dynajournal.Writer
	knows  []explore.Event
	// purges is simulation.purges of the entity when it recovered.
	purges int
	count  int
	saves  int
}

func (a *actor) idle() bool {
	if a.busy == nil {
		return true
	}
	select {
	case <-a.busy:
		return true
	default:
		return false
	}
}

func pid(entity int) string { return fmt.Sprint("entity", entity) }

// run runs a history, and returns the first error.
func run(t *testing.T, h history, sum *totals) error {
	t.Helper()
	g := &simulation{T: t, history: h, sum: sum, files: vfs.NewCrashableMem(), rand: rand.New(rand.NewPCG(h.seed, 1)), served: map[string]int{}}
	g.lives, g.purges, g.erasing, g.left = make([]int, entities), make([]int, entities), make([]bool, entities), make([]time.Time, entities)
	g.turns = make([]turns, entities)
	g.open()
	defer func() { _ = g.engine.Close() }()
	g.net = explore.NewNetwork(g.engine.Transport())
	g.net.SetClock(g.now)
	if err := dynajournal.CreateTables(t.Context(), g.config(""), dynajournal.TableOptions{SharedWithJVM: h.shared}); err != nil {
		t.Fatal(err)
	}
	for e := range entities {
		g.ledgers = append(g.ledgers, explore.NewLedger(pid(e)))
		g.snapshots = append(g.snapshots, newShelf(e))
		g.cells = append(g.cells, &cells{})
	}
	g.auditor = g.journal("auditor", explore.NewMachine(g.now, 0, fenceWindow))
	for i := range actors {
		g.start(fmt.Sprint("p", i), h.ahead[i])
	}
	g.copier, g.mender = g.start("copier", 0), g.start("mender", 0)
	g.copies.prepare(g)
	g.useUp()
	for _, c := range h.commands {
		g.command(c)
		g.steps(c.steps)
		if g.check(); g.wrong != nil {
			break
		}
	}
	g.finish()
	g.tally()
	for _, a := range g.actors {
		g.net.Free(a.name)
		_ = a.journal.Close()
	}
	_ = g.auditor.Close()
	g.copies.close()
	sum.histories++
	return g.wrong
}

// now returns the service's time.
func (g *simulation) now() time.Time { return time.Now().Add(time.Duration(g.skew.Load())) }

// start starts a process whose wall clock is ahead of the service's.
func (g *simulation) start(name string, ahead time.Duration) *actor {
	if ahead != 0 {
		g.sum.injected["wrong clock"]++
	}
	a := &actor{name: name, machine: explore.NewMachine(g.now, ahead, fenceWindow)}
	a.journal = g.journal(name, a.machine)
	g.actors = append(g.actors, a)
	g.net.Block(name)
	return a
}

func (g *simulation) open() {
	engine, err := embedded.Open("data", embedded.WithFS(g.files), embedded.WithSweepInterval(0), embedded.WithSeed(g.seed), embedded.WithClock(g.now))
	if err != nil {
		g.Fatal(err)
	}
	g.engine = engine
}

func (g *simulation) config(process string) dynajournal.Config {
	config := dynajournal.Config{AWS: g.engine.AWSConfig(), FenceWindow: fenceWindow, BackoffBase: 1, BackoffCap: 1, Retries: 5}
	config.Serialization = withQueued(g.T)
	config.MaxItemSize = g.maxItem
	// Numbers get snapshots of both forms.
	config.SnapshotCompression = g.maxItem > 0 && process == "p1"
	if !g.grouped {
		config.GroupCommit = dynajournal.GroupCommitOff
	}
	if g.net != nil {
		config.AWS.HTTPClient = g.net.Client(process)
	}
	return config
}

func (g *simulation) journal(process string, m *explore.Machine) *dynajournal.Journal {
	return g.openJournal(g.config(process), m)
}

func (g *simulation) openJournal(config dynajournal.Config, m *explore.Machine) *dynajournal.Journal {
	core.SetClock(&config, m.Clock())
	j, err := dynajournal.Open(g.Context(), config)
	if err != nil {
		g.Fatal(err)
	}
	return j
}

// useUp uses sequence numbers, so that the history runs across the boundary of a partition.
func (g *simulation) useUp() {
	if g.used == 0 {
		return
	}
	for e := range entities {
		if g.copies.reserved[e] != nil {
			continue
		}
		g.serving("auditor", func() error {
			_, err := g.auditor.Recover(g.Context(), pid(e), dynajournal.RecoverOptions{Snapshot: int64(g.used), JournalLost: true}, nil)
			return err
		})
	}
}

// serving serves the requests of a process during a call, without any fault.
func (g *simulation) serving(process string, call func() error) {
	g.net.Block(process)
	done := make(chan error, 1)
	go func() { done <- call() }()
	for {
		time.Sleep(time.Microsecond)
		g.catchUp()
		select {
		case err := <-done:
			g.net.Free(process)
			if err != nil {
				g.fail(fmt.Errorf("%s, at the end: %w", process, err))
			}
			g.catchUp()
			return
		default:
		}
		for _, r := range g.net.Pending() {
			if r.Process == process {
				g.carry(r)
			}
		}
	}
}

func (g *simulation) fail(err error) {
	if g.wrong == nil && err != nil {
		g.wrong = err
	}
}

func (g *simulation) check() {
	g.catchUp()
	for e, l := range g.ledgers {
		if err := l.Check(); err != nil {
			g.fail(fmt.Errorf("%s: %w", pid(e), err))
		}
	}
}

// steps serves n requests, each with its fault.
func (g *simulation) steps(n int) {
	for range n {
		if !g.step() {
			return
		}
	}
}

// step serves one request. It reports false if there is none.
func (g *simulation) step() bool {
	time.Sleep(time.Microsecond)
	g.catchUp()
	r, isLate := explore.PickRequest(g.net, g.rand, func(process string) bool {
		return slices.ContainsFunc(g.actors, func(a *actor) bool { return a.name == process && (a.paused || a.machine.Sleeps()) })
	})
	switch {
	case r == nil:
		return false
	case isLate:
		g.sum.landed++
		g.carry(r)
	default:
		g.injectFault(r)
	}
	return true
}

// command runs a command, unless its actor is busy or can't.
func (g *simulation) command(c command) {
	g.sum.commands++
	g.trace("command", c)
	a := g.performer(c)
	time.Sleep(time.Microsecond) // the random pauses between two attempts end
	g.catchUp()
	if g.rand.IntN(4) == 0 {
		g.expire()
	}
	switch c.kind {
	case nothing:
	case cancelCall:
		if !a.idle() && !a.machine.Sleeps() {
			a.cancel()
		}
	case pauseProcess:
		a.paused = !a.paused
	case sleepMachine:
		g.sleepOrWake(a)
	case stepClock:
		g.stepClock(a, c.size)
	case driftClock:
		g.driftClock(a, c.size)
	case passTime:
		g.pass(c.size)
	case restartEngine:
		g.restart(c.size)
	case lagIndexes:
		g.lag(c.size)
	case jvmTurn:
		g.takeOver(c.entity, c.size)
	default:
		if a.idle() && !a.machine.Sleeps() {
			g.call(a, c)
		}
	}
}

// performer returns the process that runs a command. Copies and repairs have processes of their
// own, so that their requests can be distinguished from other requests.
func (g *simulation) performer(c command) *actor {
	switch c.kind {
	case copyOther, copyRelated, copyBeginning, copyAgain:
		return g.copier
	case repairEntity, repairDryRun, repairOrphans, repairIncomplete, repairMark, repairWithAll:
		return g.mender
	case pauseProcess, cancelCall, sleepMachine, stepClock, driftClock:
		return g.actors[c.actor]
	}
	return g.actors[c.actor%actors]
}

// lag makes the indexes return old data, or current data again.
func (g *simulation) lag(size int) {
	if len(g.unlag) > 0 {
		for _, remove := range g.unlag {
			remove()
		}
		g.unlag = nil
		return
	}
	f := explore.StaleFaults[size%len(explore.StaleFaults)]
	f.Probability = []float64{0.3, 1}[size/len(explore.StaleFaults)%2]
	remove, err := g.engine.Inject(f)
	if err != nil {
		g.Fatal(err)
	}
	g.unlag = append(g.unlag, remove)
}

// restart simulates a power failure: writes that were responded to stay. All, some or no writes
// that were not synced are lost. Requests that the engine had not performed yet are lost.
func (g *simulation) restart(size int) {
	g.sum.restarts++
	g.catchUp()
	after := g.files.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: size % 3 * 50, RNG: rand.New(rand.NewPCG(g.seed, uint64(size)))})
	g.tally()
	if err := g.engine.Close(); err != nil {
		g.Fatal(err)
	}
	g.inside, g.unlag = nil, nil
	g.files = after
	g.open()
	g.net.Serve(g.engine.Transport())
	g.catchUp()
	g.wantStored()
}

// wantStored compares the stored items with the ledgers.
func (g *simulation) wantStored() {
	rows := g.scan(journalTable)
	for e, l := range g.ledgers {
		events := 0
		for _, row := range rows {
			if bytes.Contains(row, fmt.Appendf(nil, `"journal-P-%s-`, pid(e))) {
				events++
			}
		}
		if known := l.Items(); known != events {
			g.fail(fmt.Errorf("%s: %d numbers are taken in the table, and the ledger knows of %d",
				pid(e), events, known))
		}
	}
	before := g.digests()
	g.learnAll()
	if after := g.digests(); !slices.Equal(before, after) {
		g.fail(fmt.Errorf("the table holds\n%v, and the ledgers knew of\n%v", after, before))
	}
}

func (g *simulation) digests() (all []string) {
	for _, l := range g.ledgers {
		all = append(all, l.Digest())
	}
	return all
}
