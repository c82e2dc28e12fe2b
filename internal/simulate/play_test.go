package simulate_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/internal/explore"
)

const (
	// fenceWindow is short, as the engine does its own work while the bubble's time passes.
	fenceWindow = time.Hour
	// signatureLife is how long a request can be under way: the service refuses it when its signature is older.
	signatureLife = 5 * time.Minute

	journalTable  = dynajournal.DefaultJournalTable
	snapshotTable = dynajournal.DefaultSnapshotTable
)

// game is a history that is being played.
type game struct {
	*testing.T
	history
	sum *totals

	files   *vfs.MemFS
	engine  *embedded.Engine
	net     *explore.Network
	rand    *rand.Rand
	actors  []*actor
	auditor *dynajournal.Journal
	ledgers []*explore.Ledger
	shelves []*shelf
	numbers []*numbers
	lives   []int
	// purges counts the purges of each persistence id that have begun, erasing says that one leaves nothing.
	purges  []int
	erasing []bool
	// left is when a call about a persistence id last ended without its outcome being known: the journal may go on writing.
	left   []time.Time
	served map[string]int
	inside []inside
	// unlag removes the faults that make indexes answer from the past.
	unlag []func()
	// fair has everything delivered.
	fair bool
	// wrong is the first thing that went wrong.
	wrong error

	mu   sync.Mutex
	told []func()
}

// actor is a process with one journal, that does one thing at a time.
type actor struct {
	name    string
	journal *dynajournal.Journal
	busy    chan struct{} // closed when what it does has ended
	paused  bool
	cancel  context.CancelFunc
	// doing and on are what it does, or did last, and with which entity.
	doing kind
	on    int

	entity int
	writer *dynajournal.Writer
	knows  []explore.Event
	// purges is how many purges of the entity had begun when it recovered.
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

// play plays a history, and says what went wrong.
func play(t *testing.T, h history, sum *totals) error {
	t.Helper()
	g := &game{T: t, history: h, sum: sum, files: vfs.NewCrashableMem(), rand: rand.New(rand.NewPCG(h.seed, 1)), served: map[string]int{}}
	g.lives, g.purges, g.erasing, g.left = make([]int, entities), make([]int, entities), make([]bool, entities), make([]time.Time, entities)
	g.open()
	defer func() { _ = g.engine.Close() }()
	g.net = explore.NewNetwork(g.engine.Transport())
	if err := dynajournal.CreateTables(t.Context(), g.config(""), dynajournal.TableOptions{SharedWithJVM: h.shared}); err != nil {
		t.Fatal(err)
	}
	for e := range entities {
		g.ledgers = append(g.ledgers, explore.NewLedger(pid(e)))
		g.shelves = append(g.shelves, newShelf(e))
		g.numbers = append(g.numbers, &numbers{})
	}
	g.auditor = g.journal("auditor")
	for i := range actors {
		name := fmt.Sprint("p", i)
		g.actors = append(g.actors, &actor{name: name, journal: g.journal(name)})
		g.net.Hold(name)
	}
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
	sum.histories++
	return g.wrong
}

func (g *game) open() {
	engine, err := embedded.Open("data", embedded.WithFS(g.files), embedded.WithSweepInterval(0), embedded.WithSeed(g.seed))
	if err != nil {
		g.Fatal(err)
	}
	g.engine = engine
}

func (g *game) config(process string) dynajournal.Config {
	config := dynajournal.Config{AWS: g.engine.AWSConfig(), FenceWindow: fenceWindow, BackoffBase: 1, BackoffCap: 1, Retries: 5}
	config.MaxItemSize = g.maxItem
	config.SnapshotCompression = g.maxItem > 0 && process == "p1" // numbers get snapshots of both forms
	if !g.grouped {
		config.GroupCommit = dynajournal.GroupCommitOff
	}
	if g.net != nil {
		config.AWS.HTTPClient = g.net.Client(process)
	}
	return config
}

func (g *game) journal(process string) *dynajournal.Journal {
	j, err := dynajournal.Open(g.Context(), g.config(process))
	if err != nil {
		g.Fatal(err)
	}
	return j
}

// useUp uses up sequence numbers, so that what follows happens at the boundary of a partition.
func (g *game) useUp() {
	if g.used == 0 {
		return
	}
	for e := range entities {
		g.serving("auditor", func() error {
			_, err := g.auditor.Recover(g.Context(), pid(e), dynajournal.RecoverOptions{After: int64(g.used)}, nil)
			return err
		})
	}
}

// serving serves the requests of a process while a call lasts, without any fault.
func (g *game) serving(process string, call func() error) {
	g.net.Hold(process)
	done := make(chan error, 1)
	go func() { done <- call() }()
	for {
		time.Sleep(time.Microsecond)
		g.settle()
		select {
		case err := <-done:
			g.net.Free(process)
			if err != nil {
				g.fail(fmt.Errorf("%s, at the end: %w", process, err))
			}
			g.settle()
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

func (g *game) fail(err error) {
	if g.wrong == nil && err != nil {
		g.wrong = err
	}
}

func (g *game) check() {
	g.settle()
	for e, l := range g.ledgers {
		if err := l.Check(); err != nil {
			g.fail(fmt.Errorf("%s: %w", pid(e), err))
		}
	}
}

// steps serves requests, each as its fate is.
func (g *game) steps(n int) {
	for range n {
		if !g.step() {
			return
		}
	}
}

// step serves one request; false if there is none.
func (g *game) step() bool {
	time.Sleep(time.Microsecond)
	g.settle()
	pending := slices.DeleteFunc(g.net.Pending(), func(r *explore.Request) bool {
		return slices.ContainsFunc(g.actors, func(a *actor) bool { return a.name == r.Process && a.paused })
	})
	if late := g.net.Late(); len(late) > 0 && (len(pending) == 0 || g.rand.IntN(20) == 0) {
		r := late[g.rand.IntN(len(late))]
		g.sum.landed++
		g.carry(r)
		return true
	}
	if len(pending) == 0 {
		return false
	}
	g.fate(pending[g.rand.IntN(len(pending))])
	return true
}

// command does a command, unless its actor is busy or has nothing to do it with.
func (g *game) command(c command) {
	g.sum.commands++
	g.trace("command", c)
	a := g.actors[c.actor]
	time.Sleep(time.Microsecond) // the pauses between two tries end, which are drawn at random
	g.settle()
	switch c.kind {
	case nothing:
	case cancelCall:
		if !a.idle() {
			a.cancel()
		}
	case pauseProcess:
		a.paused = !a.paused
	case passTime:
		g.pass([]time.Duration{time.Second, 5 * time.Second, 12 * time.Second, time.Minute, 20 * time.Minute, 35 * time.Minute, 61 * time.Minute, 3 * time.Hour}[c.size%8])
	case restartEngine:
		g.restart(c.size)
	case lagIndexes:
		g.lag(c.size)
	default:
		if a.idle() {
			g.call(a, c)
		}
	}
}

// lag has the indexes answer from the past, or no longer.
func (g *game) lag(size int) {
	if len(g.unlag) > 0 {
		for _, remove := range g.unlag {
			remove()
		}
		g.unlag = nil
		return
	}
	f := stale[size%len(stale)]
	f.Probability = []float64{0.3, 1}[size/len(stale)%2]
	remove, err := g.engine.Inject(f)
	if err != nil {
		g.Fatal(err)
	}
	g.unlag = append(g.unlag, remove)
}

// pass lets time pass: requests that wait time out, old ones are refused, what has expired is removed.
func (g *game) pass(d time.Duration) {
	g.sleep(d)
	if d >= signatureLife {
		g.net.Forget()
	}
	if _, err := g.engine.SweepExpired(); err != nil {
		g.Fatal(err)
	}
	for _, l := range g.ledgers {
		l.Expired(time.Now())
	}
	g.settle()
}

// restart loses power: what was answered is there afterwards, and all of what was not synced, or some, or nothing is lost.
// What the engine had not done yet it never does.
func (g *game) restart(size int) {
	g.sum.restarts++
	g.settle()
	after := g.files.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: size % 3 * 50, RNG: rand.New(rand.NewPCG(g.seed, uint64(size)))})
	g.tally()
	if err := g.engine.Close(); err != nil {
		g.Fatal(err)
	}
	g.inside, g.unlag = nil, nil
	g.files = after
	g.open()
	g.net.Serve(g.engine.Transport())
	g.settle()
	g.wantStored()
}

// wantStored compares what is stored with what the ledgers have learned.
func (g *game) wantStored() {
	rows := g.scan()
	for e, l := range g.ledgers {
		events := 0
		for _, row := range rows {
			if bytes.Contains(row, fmt.Appendf(nil, `"journal-P-%s-`, pid(e))) {
				events++
			}
		}
		if known := l.Items(); known != events {
			g.fail(fmt.Errorf("%s: %d numbers are taken in the table, and the ledger knows of %d", pid(e), events, known))
		}
	}
	before := g.digests()
	g.learnAll()
	if after := g.digests(); !slices.Equal(before, after) {
		g.fail(fmt.Errorf("in the table stands\n%v, and the ledgers knew of\n%v", after, before))
	}
}

func (g *game) digests() (all []string) {
	for _, l := range g.ledgers {
		all = append(all, l.Digest())
	}
	return all
}

// call begins a call of an actor.
func (g *game) call(a *actor, c command) {
	if g.erasing[c.entity] || a.writer != nil && g.erasing[a.entity] {
		return // whose every trace is being removed: nobody may use it meanwhile
	}
	on := c.entity
	var do func(ctx context.Context) error
	switch c.kind {
	case recoverEntity:
		do = func(ctx context.Context) error { return g.recover(ctx, a, c.entity, dynajournal.RecoverOptions{}, nil) }
	case recoverFromSnapshot:
		do = func(ctx context.Context) error { return g.recoverFromSnapshot(ctx, a, c.entity) }
	case readEvents:
		do = func(ctx context.Context) error { return g.read(ctx, a.journal, c.entity, int64(c.size)) }
	case listIDs:
		do = func(ctx context.Context) error { return g.list(ctx, a.journal, c.size%2 == 0) }
	case loadSnapshot:
		most := []int64{math.MaxInt64, int64(c.size)}[c.size%2]
		do = func(ctx context.Context) error { _, _, err := g.load(ctx, a.journal, c.entity, most); return err }
	case deleteSnapshots:
		do = func(ctx context.Context) error { return g.deleteSnapshots(ctx, a, c.entity, int64(c.size)) }
	case verifyEntity, repairEntity:
		do = func(ctx context.Context) error {
			return g.verify(ctx, a.journal, c.entity, c.kind == repairEntity, nil)
		}
	default:
		if a.writer == nil {
			return
		}
		on = a.entity
		if do = g.writing(a, c); do == nil {
			return
		}
	}
	g.sum.calls[c.kind]++
	ctx, cancel := context.WithCancel(g.Context())
	a.busy, a.cancel, a.doing, a.on = make(chan struct{}), cancel, c.kind, on
	go func() {
		defer close(a.busy)
		defer cancel()
		err := do(ctx)
		if ended(err) {
			a.writer = nil
		}
		if errors.Is(err, dynajournal.ErrOutcomeUnknown) {
			g.tell(func() { g.left[on] = time.Now() })
		}
		g.trace(a.name+" ended", err)
	}()
}

// writing is a call with an actor's writer, nil if it must not be.
func (g *game) writing(a *actor, c command) func(ctx context.Context) error {
	switch c.kind {
	case appendBatch:
		return func(ctx context.Context) error { return g.append(ctx, a, c.size) }
	case appendSingles:
		return func(ctx context.Context) error { return g.appendEach(ctx, a, c.size%7+1) }
	case deletePrefix:
		return func(ctx context.Context) error { return g.delete(ctx, a, c.size) }
	case saveSnapshot:
		// Snapshots are not fenced: one that is saved while the id is purged, or later of what was before, outlives the purge.
		if len(a.knows) == 0 || a.purges != g.purges[a.entity] {
			return nil
		}
		return func(ctx context.Context) error { return g.save(ctx, a) }
	case purgeEntity:
		return g.purging(a, g.shared || c.size%3 == 0)
	}
	panic(kinds[c.kind])
}

// patience is longer than a journal goes on with what nobody waits for: its writes wait for connections, each put has its time.
const patience = 10 * dynajournal.DefaultOperationTimeout

// purging begins a purge, if it may be. One that leaves nothing fences nobody: no other writer may live, nothing of one may be
// under way, and nobody may begin to use the id before the purge has ended, and all that it has sent.
func (g *game) purging(a *actor, now bool) func(context.Context) error {
	for _, other := range g.actors {
		if other != a && !other.idle() && other.on == a.entity && (now || other.doing == saveSnapshot) {
			return nil
		}
	}
	if now && (g.underWay(a.entity) || time.Since(g.left[a.entity]) < patience) || g.snapshotsUnderWay(a.entity) {
		return nil
	}
	if now {
		g.sum.erasures++
		g.erasing[a.entity] = true
		for _, other := range g.actors {
			if other != a && other.entity == a.entity {
				other.writer = nil
			}
		}
	}
	g.purges[a.entity]++
	return func(ctx context.Context) error { return g.purge(ctx, a, now) }
}

func (g *game) snapshotsUnderWay(entity int) bool {
	about := func(r *explore.Request) bool {
		return writes(r) && bytes.Contains(r.Body, []byte(snapshotTable)) && bytes.Contains(r.Body, []byte(pid(entity)))
	}
	return slices.ContainsFunc(g.net.Late(), about) || slices.ContainsFunc(g.inside, func(i inside) bool { return about(i.Request) })
}

// ended says whether an error has ended the writer for sure.
func ended(err error) bool {
	return errors.Is(err, dynajournal.ErrWriterConflict) || errors.Is(err, dynajournal.ErrOutcomeUnknown) || errors.Is(err, dynajournal.ErrWriterEnded)
}

func (g *game) recover(ctx context.Context, a *actor, entity int, opts dynajournal.RecoverOptions, knows []explore.Event) error {
	l, purges := g.ledgers[entity], g.purges[entity]
	began := l.Begin()
	a.writer = nil
	var got []explore.Event
	w, err := a.journal.Recover(ctx, pid(entity), opts, func(e dynajournal.Event) error {
		got = append(got, explore.Event{Number: e.SequenceNumber, Text: string(e.Bytes)})
		return nil
	})
	if err != nil {
		return err
	}
	knows = append(knows, got...)
	g.tell(func() {
		l.Recovered(began, got, knows)
		l.Read(opts.After+1, began, got)
	})
	a.writer, a.entity, a.knows, a.purges = w, entity, knows, purges
	return nil
}

// recoverFromSnapshot loads the newest snapshot, and recovers what came after it.
func (g *game) recoverFromSnapshot(ctx context.Context, a *actor, entity int) error {
	number, state, err := g.load(ctx, a.journal, entity, math.MaxInt64)
	if err != nil {
		return err
	}
	var knows []explore.Event
	if number > 0 {
		if knows, err = eventsOf(state); err != nil {
			return err
		}
	}
	return g.recover(ctx, a, entity, dynajournal.RecoverOptions{After: number}, knows)
}

// load loads the newest snapshot up to a number; 0 if there is none.
func (g *game) load(ctx context.Context, j *dynajournal.Journal, entity int, most int64) (int64, string, error) {
	s := g.shelves[entity]
	began := s.now()
	snapshot, found, err := j.LoadSnapshot(ctx, pid(entity), dynajournal.SnapshotCriteria{MaxSequenceNumber: most})
	if err != nil {
		return 0, "", err
	}
	var number int64
	if found {
		number = snapshot.SequenceNumber
	}
	g.tell(func() { g.fail(s.loaded(began, most, number, string(snapshot.Bytes))) })
	return number, string(snapshot.Bytes), nil
}

// save saves what the actor knows.
func (g *game) save(ctx context.Context, a *actor) error {
	a.saves++ // no two states of a process are the same, so that which of them is loaded can be told
	number, state := a.knows[len(a.knows)-1].Number, stateOf(a.knows)+strings.Repeat(" ", a.saves)
	g.shelves[a.entity].saving(number, state)
	_, err := a.journal.SaveSnapshot(ctx, dynajournal.SnapshotMetadata{PersistenceID: pid(a.entity), SequenceNumber: number}, state)
	return err
}

func (g *game) deleteSnapshots(ctx context.Context, a *actor, entity int, most int64) error {
	s := g.shelves[entity]
	began := s.now()
	_, err := a.journal.DeleteSnapshots(ctx, pid(entity), dynajournal.SnapshotCriteria{MaxSequenceNumber: most})
	if err == nil {
		g.tell(func() { g.fail(s.deleted(began, most)) })
	}
	return err
}

func (g *game) read(ctx context.Context, j *dynajournal.Journal, entity int, from int64) error {
	l := g.ledgers[entity]
	beginning, began := l.Begin(), g.numbers[entity].now()
	var got []explore.Event
	for e, err := range j.Events(ctx, pid(entity), dynajournal.Range{From: from}) {
		if err != nil {
			return err
		}
		got = append(got, explore.Event{Number: e.SequenceNumber, Text: string(e.Bytes)})
	}
	g.tell(func() {
		l.Read(from, beginning, got)
		g.numbers[entity].read(began, from, l.Highest(), got)
	})
	return nil
}

// list lists the ids, whatever indexes lag: none that is not there, and in a native journal none twice, but by a scan one of which
// every trace is removed meanwhile.
func (g *game) list(ctx context.Context, j *dynajournal.Journal, scan bool) error {
	listed := map[string]int{}
	for id, err := range j.CurrentPersistenceIDs(ctx, dynajournal.IDsOptions{Scan: scan}) {
		if err != nil {
			return err
		}
		listed[id]++
	}
	for e := range entities {
		if n := listed[pid(e)]; n > 1 && !g.shared {
			g.tell(func() {
				if !scan || g.purges[e] == 0 {
					g.fail(fmt.Errorf("%s was listed %d times", pid(e), n))
				}
			})
		}
		delete(listed, pid(e))
	}
	if len(listed) > 0 {
		g.tell(func() { g.fail(fmt.Errorf("there are no such ids: %v", listed)) })
	}
	return nil
}

// verify verifies an entity, or repairs it with every option. What is found may be on its way, and is given to found.
func (g *game) verify(ctx context.Context, j *dynajournal.Journal, entity int, repair bool, found func(dynajournal.Finding)) error {
	check, opts := j.Verify, dynajournal.VerifyOptions{}
	if repair {
		check = j.Repair
		opts.RemoveOrphans, opts.RemoveIncomplete = true, true
		opts.Archive = func(dynajournal.RemovedItem) error { return nil }
	}
	for f, err := range check(ctx, pid(entity), opts) {
		if err != nil {
			return err
		}
		if found != nil {
			found(f)
		}
		if f.Repaired {
			g.tell(func() { g.sum.repaired[f.Kind]++ })
		}
	}
	return nil
}

// texts are those of the next events of an actor, never used before.
func (a *actor) texts(n int) ([]any, []string) {
	values, texts := make([]any, n), make([]string, n)
	for i := range n {
		a.count++
		texts[i] = fmt.Sprintf("%s-%d", a.name, a.count)
		if n > 1 {
			texts[i] = member + texts[i]
		}
		values[i] = texts[i]
	}
	return values, texts
}

func (g *game) append(ctx context.Context, a *actor, size int) error {
	values, texts := a.texts(size)
	began := g.numbers[a.entity].now()
	result, err := a.writer.Append(ctx, values...)
	if err == nil {
		g.acknowledged(a, began, result.First, texts)
		return nil
	}
	if size == 1 {
		g.failed(a, began, err, texts[0])
	} else if !errors.Is(err, dynajournal.ErrOutcomeUnknown) {
		g.ledgers[a.entity].Refuse(texts)
	}
	return err
}

func (g *game) acknowledged(a *actor, began int, first int64, texts []string) {
	events := make([]explore.Event, len(texts))
	for i, t := range texts {
		events[i] = explore.Event{Number: first + int64(i), Text: t}
	}
	entity, knew := a.entity, a.knows
	a.knows = append(slices.Clone(a.knows), events...)
	g.tell(func() {
		g.ledgers[entity].Acknowledge(knew, events)
		g.sum.acknowledged += len(texts)
		if len(texts) == 1 {
			g.numbers[entity].wrote(began, first, texts[0])
		}
	})
}

func (g *game) appendEach(ctx context.Context, a *actor, n int) error {
	var values []any
	var texts []string
	for range n {
		v, t := a.texts(1)
		values, texts = append(values, v...), append(texts, t...)
	}
	began := g.numbers[a.entity].now()
	outcomes, err := a.writer.AppendEach(ctx, values...)
	for i, o := range outcomes {
		switch o.Err {
		case nil:
			g.acknowledged(a, began, o.SequenceNumber, texts[i:i+1])
		default:
			g.failed(a, began, o.Err, texts[i])
		}
	}
	return err
}

// failed takes note of a single event that was not acknowledged.
func (g *game) failed(a *actor, began int, err error, text string) {
	if unknown, ok := errors.AsType[*dynajournal.OutcomeUnknownError](err); ok {
		g.numbers[a.entity].perhaps(began, unknown.First, text)
		return
	}
	g.ledgers[a.entity].Refuse([]string{text})
}

// delete deletes some of what there is.
func (g *game) delete(ctx context.Context, a *actor, size int) error {
	next, err := a.writer.NextSequenceNumber(ctx)
	if err != nil {
		return err
	}
	began := g.numbers[a.entity].now()
	to := next - 1 - int64(size%5)*(next-1-g.ledgers[a.entity].Low())/5
	_, err = a.writer.DeleteTo(ctx, max(to, 0))
	g.numbers[a.entity].deleted(began, max(to, 0))
	return err
}

func (g *game) purge(ctx context.Context, a *actor, now bool) error {
	next, err := a.writer.NextSequenceNumber(ctx)
	if err != nil {
		return err
	}
	began := g.numbers[a.entity].now()
	_, err = a.writer.Purge(ctx, dynajournal.PurgeOptions{Now: now})
	g.numbers[a.entity].deleted(began, next)
	if err == nil || now {
		a.writer = nil
	}
	return err
}

// finish lets everything end without further faults, and looks at all there is.
func (g *game) finish() {
	g.fair = true
	if len(g.unlag) > 0 {
		g.lag(0)
	}
	for _, a := range g.actors {
		a.paused = false
	}
	for !g.quiet() {
		if !g.step() {
			g.sleep(time.Second)
		}
	}
	for len(g.net.Late()) > 0 {
		g.step()
	}
	for e := range entities {
		g.check()
		if g.wrong != nil {
			return
		}
		g.compare(e)
		g.serving("auditor", func() error { return g.goOn(e) })
		g.check()
		g.compare(e)
		// Parts of a dead atomic write can stand in a partition that is reached only now that the one before it is full.
		last := &actor{name: fmt.Sprint("repair", e), journal: g.auditor}
		g.serving("auditor", func() error { return g.recover(g.Context(), last, e, dynajournal.RecoverOptions{}, nil) })
		g.serving("auditor", func() error { return g.verify(g.Context(), g.auditor, e, true, nil) })
		g.check()
		g.compare(e)
		g.sound(e)
		if err := g.numbers[e].linearizable(); err != nil {
			g.fail(fmt.Errorf("%s: %w", pid(e), err))
		}
	}
	g.wantStored()
}

func (g *game) quiet() bool {
	g.settle()
	return len(g.inside) == 0 && !slices.ContainsFunc(g.actors, func(a *actor) bool { return !a.idle() })
}

// sound verifies an entity after a recovery and a repair: what may still be found are high marks that were put for events that
// failed.
func (g *game) sound(entity int) {
	g.fail(g.verify(g.Context(), g.auditor, entity, false, func(f dynajournal.Finding) {
		if f.Kind != dynajournal.FindingMarkBeyondEvents {
			g.fail(fmt.Errorf("after a recovery and a repair verify finds %s of %s at %d: %s", f.Kind, f.PersistenceID, f.SequenceNumber, f.Detail))
		}
	}))
}

// compare compares what a reader is given with what must be visible.
func (g *game) compare(entity int) {
	want := g.ledgers[entity].Visible()
	var got []explore.Event
	for e, err := range g.auditor.Events(g.Context(), pid(entity), dynajournal.Range{}) {
		if err != nil {
			g.fail(err)
			return
		}
		got = append(got, explore.Event{Number: e.SequenceNumber, Text: string(e.Bytes)})
	}
	if !slices.Equal(got, want) {
		g.fail(fmt.Errorf("%s: at the end %v stand, but readers are given %v", pid(entity), want, got))
	}
	if _, _, err := g.load(g.Context(), g.auditor, entity, math.MaxInt64); err != nil {
		g.fail(err)
	}
	if !g.ledgers[entity].Listed() {
		return
	}
	for _, scan := range []bool{false, true} {
		listed := 0
		for id, err := range g.auditor.CurrentPersistenceIDs(g.Context(), dynajournal.IDsOptions{Scan: scan}) {
			if err != nil {
				g.fail(err)
			}
			if id == pid(entity) {
				listed++
			}
		}
		if listed != 1 {
			g.fail(fmt.Errorf("%s has %d events, and is listed %d times (by scan: %v)", pid(entity), len(want), listed, scan))
		}
	}
}

// goOn recovers and writes, until a writer is not disturbed by what landed late.
func (g *game) goOn(entity int) error {
	const enough = 10
	a := &actor{name: fmt.Sprint("last", entity), journal: g.auditor}
	var err error
	for range enough {
		if err = g.recover(g.Context(), a, entity, dynajournal.RecoverOptions{}, nil); err == nil {
			err = g.append(g.Context(), a, 1)
		}
		if !errors.Is(err, dynajournal.ErrWriterConflict) && !errors.Is(err, dynajournal.ErrDeletedMeanwhile) {
			return err
		}
	}
	return err
}
