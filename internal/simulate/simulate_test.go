package simulate_test

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
)

var (
	duration = flag.Duration("simulate.duration", 0, "how long to play; 0 is a short, fixed number of histories")
	tracing  = flag.Bool("simulate.trace", false, "print every step, for a failure")
	purges   = flag.Bool("simulate.purges", true, "let histories purge persistence ids while other writers live")
)

// short is how many histories the short form plays.
const short = 15

// totals are what all histories of a run have done together.
type totals struct {
	histories, commands, requests, acknowledged int
	landed, restarts, erasures                  int
	calls                                       map[kind]int
	injected                                    map[string]int
	repaired                                    map[dynajournal.FindingKind]int
}

func newTotals() *totals {
	return &totals{calls: map[kind]int{}, injected: map[string]int{}, repaired: map[dynajournal.FindingKind]int{}}
}

func (s *totals) String() string {
	var b strings.Builder
	all := 0
	for _, n := range s.calls {
		all += n
	}
	fmt.Fprintf(&b, "%d histories, %d operations, %d events acknowledged, %d requests without a fault, %d that landed late, %d restarts, %d purges that leave nothing\n",
		s.histories, all, s.acknowledged, s.requests, s.landed, s.restarts, s.erasures)
	fmt.Fprintln(&b, "operations:")
	for _, k := range slices.Sorted(maps.Keys(s.calls)) {
		fmt.Fprintf(&b, "  %8d %s\n", s.calls[k], kinds[k])
	}
	fmt.Fprintln(&b, "faults injected:")
	for _, name := range slices.Sorted(maps.Keys(s.injected)) {
		fmt.Fprintf(&b, "  %8d %s\n", s.injected[name], name)
	}
	fmt.Fprintln(&b, "findings repaired:")
	for _, name := range slices.Sorted(maps.Keys(s.repaired)) {
		fmt.Fprintf(&b, "  %8d %s\n", s.repaired[name], name)
	}
	return b.String()
}

// seedFlag is rapid's flag for the seed of what it draws.
const seedFlag = "rapid.seed"

// TestSimulate plays random histories until one breaks a promise, or enough were played. It prints the seed, with which the
// same histories are played again: -rapid.seed.
func TestSimulate(t *testing.T) {
	given := flag.Lookup(seedFlag).Value.String()
	seed, err := strconv.ParseUint(given, 0, 64)
	if err != nil {
		t.Fatal(err)
	}
	if seed == 0 {
		seed = rand.Uint64()>>1 | 1
	}
	defer func() { _ = flag.Set(seedFlag, given) }()
	t.Logf("-%s=%d", seedFlag, seed)
	sum := newTotals()
	for began := time.Now(); ; seed++ {
		if err := flag.Set(seedFlag, strconv.FormatUint(seed, 10)); err != nil {
			t.Fatal(err)
		}
		rapid.Check(t, func(rt *rapid.T) {
			if over(began, sum) && !t.Failed() {
				return
			}
			h := drawHistory(rt)
			var wrong error
			synctest.Test(t, func(t *testing.T) { wrong = play(t, h, sum) })
			if wrong != nil {
				rt.Fatalf("%v\n%v", wrong, h)
			}
		})
		if t.Failed() || over(began, sum) {
			break
		}
	}
	t.Logf("-%s up to %d: %v", seedFlag, seed, sum)
}

// over says whether enough was played.
func over(began time.Time, sum *totals) bool {
	if *duration > 0 {
		return time.Since(began) > *duration
	}
	return sum.histories >= short
}

// kind is what a command does.
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
	cancelCall
	pauseProcess
	passTime
	restartEngine
	lagIndexes
)

var kinds = []string{
	"nothing", "recover", "recover from snapshot", "append", "append each", "delete", "purge", "read", "list ids", "save snapshot",
	"load snapshot", "delete snapshots", "verify", "repair", "cancel", "pause", "pass time", "restart", "lag indexes",
}

// command is one thing that an actor does, and how many requests are served afterwards.
type command struct {
	kind   kind
	actor  int
	entity int
	size   int
	steps  int
}

func (c command) String() string {
	return fmt.Sprintf("%s actor=%d entity=%d size=%d, then %d requests", kinds[c.kind], c.actor, c.entity, c.size, c.steps)
}

// history is what is played.
type history struct {
	seed uint64
	// lateness is how many requests of 1000 are late, rates how many meet each of the fates.
	lateness int
	rates    []int
	used     int // sequence numbers used up before
	grouped  bool
	// shared is a journal shared with a JVM, with 10 shards of marks.
	shared   bool
	maxItem  int
	commands []command
}

func (h history) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d, %d numbers used up before, shared with a JVM: %v, group commit: %v, largest item: %d, in 1000 requests: late %d",
		h.seed, h.used, h.shared, h.grouped, h.maxItem, h.lateness)
	for i, rate := range h.rates {
		if rate > 0 {
			fmt.Fprintf(&b, ", %v %d", fates[i], rate)
		}
	}
	fmt.Fprintln(&b)
	for _, c := range h.commands {
		if c.kind != nothing || c.steps > 0 {
			fmt.Fprintln(&b, "\t", c)
		}
	}
	return b.String()
}

const (
	actors       = 4
	entities     = 2
	mostCommands = 60
)

func drawHistory(rt *rapid.T) history {
	h := history{
		seed:     rapid.Uint64().Draw(rt, "seed"),
		grouped:  rapid.Bool().Draw(rt, "grouped"),
		used:     rapid.SampledFrom([]int{0, 90, 97, 98, 99, 195}).Draw(rt, "used"),
		shared:   rapid.IntRange(0, 3).Draw(rt, "shared") == 3,
		maxItem:  rapid.SampledFrom([]int{0, 0, 1000}).Draw(rt, "largest item"),
		lateness: rapid.SampledFrom([]int{0, 0, 10, 30, 100}).Draw(rt, "late"),
		rates:    make([]int, len(fates)),
	}
	for i, f := range fates {
		h.rates[i] = rapid.SampledFrom([]int{0, 0, 0, 5, 20, 50}).Draw(rt, f.String())
		if f.Effect == embedded.EffectLeftOvers || f.Effect == embedded.EffectTransactionConflict {
			h.rates[i] *= 4 // few requests can meet these
		}
	}
	weighted := []kind{
		nothing,
		recoverEntity, recoverEntity, recoverEntity, recoverEntity, recoverFromSnapshot, recoverFromSnapshot,
		appendBatch, appendBatch, appendBatch, appendBatch, appendBatch, appendSingles, appendSingles, appendSingles,
		deletePrefix, deletePrefix, readEvents, readEvents, cancelCall, pauseProcess, passTime, restartEngine,
		saveSnapshot, saveSnapshot, loadSnapshot, deleteSnapshots, verifyEntity, repairEntity, repairEntity,
		listIDs, listIDs, listIDs, lagIndexes, lagIndexes,
	}
	if *purges {
		weighted = append(weighted, purgeEntity)
	}
	h.commands = rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) command {
		return command{
			kind:   rapid.SampledFrom(weighted).Draw(rt, "kind"),
			actor:  rapid.IntRange(0, actors-1).Draw(rt, "actor"),
			entity: rapid.IntRange(0, entities-1).Draw(rt, "entity"),
			size:   rapid.OneOf(rapid.IntRange(1, 4), rapid.IntRange(1, 30), rapid.SampledFrom([]int{1, 2, 3, 100, 250})).Draw(rt, "size"),
			steps:  rapid.OneOf(rapid.IntRange(0, 6), rapid.IntRange(0, 300)).Draw(rt, "steps"),
		}
	}), mostCommands, mostCommands).Draw(rt, "commands")
	return h
}
