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
	"github.com/dynajournal/dynajournal/internal/testsize"
)

var (
	exploreFor = flag.Duration("explore.duration", 0, "how long to explore each scenario; 0 is a short, fixed number of schedules")
	deviations = flag.Int("explore.deviations", 2, "explore every schedule with so many deviations from the straight one")
	schedules  = flag.Int("explore.schedules", testsize.Of(6, 20), "without a duration, how many schedules of each scenario to explore")
	seed       = flag.Uint64("explore.seed", 0, "the seed of the random schedules; 0 draws one")
	replaying  = flag.String("explore.schedule", "", "run just this schedule, as a failure prints it")
)

// scenario is a program for each writer, as the protocol's model has them: W3 is an atomic write of three events, W a single
// event, D2 a deletion up to the second number, P a purge, R a reader's look; S9 first has a snapshot of the ninth number.
type scenario struct {
	name     string
	programs [][]string
	// base is how many numbers are used up before.
	base int64
}

// The base makes batches cross a partition's boundary, so that high marks are written and partitions followed.
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
	// maxLives bounds how often a writer recovers after a conflict.
	maxLives = 3
	// maxLate bounds how many requests are under way with nobody waiting.
	maxLate = 2
)

// TestExplore runs the scenarios on the real journal in every schedule up to a number of deviations, and then in random ones.
func TestExplore(t *testing.T) {
	chosen := *seed
	if chosen == 0 {
		chosen = rand.Uint64()
	}
	t.Logf("seed %d", chosen)
	for _, s := range scenarios {
		for how, in := range map[string]func(*testing.T, func(*world)){
			"singly":            inWorld,
			"with group commit": func(t *testing.T, test func(*world)) { inGroupWorld(t, test) },
		} {
			t.Run(s.name+", "+how, func(t *testing.T) {
				var late atomic.Bool // the clock inside the bubble is not the real one
				defer time.AfterFunc(*exploreFor, func() { late.Store(true) }).Stop()
				in(t, func(w *world) {
					x := newExplorer(w, s, &late)
					if *replaying != "" {
						x.replay(*replaying)
						return
					}
					x.systematic()
					x.random(rand.New(rand.NewPCG(chosen, 0)))
					w.Logf("%d schedules, %d points, %d requests, %d schedules could not be repeated", x.runs, len(x.visited), x.steps, x.diverged)
				})
			})
		}
	}
}

// explorer runs one scenario again and again.
type explorer struct {
	*world
	scenario

	journals []*dynajournal.Journal
	auditor  *dynajournal.Journal

	// late is set when the time given is over.
	late *atomic.Bool

	// diverged counts the schedules that could not be repeated.
	runs, steps, diverged int
	// visited are the points that were reached, with the fewest deviations they were reached by.
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

// over says whether it is enough: after the time given, or without one after so many schedules.
func (x *explorer) over(short int) bool {
	if *exploreFor > 0 {
		return x.late.Load()
	}
	return x.runs >= short
}

// systematic runs every schedule with few deviations, those with fewer first.
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

// random runs schedules that deviate at random.
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

// run is one schedule under way.
type run struct {
	*explorer
	pid    string
	ledger *explore.Ledger

	history []string // what each process has seen until now
	last    string   // the process that was served last
	crashed map[string]bool
	trace   []string

	mu    sync.Mutex
	names map[string]string // the writers' UUIDs, and what they are called in every run
	live  int
}

// run runs one schedule: choose picks what happens at each step, of as many options as it is told; 0 is the straight way on.
// From a step on, a point that was reached before, with no more deviations than are used here, ends it.
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
		r.begin()
	}
	var choices []int
	for i := range x.programs {
		x.net.Hold(process(i))
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
		told, err := json.Marshal(choices)
		x.Errorf("%v\nschedule %s (%v):\n\t%s", wrong, told, err, strings.Join(r.trace, "\n\t"))
	}
}

// begin uses up the numbers before the base.
func (r *run) begin() {
	r.net.Hold("auditor")
	done := do(func() (*dynajournal.Writer, error) {
		return r.auditor.Recover(r.Context(), r.pid, dynajournal.RecoverOptions{After: r.base}, nil)
	})
	r.serve("auditor")
	if _, err := done(); err != nil {
		r.Fatal(err)
	}
}

// serve delivers all that a process sends, and takes note.
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

// noted carries a request out, and takes note of what was written. It returns what was answered.
func (r *run) noted(request *explore.Request, carry func(*explore.Request) (int, []byte)) string {
	status, answer := carry(request)
	if status == http.StatusOK && request.Writes() {
		if err := r.ledger.Wrote(request.Body, answer); err != nil {
			r.Fatal(err)
		}
	}
	return fmt.Sprint(status, string(answer))
}

// actions are all that can happen next; the first is the straight way on.
func (r *run) actions() []action {
	pending := r.settled()
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
			r.told(p, "delivered", r.noted(p, r.net.Deliver))
		}})
	}
	late := r.net.Late()
	for _, p := range late {
		all = append(all, action{"lands late: " + p.String(), func() { r.noted(p, r.net.Deliver) }})
	}
	if len(pending) == 0 && len(late) > 0 { // the straight way on is that what is late never lands
		return append([]action{{"nothing lands any more", r.net.Forget}}, all...)
	}
	for _, p := range pending {
		if !p.Writes() {
			continue
		}
		all = append(all, action{"answer lost: " + p.String(), func() {
			r.noted(p, r.net.LoseAnswer)
			r.told(p, "reset", "")
		}})
		if len(late) < maxLate {
			all = append(all, action{"under way: " + p.String(), func() {
				r.net.Delay(p)
				r.told(p, "reset", "")
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

// settled waits until everybody waits for an answer, pauses between two tries included, and returns what was asked.
func (r *run) settled() []*explore.Request {
	for {
		time.Sleep(time.Microsecond)
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

// crash ends a process; the writes it has sent may still land.
func (r *run) crash(name string) {
	for _, p := range r.net.Pending() {
		if p.Process == name && !p.Writes() {
			r.net.Lose(p)
		}
	}
	r.net.Crash(name)
	r.crashed[name] = true
}

// told adds to what a process has seen.
func (r *run) told(p *explore.Request, fate, answer string) {
	var i int
	if _, err := fmt.Sscanf(p.Process, "p%d", &i); err != nil {
		return
	}
	r.history[i] = r.digest(r.history[i], p.Label, fate, answer)
}

var expiry = regexp.MustCompile(`"expires":\{"N":"\d+"\}`)

// digest is a hash of texts, the same in every run that has come to the same point.
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

// reached says whether another run was at this point, with no more deviations.
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

// end lets the run end: whoever still runs crashes. Then somebody recovers and writes, what is late lands, and everything
// must be as it should.
func (r *run) end() {
	for i := range r.programs {
		r.crash(process(i))
	}
	for r.running() {
		time.Sleep(time.Microsecond)
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

// expire lets everything expire that is going to.
func (r *run) expire() {
	r.pass(afterExpiry)
	r.ledger.Expired(time.Now())
}

// finish recovers, compares with the ledger, and writes until that succeeds.
func (r *run) finish(text string) {
	r.net.Hold("auditor")
	done := do(func() (struct{}, error) {
		var err error
		for range maxLives {
			if err = r.life(r.auditor, text, []string{"W"}, new(int)); !errors.Is(err, dynajournal.ErrWriterConflict) && !errors.Is(err, dynajournal.ErrDeletedMeanwhile) {
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

// program is one writer: it recovers, does what its program says, and recovers again when it has ended, under a new name.
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
		lives++ // a purge ends a life, too
	}
	for life := range lives {
		if r.life(r.journals[i], fmt.Sprintf("%s.%d", process(i), life), r.programs[i], &next) == nil {
			return
		}
	}
}

// read reads as those do who never write.
func (r *run) read(j *dynajournal.Journal) {
	began := r.ledger.Begin()
	var got []explore.Event
	for e, err := range j.Events(context.WithoutCancel(r.Context()), r.pid, dynajournal.Range{}) {
		if err != nil {
			return
		}
		got = append(got, explore.Event{Number: e.SequenceNumber, Text: text(e)})
	}
	r.ledger.Read(0, began, got)
}

// size is the number in a step, 1 if there is none.
func size(step string) int64 {
	if len(step) == 1 {
		return 1
	}
	return int64(step[1] - '0')
}

// errPurged ends a life of which the id was purged.
var errPurged = errors.New("purged")

// life is one life of a writer: one recovery, and what it does until it ends. It begins with the next step of its program.
func (r *run) life(j *dynajournal.Journal, name string, program []string, next *int) error {
	ctx := context.WithoutCancel(r.Context())
	began := r.ledger.Begin()
	var knows []explore.Event
	var opts dynajournal.RecoverOptions
	if program[0][0] == 'S' {
		opts.After = r.base + size(program[0])
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
	r.ledger.Recovered(began, knows, knows)
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
