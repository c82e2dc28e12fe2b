package entities_test

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/internal/explore"
	"github.com/dynajournal/dynajournal/internal/testseed"
	"github.com/dynajournal/dynajournal/internal/testsize"
)

var (
	duration = flag.Duration("simulate.duration", 0, "how long to play; 0 is a fixed number of histories")
	enough   = flag.Int("simulate.operations", 0, "how many operations to play; 0 is no such bound")
	tracing  = flag.Bool("simulate.trace", false, "print every step, for a failure")
)

func TestMain(m *testing.M) {
	testsize.RelaxCollector()
	testseed.FixRapid()
	goleak.VerifyTestMain(m)
}

// fixed is the number of histories, unless a flag limits them by time or by operations.
var fixed = testsize.Of(8, 200)

// TestEntities runs random histories until one fails, or enough were run. It prints the seed:
// -rapid.seed runs the same histories again.
func TestEntities(t *testing.T) {
	sum := newTotals()
	last := explore.RunHistories(t, func(start time.Time) bool { return over(start, sum) }, drawHistory,
		func(t *testing.T, h history) error { return run(t, h, sum) })
	t.Logf("-rapid.seed up to %d: %v", last, sum)
}

// over reports whether enough was run.
func over(start time.Time, sum *totals) bool {
	if *duration == 0 && *enough == 0 {
		return sum.histories >= fixed
	}
	return *duration > 0 && time.Since(start) > *duration || *enough > 0 && sum.operations >= *enough
}

// totals has the totals of all histories.
type totals struct {
	histories, operations, events, requests, landed, lives, checked int
	calls, outcomes, injected                                       map[string]int
	stats                                                           entity.Stats
}

func newTotals() *totals {
	return &totals{calls: map[string]int{}, outcomes: map[string]int{}, injected: map[string]int{}}
}

func (s *totals) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d histories, %d operations, %d events, %d requests without a fault, %d that landed late, %d purges, %d operations judged by porcupine\n",
		s.histories, s.operations, s.events, s.requests, s.landed, s.lives, s.checked)
	fmt.Fprintf(&b, "of the entities: %+v\n", s.stats)
	for name, counts := range map[string]map[string]int{"operations": s.calls, "outcomes": s.outcomes, "faults": s.injected} {
		fmt.Fprintf(&b, "%s:\n", name)
		for _, of := range slices.Sorted(maps.Keys(counts)) {
			fmt.Fprintf(&b, "  %8d %s\n", counts[of], of)
		}
	}
	return b.String()
}

func (s *totals) add(stats entity.Stats) {
	s.stats.Commands += stats.Commands
	s.stats.Duplicates += stats.Duplicates
	s.stats.Writes += stats.Writes
	s.stats.Events += stats.Events
	s.stats.Conflicts += stats.Conflicts
	s.stats.Recoveries += stats.Recoveries
	s.stats.Dropped += stats.Dropped
	s.stats.Snapshots += stats.Snapshots
}

// what is the kind of a command of a history.
type what int

const (
	nothing what = iota // what other commands shrink to
	set
	add
	subtract
	read
	recordAndFail
	recordAndPanic
	recordAndExit
	recordTooMuch
	repeat
	view
	viewInMemory
	viewOfAge
	drop
	purge
	cancelCall
	crashHost
	closeHost
	pauseHost
	sleepMachine
	stepClock
	passTime
	forgetLate
)

var whats = []string{
	"nothing", "set", "add", "subtract", "read", "record and fail", "record and panic", "record and exit", "record too much",
	"repeat", "view", "view in memory", "view of an age", "drop", "purge", "cancel", "crash", "close", "pause",
	"sleep or wake", "step clock", "pass time", "forget late requests",
}

// command is one command of a history, with the number of requests that are served after it.
type command struct {
	what                what
	host, entity        int
	size                int
	id, fresh, at, slow bool
	// patience is how long the caller waits. 0 is no limit.
	patience time.Duration
	steps    int
}

func (c command) String() string {
	return fmt.Sprintf("%s host=%d entity=%d size=%d id=%v fresh=%v at=%v slow=%v patience=%v, then %d requests",
		whats[c.what], c.host, c.entity, c.size, c.id, c.fresh, c.at, c.slow, c.patience, c.steps)
}

// history is a random history.
type history struct {
	seed uint64
	// hosts and entities are their numbers.
	hosts, entities int
	lateness        int
	rates           []int
	ahead           []time.Duration
	shared          bool
	metadata        bool
	grouped         bool
	inPlace         bool
	maxItem         int
	options         entity.Options
	snapshots       []entity.Snapshots
	commands        []command
}

func (h history) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d, %d hosts, %d entities, shared with a JVM: %v, metadata: %v, group commit: %v, Evolve in place: %v, largest item: %d, %+v, snapshots %+v, wall clocks ahead by %v, in 1000 requests: late %d",
		h.seed, h.hosts, h.entities, h.shared, h.metadata, h.grouped, h.inPlace, h.maxItem, h.options, h.snapshots, h.ahead, h.lateness)
	for i, rate := range h.rates {
		if rate > 0 {
			fmt.Fprintf(&b, ", %v %d", explore.RequestFaults[i], rate)
		}
	}
	fmt.Fprintln(&b)
	for _, c := range h.commands {
		if c.what != nothing || c.steps > 0 {
			fmt.Fprintln(&b, "\t", c)
		}
	}
	return b.String()
}

const (
	mostHosts    = 4
	mostEntities = 3
	mostCommands = 80
)

// wrongs has the errors of wall clocks. Half of the clocks are right.
var wrongs = []time.Duration{0, 0, 0, 0, 3 * time.Minute, -3 * time.Minute, 25 * time.Hour, -25 * time.Hour}

func drawHistory(rt *rapid.T) history {
	h := history{
		seed:     rapid.Uint64().Draw(rt, "seed"),
		hosts:    rapid.IntRange(2, mostHosts).Draw(rt, "hosts"),
		entities: rapid.SampledFrom([]int{1, 1, 2, mostEntities}).Draw(rt, "entities"),
		lateness: rapid.SampledFrom([]int{0, 0, 10, 30, 100}).Draw(rt, "late"),
		rates:    make([]int, len(explore.RequestFaults)),
		shared:   rapid.IntRange(0, 3).Draw(rt, "shared") == 3,
		grouped:  rapid.IntRange(0, 3).Draw(rt, "grouped") > 0,
		inPlace:  rapid.Bool().Draw(rt, "in place"),
		maxItem:  rapid.SampledFrom([]int{0, 0, 2000}).Draw(rt, "largest item"),
	}
	h.metadata = !h.shared || rapid.Bool().Draw(rt, "metadata")
	for i := range explore.RequestFaults {
		f := &explore.RequestFaults[i]
		h.rates[i] = rapid.SampledFrom([]int{0, 0, 0, 5, 20, 50}).Draw(rt, f.String())
		switch f.Effect { // few requests can have these faults
		case embedded.EffectUnprocessed, embedded.EffectTransactionConflict:
			h.rates[i] *= 4
		case embedded.EffectStatementErrors:
			h.rates[i] *= 8
		}
	}
	if rapid.IntRange(0, 3).Draw(rt, "faultless") == 3 {
		clear(h.rates)
	}
	h.options = entity.Options{
		Attempts:      rapid.SampledFrom([]int{0, 0, 1, 2}).Draw(rt, "attempts"),
		IdleTimeout:   rapid.SampledFrom([]time.Duration{0, 0, -1, 10 * time.Second}).Draw(rt, "idle timeout"),
		MaxEntities:   rapid.SampledFrom([]int{0, 0, 1}).Draw(rt, "most entities"),
		MaxRecoveries: rapid.SampledFrom([]int{0, 0, 1}).Draw(rt, "most recoveries"),
		MaxWaiting:    rapid.SampledFrom([]int{0, 0, 4}).Draw(rt, "most waiting"),
		Join: entity.Join{
			Mode:   rapid.SampledFrom([]entity.JoinMode{entity.JoinAuto, entity.JoinAuto, entity.JoinOn, entity.JoinOff}).Draw(rt, "join"),
			Events: rapid.SampledFrom([]int{0, 0, 4}).Draw(rt, "join events"),
		},
	}
	for range h.hosts {
		h.ahead = append(h.ahead, rapid.SampledFrom(wrongs).Draw(rt, "ahead"))
		h.snapshots = append(h.snapshots, entity.Snapshots{
			Every:        rapid.SampledFrom([]int64{0, 0, 1, 3, 7}).Draw(rt, "every"),
			Keep:         rapid.SampledFrom([]int{0, 1, 2}).Draw(rt, "keep"),
			DeleteEvents: rapid.Bool().Draw(rt, "delete events"),
		})
	}
	weighted := []what{
		nothing,
		set, set, set, add, add, add, add, add, add, subtract, subtract, subtract, read, read, read,
		recordAndFail, recordAndPanic, recordAndExit, recordTooMuch, repeat, repeat, repeat, repeat,
		view, view, view, view, viewInMemory, viewInMemory, viewOfAge, drop,
		cancelCall, cancelCall, crashHost, closeHost, pauseHost, sleepMachine, stepClock, passTime, passTime, forgetLate,
	}
	if rapid.IntRange(0, 3).Draw(rt, "purges") == 3 {
		weighted = append(weighted, purge, purge)
	}
	h.commands = rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) command {
		return command{
			what:     rapid.SampledFrom(weighted).Draw(rt, "what"),
			host:     rapid.IntRange(0, h.hosts-1).Draw(rt, "host"),
			entity:   rapid.IntRange(0, h.entities-1).Draw(rt, "entity"),
			size:     rapid.IntRange(1, 30).Draw(rt, "size"),
			id:       rapid.IntRange(0, 1).Draw(rt, "id") == 1 && h.metadata,
			fresh:    rapid.IntRange(0, 3).Draw(rt, "fresh") == 3,
			at:       rapid.IntRange(0, 7).Draw(rt, "at") == 7,
			slow:     rapid.IntRange(0, 3).Draw(rt, "slow") == 3,
			patience: rapid.SampledFrom([]time.Duration{0, 0, 0, 0, 5 * time.Microsecond, time.Second, time.Minute}).Draw(rt, "patience"),
			steps:    rapid.OneOf(rapid.IntRange(0, 3), rapid.IntRange(0, 3), rapid.IntRange(0, 60)).Draw(rt, "steps"),
		}
	}), mostCommands, mostCommands).Draw(rt, "commands")
	return h
}
