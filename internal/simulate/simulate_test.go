package simulate_test

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/internal/explore"
	"github.com/dynajournal/dynajournal/internal/testsize"
)

var (
	duration = flag.Duration("simulate.duration", 0, "how long to play; 0 is a fixed number of histories")
	enough   = flag.Int("simulate.operations", 0, "how many operations to play; 0 is no such bound")
	tracing  = flag.Bool("simulate.trace", false, "print every step, for a failure")
	without  = flag.String("simulate.without", "", "what to leave out, of purges, foreign (responses), clocks, copies and jvm, separated by commas")
	harsh    = flag.Bool("simulate.harsh", false, "hand over to a JVM while atomic writes are in flight and where high marks are missing, and let it delete parts of dead ones")
	onlyJVM  = flag.Bool("simulate.jvm", false, "play only histories in which a JVM takes turns")
)

// fixed is the number of histories, unless a flag limits them by time or by operations.
var fixed = testsize.Of(15, 250)

// totals has the totals of all histories.
type totals struct {
	histories, commands, operations, requests, acknowledged int
	landed, restarts, erasures                              int
	calls                                                   map[kind]int
	injected                                                map[string]int
	copies                                                  map[string]int
	repaired                                                map[dynajournal.FindingKind]int
}

func newTotals() *totals {
	return &totals{calls: map[kind]int{}, injected: map[string]int{}, copies: map[string]int{}, repaired: map[dynajournal.FindingKind]int{}}
}

func (s *totals) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d histories, %d operations, %d events acknowledged, %d requests without a fault, %d that landed late, %d restarts, %d purges that leave nothing\n",
		s.histories, s.operations, s.acknowledged, s.requests, s.landed, s.restarts, s.erasures)
	fmt.Fprintln(&b, "operations:")
	for _, k := range slices.Sorted(maps.Keys(s.calls)) {
		fmt.Fprintf(&b, "  %8d %s\n", s.calls[k], kinds[k])
	}
	fmt.Fprintln(&b, "copies:")
	for _, into := range slices.Sorted(maps.Keys(s.copies)) {
		fmt.Fprintf(&b, "  %8d %s\n", s.copies[into], into)
	}
	all := 0
	for _, n := range s.injected {
		all += n
	}
	fmt.Fprintf(&b, "%d faults injected, of %d kinds:\n", all, len(s.injected))
	for _, name := range slices.Sorted(maps.Keys(s.injected)) {
		fmt.Fprintf(&b, "  %8d %s\n", s.injected[name], name)
	}
	fmt.Fprintln(&b, "findings repaired:")
	for _, name := range slices.Sorted(maps.Keys(s.repaired)) {
		fmt.Fprintf(&b, "  %8d %s\n", s.repaired[name], name)
	}
	return b.String()
}

// TestSimulate runs random histories until one fails, or enough were run. It prints the seed:
// -rapid.seed runs the same histories again.
func TestSimulate(t *testing.T) {
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

// kind is the kind of a command.
type kind int

const (
	nothing kind = iota // what other commands shrink to
	recoverEntity
	recoverFromSnapshot
	appendBatch
	appendSingles
	deletePrefix
	purgeEntity
	readEvents
	listIDs
	saveSnapshot
	loadSnapshot
	deleteSnapshots
	verifyEntity
	repairEntity
	repairDryRun
	repairOrphans
	repairIncomplete
	repairMark
	repairWithAll
	copyOther
	copyRelated
	copyBeginning
	copyAgain
	jvmTurn
	cancelCall
	pauseProcess
	sleepMachine
	stepClock
	driftClock
	passTime
	restartEngine
	lagIndexes
)

var kinds = []string{
	"nothing", "recover", "recover from snapshot", "append", "append each", "delete", "purge", "read", "list ids", "save snapshot",
	"load snapshot", "delete snapshots", "verify", "repair", "repair as a dry run", "repair: remove orphans", "repair: remove incomplete",
	"repair: restore high mark", "repair with all options", "copy another history", "copy a continuation", "copy a beginning",
	"copy again", "turn of the JVM", "cancel", "pause", "sleep or wake", "step clock", "drift clock", "pass time", "restart", "lag indexes",
}

// command is one call of an actor, with the number of requests that are served after it.
type command struct {
	kind   kind
	actor  int
	entity int
	size   int
	steps  int
}

func (c command) String() string {
	return fmt.Sprintf("%s actor=%d entity=%d size=%d, then %d requests",
		kinds[c.kind], c.actor, c.entity, c.size, c.steps)
}

// history is a random history.
type history struct {
	seed uint64
	// lateness is the number of requests in 1000 that are late.
	lateness int
	// rates has the number of requests in 1000 for each fault.
	rates []int
	// foreign has the number of requests in 1000 for each response that is not from DynamoDB.
	foreign []int
	// ahead is the error of the wall clock of each process.
	ahead []time.Duration
	// crowded reports whether nearly all commands concern one entity.
	crowded bool
	// copied reports whether histories are copied from another journal, starting with one of the
	// entities.
	copied  bool
	used    int // sequence numbers used before
	grouped bool
	// shared reports whether the journal is shared with a JVM, with 10 shards of marks. jvm reports
	// whether a JVM takes turns.
	shared   bool
	jvm      bool
	maxItem  int
	commands []command
}

func (h history) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d, %d numbers used up before, shared with a JVM: %v, that takes turns: %v, group commit: %v, largest item: %d, in 1000 requests: late %d",
		h.seed, h.used, h.shared, h.jvm, h.grouped, h.maxItem, h.lateness)
	for i, rate := range h.foreign {
		if rate > 0 {
			fmt.Fprintf(&b, ", %v %d", foreigners[i], rate)
		}
	}
	for i, rate := range h.rates {
		if rate > 0 {
			fmt.Fprintf(&b, ", %v %d", explore.RequestFaults[i], rate)
		}
	}
	fmt.Fprintf(&b, ", wall clocks ahead by %v, copies: %v\n", h.ahead, h.copied)
	for _, c := range h.commands {
		if c.kind != nothing || c.steps > 0 {
			fmt.Fprintln(&b, "\t", c)
		}
	}
	return b.String()
}

const (
	// actors is the number of processes that write. processors also counts the copier and the
	// mender.
	actors       = 4
	processors   = actors + 2
	entities     = 2
	mostCommands = 60
)

func drawHistory(rt *rapid.T) history {
	h := history{
		seed:     rapid.Uint64().Draw(rt, "seed"),
		grouped:  rapid.IntRange(0, 3).Draw(rt, "grouped") > 0,
		used:     rapid.SampledFrom([]int{0, 90, 97, 98, 99, 195}).Draw(rt, "used"),
		shared:   rapid.IntRange(0, 3).Draw(rt, "shared") == 3,
		maxItem:  rapid.SampledFrom([]int{0, 0, 1000}).Draw(rt, "largest item"),
		lateness: rapid.SampledFrom([]int{0, 0, 10, 30, 100}).Draw(rt, "late"),
		rates:    make([]int, len(explore.RequestFaults)),
		foreign:  make([]int, len(foreigners)),
		ahead:    make([]time.Duration, actors),
		crowded:  rapid.Bool().Draw(rt, "crowded"),
		copied:   rapid.Bool().Draw(rt, "copied") && !isWithout("copies"),
	}
	h.jvm = h.shared && !isWithout("jvm") && rapid.IntRange(0, 2).Draw(rt, "jvm") > 0
	if *onlyJVM {
		h.shared, h.jvm = true, true
	}
	for i, f := range explore.RequestFaults {
		h.rates[i] = rapid.SampledFrom([]int{0, 0, 0, 5, 20, 50}).Draw(rt, f.String())
		switch f.Effect { // few requests can have these faults
		case embedded.EffectUnprocessed, embedded.EffectTransactionConflict:
			h.rates[i] *= 4
		case embedded.EffectStatementErrors:
			h.rates[i] *= 8
		}
	}
	for i, f := range foreigners {
		if isWithout("foreign") {
			break
		}
		h.foreign[i] = rapid.SampledFrom([]int{0, 0, 0, 0, 0, 0, 0, 0, 5, 30}).Draw(rt, f.String())
	}
	for i := range h.ahead {
		if isWithout("clocks") {
			break
		}
		h.ahead[i] = rapid.SampledFrom(wrongs).Draw(rt, "ahead")
	}
	weighted := []kind{
		nothing,
		recoverEntity, recoverEntity, recoverEntity, recoverFromSnapshot, recoverFromSnapshot,
		appendBatch, appendBatch, appendBatch, appendBatch, appendBatch, appendBatch, appendBatch,
		appendSingles, appendSingles, appendSingles, appendSingles,
		deletePrefix, deletePrefix, readEvents, readEvents, cancelCall, pauseProcess, passTime, passTime, restartEngine,
		saveSnapshot, saveSnapshot, loadSnapshot, deleteSnapshots, verifyEntity,
		repairEntity, repairDryRun, repairOrphans, repairIncomplete, repairMark, repairWithAll,
		listIDs, listIDs, listIDs, lagIndexes, lagIndexes,
	}
	if !isWithout("clocks") {
		weighted = append(weighted, sleepMachine, sleepMachine, sleepMachine, stepClock, stepClock, driftClock)
	}
	if h.copied {
		weighted = append(weighted, copyOther, copyOther, copyRelated, copyRelated, copyRelated, copyBeginning, copyBeginning, copyAgain, copyAgain)
	}
	if h.jvm {
		weighted = append(weighted, jvmTurn, jvmTurn, jvmTurn, jvmTurn, deletePrefix, deletePrefix, deletePrefix, deletePrefix)
	}
	if !isWithout("purges") {
		weighted = append(weighted, purgeEntity)
	}
	h.commands = rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) command {
		return command{
			kind:   rapid.SampledFrom(weighted).Draw(rt, "kind"),
			actor:  rapid.IntRange(0, processors-1).Draw(rt, "actor"),
			entity: rapid.SampledFrom(h.entities()).Draw(rt, "entity"),
			size:   rapid.OneOf(rapid.IntRange(1, 4), rapid.IntRange(1, 30), rapid.SampledFrom([]int{1, 2, 3, 100, 250})).Draw(rt, "size"),
			steps:  rapid.OneOf(rapid.IntRange(0, 6), rapid.IntRange(0, 300)).Draw(rt, "steps"),
		}
	}), mostCommands, mostCommands).Draw(rt, "commands")
	return h
}

// isWithout reports whether a feature is left out.
func isWithout(what string) bool { return slices.Contains(strings.Split(*without, ","), what) }

// wrongs has the errors of wall clocks. Most clocks are right.
var wrongs = []time.Duration{
	0, 0, 0, 0, 0, 0, 0, 0,
	3 * time.Minute, -3 * time.Minute, 40 * time.Minute, -40 * time.Minute, 25 * time.Hour, -25 * time.Hour,
}

// entities returns the entities from which commands are drawn. A number that occurs more often is
// drawn more often.
func (h history) entities() []int {
	if h.crowded {
		return []int{0, 0, 0, 0, 0, 0, 0, 1}
	}
	return []int{0, 1}
}
