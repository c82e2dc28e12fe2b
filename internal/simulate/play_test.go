package simulate_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
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
	// maxLate bounds the requests under way that nobody waits for.
	maxLate = 6
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
	numbers []*numbers
	served  map[string]int
	// fair has everything delivered.
	fair bool
	// wrong is the first thing that went wrong.
	wrong error
}

// actor is a process with one journal, that does one thing at a time.
type actor struct {
	name    string
	journal *dynajournal.Journal
	busy    chan struct{} // closed when what it does has ended
	paused  bool
	cancel  context.CancelFunc

	entity int
	writer *dynajournal.Writer
	knows  []explore.Event
	saved  *savedSnapshot
	count  int
}

// savedSnapshot is what an actor knew when it stored a state.
type savedSnapshot struct {
	entity int
	number int64
	knows  []explore.Event
}

func pid(entity int) string { return fmt.Sprint("entity", entity) }

// play plays a history, and says what went wrong.
func play(t *testing.T, h history, sum *totals) error {
	t.Helper()
	g := &game{T: t, history: h, sum: sum, files: vfs.NewCrashableMem(), rand: rand.New(rand.NewPCG(h.seed, 1)), served: map[string]int{}}
	g.open()
	defer func() { _ = g.engine.Close() }()
	g.net = explore.NewNetwork(g.engine.Transport())
	config := g.config("")
	if err := dynajournal.CreateTables(t.Context(), config, dynajournal.TableOptions{}); err != nil {
		t.Fatal(err)
	}
	for e := range entities {
		g.ledgers = append(g.ledgers, explore.NewLedger(pid(e)))
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
	for _, a := range g.actors {
		g.net.Free(a.name)
		_ = a.journal.Close()
	}
	_ = g.auditor.Close()
	sum.histories++
	return g.wrong
}

func (g *game) open() {
	engine, err := embedded.Open("data", embedded.WithFS(g.files), embedded.WithSweepInterval(0))
	if err != nil {
		g.Fatal(err)
	}
	g.engine = engine
}

func (g *game) config(process string) dynajournal.Config {
	config := dynajournal.Config{AWS: g.engine.AWSConfig(), FenceWindow: fenceWindow, BackoffBase: 1, BackoffCap: 1, Retries: 5}
	config.AWS.HTTPClient = g.net.Client(process)
	if !g.grouped {
		config.GroupCommit = dynajournal.GroupCommitOff
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
		synctest.Wait()
		select {
		case err := <-done:
			g.net.Free(process)
			if err != nil {
				g.fail(fmt.Errorf("%s, at the end: %w", process, err))
			}
			return
		default:
		}
		for _, r := range g.net.Pending() {
			if r.Process == process {
				g.carry(r, g.net.Deliver)
			}
		}
	}
}

func (g *game) fail(err error) {
	if g.wrong == nil {
		g.wrong = err
	}
}

func (g *game) check() {
	for e, l := range g.ledgers {
		if err := l.Check(); err != nil {
			g.fail(fmt.Errorf("%s: %w", pid(e), err))
		}
	}
}

// carry carries a request out, and takes note of what was written.
func (g *game) carry(r *explore.Request, how func(*explore.Request) (int, []byte)) {
	g.sum.fates["done"]++
	status, answer := how(r)
	if status != http.StatusOK || !r.Writes() {
		return
	}
	if left := leftOvers(answer); left {
		g.Fatal("the engine left something over")
	}
	for _, l := range g.ledgers {
		if err := l.Wrote(r.Body, answer); err != nil {
			g.Fatal(err)
		}
	}
}

func leftOvers(answer []byte) bool {
	var a struct{ UnprocessedItems map[string]any }
	return json.Unmarshal(answer, &a) == nil && len(a.UnprocessedItems) > 0
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
	synctest.Wait()
	pending := slices.DeleteFunc(g.net.Pending(), func(r *explore.Request) bool {
		return slices.ContainsFunc(g.actors, func(a *actor) bool { return a.name == r.Process && a.paused })
	})
	if late := g.net.Late(); len(late) > 0 && (len(pending) == 0 || g.rand.IntN(20) == 0) {
		r := late[g.rand.IntN(len(late))]
		g.sum.fates["landed late"]++
		g.carry(r, g.net.Deliver)
		return true
	}
	if len(pending) == 0 {
		return false
	}
	g.fate(pending[g.rand.IntN(len(pending))])
	return true
}

// fate lets a request meet its fate, which follows from the seed, the request, and how often it was sent.
func (g *game) fate(r *explore.Request) {
	hash := fnv.New64a()
	g.served[r.String()]++
	fmt.Fprint(hash, g.seed, r, g.served[r.String()])
	dice := int(hash.Sum64() >> 8 % 1000)
	batch := strings.HasPrefix(r.Operation, "Batch")
	upTo := 0
	is := func(rate int) bool {
		upTo += rate
		return !g.fair && dice >= upTo-rate && dice < upTo
	}
	switch {
	case is(g.rates.loseAnswer):
		g.sum.fates["answer lost"]++
		g.carry(r, g.net.LoseAnswer)
	case is(g.rates.lose):
		g.sum.fates["lost"]++
		g.net.Lose(r)
	case is(g.rates.delay) && r.Writes() && len(g.net.Late()) < maxLate:
		g.sum.fates["late"]++
		g.net.Delay(r)
	case is(g.rates.throttle):
		g.sum.fates["throttled"]++
		g.net.Refuse(r, http.StatusBadRequest, "ProvisionedThroughputExceededException")
	case is(g.rates.fail):
		g.sum.fates["failed"]++
		g.net.Refuse(r, http.StatusInternalServerError, "InternalServerError")
	case is(g.rates.leftOvers) && batch:
		g.sum.fates["left over"]++
		g.leaveOver(r)
	default:
		g.carry(r, g.net.Deliver)
	}
}

// leaveOver answers a batch with all of it unprocessed.
func (g *game) leaveOver(r *explore.Request) {
	var b struct {
		RequestItems json.RawMessage
		Statements   []json.RawMessage
	}
	if err := json.Unmarshal(r.Body, &b); err != nil {
		g.Fatal(err)
	}
	left := map[string]any{"UnprocessedItems": b.RequestItems}
	if r.Operation == "BatchGetItem" {
		left = map[string]any{"Responses": map[string]any{}, "UnprocessedKeys": b.RequestItems}
	}
	if r.Operation == "BatchExecuteStatement" {
		throttled := map[string]any{"Error": map[string]string{"Code": "ThrottlingError", "Message": "left over"}}
		left = map[string]any{"Responses": slices.Repeat([]any{throttled}, len(b.Statements))}
	}
	answer, err := json.Marshal(left)
	if err != nil {
		g.Fatal(err)
	}
	g.net.Answer(r, answer)
}

// command does a command, unless its actor is busy or has nothing to do it with.
func (g *game) command(c command) {
	g.sum.commands++
	a := g.actors[c.actor]
	synctest.Wait()
	idle := a.busy == nil
	if !idle {
		select {
		case <-a.busy:
			idle = true
		default:
		}
	}
	switch c.kind {
	case nothing:
	case cancelCall:
		if !idle {
			a.cancel()
		}
	case pauseProcess:
		a.paused = !a.paused
	case passTime:
		g.pass([]time.Duration{time.Second, 5 * time.Second, 12 * time.Second, time.Minute, 20 * time.Minute, 35 * time.Minute, 61 * time.Minute, 3 * time.Hour}[c.size%8])
	case restartEngine:
		g.restart()
	default:
		if idle {
			g.call(a, c)
		}
	}
}

// pass lets time pass: requests that wait time out, old ones are refused, what has expired is removed.
func (g *game) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
	if d >= signatureLife {
		g.net.Forget()
	}
	if _, err := g.engine.SweepExpired(); err != nil {
		g.Fatal(err)
	}
	for e, l := range g.ledgers {
		if l.Expired(time.Now()) {
			g.numbers[e].forget()
		}
	}
}

// restart loses power: what was answered is there afterwards.
func (g *game) restart() {
	after := g.files.CrashClone(vfs.CrashCloneCfg{})
	if err := g.engine.Close(); err != nil {
		g.Fatal(err)
	}
	g.files = after
	g.open()
	g.net.Serve(g.engine.Transport())
}

// call begins a call of an actor.
func (g *game) call(a *actor, c command) {
	var do func(ctx context.Context) error
	switch c.kind {
	case recoverEntity:
		do = func(ctx context.Context) error { return g.recover(ctx, a, c.entity, nil) }
	case recoverFromSnapshot:
		do = func(ctx context.Context) error { return g.recover(ctx, a, c.entity, a.saved) }
	case readEvents:
		do = func(ctx context.Context) error { return g.read(ctx, a.journal, c.entity, int64(c.size)) }
	default:
		if a.writer == nil {
			return
		}
		switch c.kind {
		case appendBatch:
			do = func(ctx context.Context) error { return g.append(ctx, a, c.size) }
		case appendSingles:
			do = func(ctx context.Context) error { return g.appendEach(ctx, a, c.size%7+1) }
		case deletePrefix:
			do = func(ctx context.Context) error { return g.delete(ctx, a, c.size) }
		default:
			do = func(ctx context.Context) error { return g.purge(ctx, a) }
		}
	}
	g.sum.calls++
	ctx, cancel := context.WithCancel(g.Context())
	a.busy, a.cancel = make(chan struct{}), cancel
	go func() {
		defer close(a.busy)
		defer cancel()
		if err := do(ctx); err != nil && (a.writer == nil || ended(err)) {
			a.writer = nil
		}
	}()
}

// ended says whether an error has ended the writer for sure.
func ended(err error) bool {
	return errors.Is(err, dynajournal.ErrWriterConflict) || errors.Is(err, dynajournal.ErrOutcomeUnknown) || errors.Is(err, dynajournal.ErrWriterEnded)
}

func (g *game) recover(ctx context.Context, a *actor, entity int, from *savedSnapshot) error {
	l := g.ledgers[entity]
	var opts dynajournal.RecoverOptions
	var knows []explore.Event
	if from != nil && from.entity == entity {
		opts.After = from.number
		knows = slices.Clone(from.knows)
	}
	due, deleted := l.Acknowledged(), l.Low()
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
	l.Recovered(deleted, got, knows)
	l.Read(opts.After+1, due, got)
	a.writer, a.entity, a.knows = w, entity, knows
	return nil
}

func (g *game) read(ctx context.Context, j *dynajournal.Journal, entity int, from int64) error {
	l := g.ledgers[entity]
	due, began := l.Acknowledged(), g.numbers[entity].now()
	var got []explore.Event
	for e, err := range j.Events(ctx, pid(entity), dynajournal.Range{From: from}) {
		if err != nil {
			return err
		}
		got = append(got, explore.Event{Number: e.SequenceNumber, Text: string(e.Bytes)})
	}
	l.Read(from, due, got)
	g.numbers[entity].read(began, from, l.Highest(), got)
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
	g.ledgers[a.entity].Acknowledge(a.knows, events)
	a.knows = append(slices.Clone(a.knows), events...)
	g.sum.acknowledged += len(texts)
	if len(texts) == 1 {
		g.numbers[a.entity].wrote(began, first, texts[0])
	}
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

// failed takes note of a single event that was not acknowledged. One that met a conflict may have been there for a moment: an
// earlier try wrote it, its answer was lost, and another writer deleted it.
func (g *game) failed(a *actor, began int, err error, text string) {
	var unknown *dynajournal.OutcomeUnknownError
	var conflict *dynajournal.ConflictError
	switch {
	case errors.As(err, &unknown):
		g.numbers[a.entity].perhaps(began, unknown.First, text)
		return
	case errors.As(err, &conflict):
		g.numbers[a.entity].perhaps(began, conflict.SequenceNumber, text)
	}
	g.ledgers[a.entity].Refuse([]string{text})
}

// delete deletes some of what there is, and saves a snapshot of what the writer knew before it.
func (g *game) delete(ctx context.Context, a *actor, size int) error {
	next, err := a.writer.NextSequenceNumber(ctx)
	if err != nil {
		return err
	}
	if len(a.knows) > 0 {
		last := a.knows[len(a.knows)-1].Number
		a.saved = &savedSnapshot{a.entity, last, slices.Clone(a.knows)}
	}
	began := g.numbers[a.entity].now()
	to := next - 1 - int64(size%5)*(next-1-g.ledgers[a.entity].Low())/5
	_, err = a.writer.DeleteTo(ctx, max(to, 0))
	g.numbers[a.entity].deleted(began, max(to, 0))
	return err
}

func (g *game) purge(ctx context.Context, a *actor) error {
	next, err := a.writer.NextSequenceNumber(ctx)
	if err != nil {
		return err
	}
	began := g.numbers[a.entity].now()
	_, err = a.writer.Purge(ctx, dynajournal.PurgeOptions{})
	g.numbers[a.entity].deleted(began, next)
	for _, other := range g.actors { // snapshots are purged, too
		if other.saved != nil && other.saved.entity == a.entity {
			other.saved = nil
		}
	}
	if err == nil {
		a.writer = nil
	}
	return err
}

// finish lets everything end without further faults, and looks at all there is.
func (g *game) finish() {
	g.fair = true
	for _, a := range g.actors {
		a.paused = false
	}
	for g.busy() {
		if !g.step() {
			time.Sleep(time.Second)
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
		if err := g.numbers[e].linearizable(); err != nil {
			g.fail(fmt.Errorf("%s: %w", pid(e), err))
		}
	}
}

func (g *game) busy() bool {
	synctest.Wait()
	return slices.ContainsFunc(g.actors, func(a *actor) bool {
		if a.busy == nil {
			return false
		}
		select {
		case <-a.busy:
			return false
		default:
			return true
		}
	})
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
	if len(want) == 0 {
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
		if err = g.recover(g.Context(), a, entity, nil); err == nil {
			err = g.append(g.Context(), a, 1)
		}
		if !errors.Is(err, dynajournal.ErrWriterConflict) && !errors.Is(err, dynajournal.ErrDeletedMeanwhile) {
			return err
		}
	}
	return err
}
