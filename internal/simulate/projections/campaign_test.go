package projections_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/internal/explore"
	"github.com/dynajournal/dynajournal/internal/testseed"
	"github.com/dynajournal/dynajournal/internal/testsize"
)

var (
	duration = flag.Duration("simulate.duration", 0, "how long to play; 0 is a fixed number of histories")
	enough   = flag.Int("simulate.events", 0, "how many events to write, in long histories; 0 is no such bound")
	tracing  = flag.Bool("simulate.trace", false, "print every disturbance, for a failure")
)

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		if err := play(role); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", role, err)
			os.Exit(1)
		}
		return
	}
	testsize.RelaxCollector()
	testseed.FixRapid()
	goleak.VerifyTestMain(m)
}

// fixed is the number of histories, unless a flag limits them by time or by events.
var fixed = testsize.Of(1, 8)

// TestProjections runs random histories until one fails, or enough were run. It prints the seed:
// -rapid.seed draws the same histories again. Goroutines that are ready at the same time run in any
// order, so it may take several runs to repeat a failure.
func TestProjections(t *testing.T) {
	sum := &totals{injected: map[string]int{}}
	last := explore.RunHistories(t, func(start time.Time) bool { return over(start, sum) }, drawHistory,
		func(t *testing.T, h history) error { return run(t, h, sum) })
	t.Logf("-rapid.seed up to %d: %v", last, sum)
}

// over reports whether enough was run.
func over(start time.Time, sum *totals) bool {
	if *duration == 0 && *enough == 0 {
		return sum.histories >= fixed
	}
	return *duration > 0 && time.Since(start) > *duration || *enough > 0 && sum.events >= *enough
}

// totals has the totals of all histories.
type totals struct {
	histories, events, reported, repeated, gaps, purges, late int
	stuck, failures                                           int
	injected                                                  map[string]int
}

func (s *totals) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d histories, %d events, 0 missed, 0 out of order, %d handled, %d of them again, %d gaps, %d purges told, %d handled after a purge by a process that stood still, %d failures of handlers, %d persistence ids stuck and resumed\n",
		s.histories, s.events, s.reported, s.repeated, s.gaps, s.purges, s.late, s.failures, s.stuck)
	for _, of := range slices.Sorted(maps.Keys(s.injected)) {
		fmt.Fprintf(&b, "  %8d %s\n", s.injected[of], of)
	}
	return b.String()
}

// source is the way in which a group finds events.
type source int

const (
	streams source = iota
	sweeps
	// triggers come from the process that writes, in addition to rare sweeps.
	triggers
)

// groupOf has the options of a group, which has one projection of each kind.
type groupOf struct {
	source                                source
	claimTimeout, leaseTimeout, poll      time.Duration
	attempts, batchSize, concurrency      int
	failing, panicking, slow, standingOut int // of 1000 calls
	// down reports whether the target of the first projection is down, in each round until the
	// others have handled everything.
	down bool
}

// what is the kind of a disturbance.
type what int

const (
	nothing what = iota // what other disturbances shrink to
	kill
	end
	pause
	split
	poison
)

var whats = []string{"nothing", "kill", "end", "pause", "split shards", "poison"}

// disturbance happens while the writers write, after a time.
type disturbance struct {
	after  time.Duration
	what   what
	of     int
	length time.Duration
}

func (d disturbance) String() string {
	return fmt.Sprintf("after %v %s %d for %v", d.after, whats[d.what], d.of, d.length)
}

// round is a part of a history. It ends when everything is handled.
type round struct {
	// asleep is how long all processes are suspended at the start, while events are written.
	asleep       time.Duration
	disturbances []disturbance
}

// history is a random history.
type history struct {
	seed                  uint64
	shards, ids           int
	processes, operations int
	mostEvents            int
	// shared reports whether the journal is shared with a JVM, which writes every second
	// persistence id.
	shared bool
	// sixes is the number of operations in which there are, on average, six deletions and purges.
	sixes int
	rates []int
	// ahead is how far the service's clock is ahead of the clock of the processes.
	ahead  time.Duration
	groups []groupOf
	rounds []round
}

func (h history) String() string {
	var b strings.Builder
	if h.shared {
		b.WriteString("shared with a JVM, ")
	}
	fmt.Fprintf(&b, "seed %d, %d shards, %d ids, %d processes, %d operations of up to %d events, ahead %v",
		h.seed, h.shards, h.ids, h.processes, h.operations, h.mostEvents, h.ahead)
	for i, rate := range h.rates {
		if rate > 0 {
			fmt.Fprintf(&b, ", %v %d in 1000", faults[i], rate)
		}
	}
	for i := range h.groups {
		fmt.Fprintf(&b, "\n\tgroup %+v", h.groups[i])
	}
	for _, r := range h.rounds {
		fmt.Fprintf(&b, "\n\tround: asleep %v, %v", r.asleep, r.disturbances)
	}
	return b.String()
}

// faults has the faults of requests. A slow request is performed after its client has given up.
var faults = []embedded.Fault{
	{Effect: embedded.EffectReset, Applied: true, Operation: "UpdateItem"},
	{Effect: embedded.EffectReset, Applied: true, Operation: "TransactWriteItems"},
	{Effect: embedded.EffectReset},
	{Effect: embedded.EffectThrottling},
	{Effect: embedded.EffectInternalError, Applied: true},
	{Effect: embedded.EffectTransactionConflict},
	{Effect: embedded.EffectUnprocessed, Some: true},
	{Effect: embedded.EffectSlow, Delay: 2 * time.Second},
	{Effect: embedded.EffectSlow, Delay: 300 * time.Millisecond, Applied: true},
	{Effect: embedded.EffectTruncated},
	{Effect: embedded.EffectExpiredIterator},
	{Effect: embedded.EffectHalfPage},
	{Effect: embedded.EffectTrimmed},
	{Effect: embedded.EffectReaderLimit},
	{Effect: embedded.EffectStreamLag, Delay: time.Second},
}

func drawHistory(rt *rapid.T) history {
	h := history{
		seed:       rapid.Uint64().Draw(rt, "seed"),
		shards:     rapid.IntRange(1, 3).Draw(rt, "shards"),
		ids:        rapid.IntRange(1, len(odd)).Draw(rt, "ids"),
		processes:  rapid.IntRange(1, 3).Draw(rt, "processes"),
		operations: rapid.IntRange(2, 12).Draw(rt, "operations"),
		mostEvents: rapid.SampledFrom([]int{1, 5, 30}).Draw(rt, "events"),
		shared:     rapid.SampledFrom([]bool{false, false, true}).Draw(rt, "shared"),
		sixes:      40,
		rates:      make([]int, len(faults)),
		ahead:      rapid.SampledFrom([]time.Duration{0, 0, 20 * time.Hour, -20 * time.Hour}).Draw(rt, "ahead"),
	}
	if *enough > 0 {
		h.operations, h.mostEvents, h.sixes = 100, 99, 1000
	}
	for i := range faults {
		h.rates[i] = rapid.SampledFrom([]int{0, 0, 5, 20, 60}).Draw(rt, faults[i].String())
	}
	if rapid.IntRange(0, 3).Draw(rt, "faultless") == 3 {
		clear(h.rates)
	}
	for range rapid.IntRange(1, 2).Draw(rt, "groups") {
		g := groupOf{
			source:       rapid.SampledFrom([]source{streams, streams, sweeps, triggers}).Draw(rt, "source"),
			claimTimeout: rapid.SampledFrom([]time.Duration{time.Second, 5 * time.Second, time.Minute}).Draw(rt, "claim timeout"),
			leaseTimeout: rapid.SampledFrom([]time.Duration{2 * time.Second, 6 * time.Second, 30 * time.Second}).Draw(rt, "lease timeout"),
			poll:         rapid.SampledFrom([]time.Duration{100 * time.Millisecond, time.Second}).Draw(rt, "poll"),
			attempts:     rapid.SampledFrom([]int{1, 3, 1000}).Draw(rt, "attempts"),
			batchSize:    rapid.SampledFrom([]int{1, 3, 100, 100}).Draw(rt, "batch size"),
			concurrency:  rapid.SampledFrom([]int{1, 4, 16}).Draw(rt, "concurrency"),
			failing:      rapid.SampledFrom([]int{0, 10, 100}).Draw(rt, "failing"),
			panicking:    rapid.SampledFrom([]int{0, 10}).Draw(rt, "panicking"),
			slow:         rapid.SampledFrom([]int{0, 0, 10}).Draw(rt, "slow"),
			standingOut:  rapid.SampledFrom([]int{0, 0, 10}).Draw(rt, "standing out"),
			down:         rapid.IntRange(0, 2).Draw(rt, "down") == 2,
		}
		if *enough > 0 {
			g.failing, g.panicking, g.slow, g.standingOut, g.batchSize = g.failing/20, g.panicking/10, g.slow/10, g.standingOut/10, 100
		}
		h.groups = append(h.groups, g)
	}
	weighted := []what{nothing, kill, kill, end, pause, pause, split, poison}
	for range rapid.IntRange(1, 3).Draw(rt, "rounds") {
		h.rounds = append(h.rounds, round{
			asleep: rapid.SampledFrom([]time.Duration{0, 0, 0, time.Minute, 13 * time.Hour, 25 * time.Hour}).Draw(rt, "asleep"),
			disturbances: rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) disturbance {
				return disturbance{
					after:  time.Duration(rapid.IntRange(0, 2000).Draw(rt, "after")) * time.Millisecond,
					what:   rapid.SampledFrom(weighted).Draw(rt, "what"),
					of:     rapid.IntRange(0, 5).Draw(rt, "of"),
					length: time.Duration(rapid.IntRange(10, 10_000).Draw(rt, "length")) * time.Millisecond,
				}
			}), 0, 5).Draw(rt, "disturbances"),
		})
	}
	return h
}
