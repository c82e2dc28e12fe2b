package explore_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/explore"
	"github.com/dynajournal/dynajournal/internal/testseed"
	"github.com/dynajournal/dynajournal/internal/testsize"
)

var (
	exploreFor = flag.Duration("explore.duration", 0, "how long to explore each scenario; 0 is a short, fixed number of schedules")
	deviations = flag.Int("explore.deviations", 2, "explore every schedule with so many deviations from the straight one")
	schedules  = flag.Int("explore.schedules", testsize.Of(1, 12), "without a duration, how many schedules of each scenario to explore")
	seed       = testseed.Flag("explore.seed")
	replaying  = flag.String("explore.schedule", "", "run just this schedule, as a failure prints it")
)

// scenario is a program for each writer, in the notation of the protocol's model: W3 is an atomic
// write of three events, W a single event, D2 a deletion up to the second number, P a purge, R a
// read; S9 starts with a snapshot of the ninth number.
type scenario struct {
	name     string
	programs [][]string
	// base is how many numbers are used before the programs start.
	base int64
}

// With the base, batches cross the boundary of a partition, so high marks are written and
// partitions followed.
var scenarios = []scenario{
	{"two batches", [][]string{{"W3", "W"}, {"W2", "W"}}, 0},
	{"two batches across a boundary", [][]string{{"W3", "W"}, {"W2", "W"}}, 97},
	{"three writers", [][]string{{"W3", "W"}, {"W", "W"}, {"W2"}}, 98},
	{"three batches", [][]string{{"W2"}, {"W3"}, {"W2", "W"}}, 98},
	{"singles while another recovers", [][]string{{"W", "W", "W"}, {"W", "W"}}, 97},
	{"delete into a batch", [][]string{{"W3", "D2", "W"}, {"W2"}}, 97},
	{"stale writer after a deletion", [][]string{{"W", "W", "D9", "W"}, {"W"}}, 97},
	{"two deleters", [][]string{{"W3", "D1", "W"}, {"W2", "D3"}}, 98},
	{"delete what a batch in flight began", [][]string{{"W3"}, {"D2", "W"}}, 98},
	{"deletion and three writers", [][]string{{"W2", "W"}, {"W3", "D2"}, {"W"}}, 97},
	{"reader beside a writer", [][]string{{"W3", "W", "W2"}, {"R", "R"}}, 97},
	{"reader beside a deletion", [][]string{{"W3", "W", "D2"}, {"R", "R"}}, 97},
	{"reader beside two writers", [][]string{{"W3", "W"}, {"W2"}, {"R", "R"}}, 98},
	{"purge beside a writer", [][]string{{"W", "W2", "P", "W"}, {"W"}}, 97},
	{"purge beside a batch", [][]string{{"W", "P"}, {"W3", "W"}}, 198},
	{"two purges", [][]string{{"W", "P", "W"}, {"W", "P"}}, 98},
	{"snapshot newer than the journal", [][]string{{"S9", "W", "W"}, {"W2", "W"}}, 97},
}

const (
	// maxLives limits how often a writer recovers after a conflict.
	maxLives = 3
	// maxLate limits the number of delayed requests.
	maxLate = 2
)

// TestExplore runs the scenarios on the real journal in every schedule up to a number of
// deviations, and then in random ones.
func TestExplore(t *testing.T) {
	t.Logf("seed %d", *seed)
	for _, s := range scenarios {
		for how, in := range map[string]func(*testing.T, func(*world)){
			"singly":            inWorld,
			"with group commit": func(t *testing.T, test func(*world)) { inGroupWorld(t, test) },
			latestWriters:       inWorld,
		} {
			t.Run(s.name+", "+how, func(t *testing.T) {
				var late atomic.Bool // the clock inside the bubble is not the real one
				defer time.AfterFunc(*exploreFor, func() { late.Store(true) }).Stop()
				in(t, func(w *world) {
					x := newExplorer(w, s, &late)
					x.latest = how == latestWriters
					if *replaying != "" {
						x.replay(*replaying)
						return
					}
					x.systematic()
					x.random(rand.New(rand.NewPCG(*seed, 0)))
					w.Logf("%d schedules, %d points, %d requests, %d schedules could not be repeated",
						x.runs, len(x.visited), x.steps, x.diverged)
				})
			})
		}
	}
}

// latestWriters names the runs in which every second life of a writer recovers without a replay.
const latestWriters = "with writers of the latest event"

// explorer runs one scenario many times.
type explorer struct {
	*world
	scenario

	latest bool

	journals []*dynajournal.Journal
	auditor  *dynajournal.Journal

	// late is set when *exploreFor is over.
	late *atomic.Bool

	// diverged counts the schedules that could not be repeated.
	runs, steps, diverged int
	// visited maps each reached point to the smallest number of deviations that led to it.
	visited map[[sha256.Size]byte]int
}

func newExplorer(w *world, s scenario, late *atomic.Bool) *explorer {
	x := &explorer{world: w, scenario: s, late: late, visited: map[[sha256.Size]byte]int{}, auditor: w.journal("auditor")}
	for i := range s.programs {
		x.journals = append(x.journals, w.journal(process(i)))
	}
	return x
}

func process(i int) string { return fmt.Sprint("p", i) }

// over reports whether to stop: after *exploreFor if it is set, and otherwise after short
// schedules.
func (x *explorer) over(short int) bool {
	if *exploreFor > 0 {
		return x.late.Load()
	}
	return x.runs >= short
}

// systematic runs every schedule with few deviations, in ascending order of their number.
func (x *explorer) systematic() {
	todo := [][]int{nil}
	for most := 0; most <= *deviations; most++ {
		var next [][]int
		for len(todo) > 0 {
			if x.over(*schedules*2/3) || x.Failed() {
				return
			}
			prefix := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			var options []int
			x.run(func(step, n int) int {
				choice := 0
				if step < len(prefix) {
					choice = prefix[step]
				} else {
					options = append(options, n)
				}
				return choice
			}, len(prefix), deviating(prefix))
			for i, n := range options {
				for choice := 1; choice < n; choice++ {
					more := make([]int, len(prefix)+i+1)
					copy(more, prefix)
					more[len(prefix)+i] = choice
					next = append(next, more)
				}
			}
		}
		todo = next
	}
}

func deviating(choices []int) int {
	n := 0
	for _, c := range choices {
		if c != 0 {
			n++
		}
	}
	return n
}

// random runs schedules with random deviations.
func (x *explorer) random(r *rand.Rand) {
	for !x.over(*schedules) && !x.Failed() {
		straight := r.Float64()
		x.run(func(_, n int) int {
			if n == 0 || r.Float64() < straight {
				return 0
			}
			return r.IntN(n)
		}, math.MaxInt, 0)
	}
}

func (x *explorer) replay(schedule string) {
	var choices []int
	if err := json.Unmarshal([]byte(schedule), &choices); err != nil {
		x.Fatalf("the schedule %q: %v", schedule, err)
	}
	x.run(func(step, _ int) int {
		if step < len(choices) {
			return choices[step]
		}
		return 0
	}, math.MaxInt, 0)
}

// action is something that can happen next.
type action struct {
	label string
	do    func()
}

// run is the state of one schedule.
type run struct {
	*explorer
	pid    string
	ledger *explore.Ledger

	history []string // what each process has seen so far
	last    string   // the process that was served last
	crashed map[string]bool
	trace   []string

	mu    sync.Mutex
	names map[string]string // names for the writers' UUIDs, the same in every run
	live  int
}

// run runs one schedule. choose selects one of n actions at each step; 0 is the action without a
// deviation. From step from on, the run ends at a point that an earlier run has reached with at
// most used deviations.
func (x *explorer) run(choose func(step, n int) int, from, used int) {
	x.runs++
	r := &run{
		explorer: x,
		pid:      fmt.Sprintf("x%07d", x.runs),
		names:    map[string]string{},
		history:  make([]string, len(x.programs)),
		crashed:  map[string]bool{},
	}
	r.ledger = explore.NewLedger(r.pid)
	if x.base > 0 {
		r.start()
	}
	var choices []int
	for i := range x.programs {
		x.net.Block(process(i))
		r.live++
		go r.program(i)
	}
	for step := 0; ; step++ {
		actions := r.actions()
		if len(actions) == 0 {
			break
		}
		if step >= from && r.reached(used) {
			break
		}
		choice := choose(step, len(actions))
		if choice >= len(actions) {
			x.diverged++
			break
		}
		choices = append(choices, choice)
		r.trace = append(r.trace, actions[choice].label)
		actions[choice].do()
		synctest.Wait()
		x.steps++
		if r.ledger.Check() != nil {
			break
		}
	}
	r.end()
	if wrong := r.ledger.Check(); wrong != nil {
		text, err := json.Marshal(choices)
		x.Errorf("%v\nschedule %s (%v):\n\t%s", wrong, text, err, strings.Join(r.trace, "\n\t"))
	}
}

// start uses the numbers before the base.
func (r *run) start() {
	r.net.Block("auditor")
	done := do(func() (*dynajournal.Writer, error) {
		return r.auditor.Recover(r.Context(), r.pid, dynajournal.RecoverOptions{Snapshot: r.base, JournalLost: true}, nil)
	})
	r.serve("auditor")
	if _, err := done(); err != nil {
		r.Fatal(err)
	}
}

// serve delivers all requests of a process, and records them.
func (r *run) serve(process string) {
	for {
		synctest.Wait()
		pending := r.net.Pending()
		if len(pending) == 0 {
			r.net.Free(process)
			return
		}
		for _, request := range pending {
			r.noted(request, r.net.Deliver)
		}
	}
}

// noted calls carry with a request, and records the write in the ledger. It returns the response's
// description.
func (r *run) noted(request *explore.Request, carry func(*explore.Request) (int, []byte)) string {
	status, answer := carry(request)
	if status == http.StatusOK && request.Writes() {
		if err := r.ledger.Wrote(request.Body, answer); err != nil {
			r.Fatal(err)
		}
	}
	return fmt.Sprint(status, string(answer))
}

// actions returns everything that can happen next. The first is not a deviation.
func (r *run) actions() []action {
	pending := r.awaitRequests()
	slices.SortStableFunc(pending, func(a, b *explore.Request) int {
		switch {
		case a.Process == b.Process:
			return 0
		case a.Process == r.last:
			return -1
		case b.Process == r.last:
			return 1
		}
		return 0
	})
	var all []action
	for _, p := range pending {
		all = append(all, action{"delivered: " + p.String(), func() {
			r.last = p.Process
			r.record(p, "delivered", r.noted(p, r.net.Deliver))
		}})
	}
	late := r.net.Late()
	for _, p := range late {
		all = append(all, action{"lands late: " + p.String(), func() { r.noted(p, r.net.Deliver) }})
	}
	if len(pending) == 0 && len(late) > 0 { // without a deviation, a delayed request never arrives
		return append([]action{{"nothing lands any more", r.net.Forget}}, all...)
	}
	for _, p := range pending {
		if !p.Writes() {
			continue
		}
		all = append(all, action{"response lost: " + p.String(), func() {
			r.noted(p, r.net.LoseAnswer)
			r.record(p, "reset", "")
		}})
		if len(late) < maxLate {
			all = append(all, action{"delayed: " + p.String(), func() {
				r.net.Delay(p)
				r.record(p, "reset", "")
			}})
		}
	}
	for i := range r.programs {
		if name := process(i); slices.ContainsFunc(pending, func(p *explore.Request) bool { return p.Process == name }) {
			all = append(all, action{"crash: " + name, func() { r.crash(name) }})
		}
	}
	return all
}

// awaitRequests waits until every process waits for a response, including pauses between attempts,
// and returns the requests in flight.
func (r *run) awaitRequests() []*explore.Request {
	for {
		endPauses()
		synctest.Wait()
		if pending := r.net.Pending(); len(pending) > 0 || !r.running() {
			return pending
		}
	}
}

func (r *run) running() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.live > 0
}

// crash ends a process. The writes it has sent may still arrive.
func (r *run) crash(name string) {
	for _, p := range r.net.Pending() {
		if p.Process == name && !p.Writes() {
			r.net.Lose(p)
		}
	}
	r.net.Crash(name)
	r.crashed[name] = true
}

// record adds the result of a request to the history of its process.
func (r *run) record(p *explore.Request, fault, response string) {
	var i int
	if _, err := fmt.Sscanf(p.Process, "p%d", &i); err != nil {
		return
	}
	r.history[i] = r.digest(r.history[i], p.Label, fault, response)
}

var expiry = regexp.MustCompile(`"expires":\{"N":"\d+"\}`)

// digest returns a hash of texts, which is the same in every run that reaches the same point.
func (r *run) digest(texts ...string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	hash := sha256.New()
	for _, t := range texts {
		var parsed any
		if i := strings.IndexByte(t, '{'); i >= 0 && json.Unmarshal([]byte(t[i:]), &parsed) == nil {
			if canonical, err := json.Marshal(parsed); err == nil {
				t = t[:i] + string(canonical)
			}
		}
		t = strings.ReplaceAll(expiry.ReplaceAllString(t, ""), r.pid, "")
		for uuid, name := range r.names {
			t = strings.ReplaceAll(t, uuid, name)
		}
		fmt.Fprintf(hash, "%d %s", len(t), t)
	}
	return base64.StdEncoding.EncodeToString(hash.Sum(nil))
}

// reached reports whether another run was at this point, with no more deviations.
func (r *run) reached(used int) bool {
	texts := append([]string{r.last, r.ledger.Digest()}, r.history...)
	for _, p := range r.net.Pending() {
		texts = append(texts, p.String())
	}
	for _, p := range r.net.Late() {
		texts = append(texts, p.String(), string(p.Body))
	}
	for i := range r.programs {
		texts = append(texts, fmt.Sprint(r.crashed[process(i)]))
	}
	point := sha256.Sum256([]byte(r.digest(texts...)))
	fewest, known := r.visited[point]
	if known && fewest <= used {
		return true
	}
	r.visited[point] = used
	return false
}

// end ends the run: all processes crash. Then a new writer recovers and writes, the delayed
// requests arrive, and the ledger is checked.
func (r *run) end() {
	for i := range r.programs {
		r.crash(process(i))
	}
	for r.running() {
		endPauses()
		synctest.Wait()
	}
	r.finish("last")
	for _, p := range r.net.Late() {
		r.noted(p, r.net.Deliver)
	}
	r.finish("very last")
	if slices.ContainsFunc(r.programs, func(p []string) bool { return slices.Contains(p, "P") }) {
		r.expire()
		r.finish("after the expiry")
	}
	for i := range r.programs {
		r.net.Restart(process(i))
	}
}

// expire advances the time until all items with an expiry have expired.
func (r *run) expire() {
	r.pass(afterExpiry)
	r.ledger.Expired(time.Now())
}

// finish recovers, compares with the ledger, and writes until a write succeeds.
func (r *run) finish(text string) {
	r.net.Block("auditor")
	done := do(func() (struct{}, error) {
		var err error
		for range maxLives {
			err = r.life(r.auditor, text, dynajournal.RecoverOptions{}, []string{"W"}, new(int))
			if !errors.Is(err, dynajournal.ErrWriterConflict) && !errors.Is(err, dynajournal.ErrDeletedMeanwhile) {
				break
			}
		}
		return struct{}{}, err
	})
	r.serve("auditor")
	if _, err := done(); err != nil {
		r.Fatalf("%s: %v", text, err)
	}
}

// program is one writer: it recovers, runs the steps of its program, and recovers again under a new
// name when it has ended.
func (r *run) program(i int) {
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.live--
	}()
	next := 0
	if r.programs[i][0] == "R" {
		for range r.programs[i] {
			r.read(r.journals[i])
		}
		return
	}
	lives := maxLives
	if slices.Contains(r.programs[i], "P") {
		lives++ // a purge also ends a life
	}
	for life := range lives {
		opts := dynajournal.RecoverOptions{Latest: r.latest && (i+life)%2 == 1}
		if r.life(r.journals[i], fmt.Sprintf("%s.%d", process(i), life), opts, r.programs[i], &next) == nil {
			return
		}
	}
}

// read reads as a process that never writes.
func (r *run) read(j *dynajournal.Journal) {
	start := r.ledger.StartRead()
	var got []explore.Event
	for e, err := range j.Events(context.WithoutCancel(r.Context()), r.pid, dynajournal.Range{}) {
		if err != nil {
			return
		}
		got = append(got, explore.Event{Number: e.SequenceNumber, Text: text(e)})
	}
	r.ledger.Read(0, start, got)
}

// size returns the number in a step, or 1.
func size(step string) int64 {
	if len(step) == 1 {
		return 1
	}
	return int64(step[1] - '0')
}

// errPurged ends a life whose id was purged.
var errPurged = errors.New("purged")

// upTo returns the events up to the last one that a writer knows. All numbers up to it are closed,
// so the result does not depend on the time of the read.
func (r *run) upTo(j *dynajournal.Journal, w *dynajournal.Writer) ([]explore.Event, error) {
	ctx := context.WithoutCancel(r.Context())
	last, err := w.Last(ctx)
	if err != nil || last == 0 {
		return nil, err
	}
	var knows []explore.Event
	for e, err := range j.Events(ctx, r.pid, dynajournal.Range{To: last}) {
		if err != nil {
			return nil, err
		}
		knows = append(knows, explore.Event{Number: e.SequenceNumber, Text: text(e)})
	}
	return knows, nil
}

// life is one life of a writer: a recovery, and the steps of its program until it ends, from the
// next one on.
func (r *run) life(
	j *dynajournal.Journal, name string, opts dynajournal.RecoverOptions, program []string, next *int,
) error {
	ctx := context.WithoutCancel(r.Context())
	start := r.ledger.StartRead()
	var knows []explore.Event
	if program[0][0] == 'S' {
		opts = dynajournal.RecoverOptions{Snapshot: r.base + size(program[0]), JournalLost: true}
		*next = max(*next, 1)
	}
	w, err := j.Recover(ctx, r.pid, opts, func(e dynajournal.Event) error {
		knows = append(knows, explore.Event{Number: e.SequenceNumber, Text: text(e)})
		return nil
	})
	if err != nil {
		return err
	}
	r.mu.Lock()
	r.names[w.WriterUUID()] = name
	r.mu.Unlock()
	if opts.Latest {
		if knows, err = r.upTo(j, w); err != nil {
			return err
		}
	}
	r.ledger.Recovered(start, knows, knows)
	for ; *next < len(program); *next++ {
		step := program[*next]
		switch step[0] {
		case 'D':
			if _, err := w.DeleteTo(ctx, r.base+size(step)); err != nil {
				return err
			}
			continue
		case 'P':
			if _, err := w.Purge(ctx, dynajournal.PurgeOptions{}); err != nil {
				return err
			}
			*next++
			return errPurged
		}
		var values []any
		var events []explore.Event
		for n := range size(step) {
			text := fmt.Sprintf("%s.%d.%d", name, *next, n)
			values = append(values, text)
			events = append(events, explore.Event{Text: text})
		}
		result, err := w.Append(ctx, values...)
		if err != nil {
			return err
		}
		for n := range events {
			events[n].Number = result.First + int64(n)
		}
		r.ledger.Acknowledge(knows, events)
		knows = append(knows, events...)
	}
	return nil
}
