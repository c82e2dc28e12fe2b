package simulate_test

import (
	"flag"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

var (
	duration = flag.Duration("simulate.duration", 0, "how long to play; 0 is a short, fixed number of histories")
	purges   = flag.Bool("simulate.purges", true, "let histories purge persistence ids while other writers live")
)

// short is how many histories the short form plays.
const short = 15

// totals are what all histories of a run have done together.
type totals struct {
	histories, commands, calls, acknowledged int
	fates                                    map[string]int
}

// TestSimulate plays random histories until one breaks a promise, or enough were played. The seed of a failure is printed by
// rapid.
func TestSimulate(t *testing.T) {
	sum := totals{fates: map[string]int{}}
	var over atomic.Bool
	if *duration > 0 {
		defer time.AfterFunc(*duration, func() { over.Store(true) }).Stop()
	}
	for {
		rapid.Check(t, func(rt *rapid.T) {
			if *duration > 0 && over.Load() || *duration == 0 && sum.histories >= short && !t.Failed() {
				return
			}
			h := drawHistory(rt)
			var wrong error
			synctest.Test(t, func(t *testing.T) { wrong = play(t, h, &sum) })
			if wrong != nil {
				rt.Fatalf("%v\n%v", wrong, h)
			}
		})
		if *duration == 0 || over.Load() || t.Failed() {
			break
		}
	}
	t.Logf("%d histories, %d commands, %d calls, %d events acknowledged; requests: %v",
		sum.histories, sum.commands, sum.calls, sum.acknowledged, sum.fates)
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
	cancelCall
	pauseProcess
	passTime
	restartEngine
)

var kinds = []string{"nothing", "recover", "recover from snapshot", "append", "append each", "delete", "purge", "read", "cancel", "pause", "pass time", "restart"}

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
	seed     uint64
	rates    rates
	used     int // sequence numbers used up before
	grouped  bool
	commands []command
}

// rates are how many requests of 1000 meet a fate.
type rates struct{ loseAnswer, lose, delay, throttle, fail, leftOvers int }

func (h history) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d, %d numbers used up before, group commit %v, rates of faults in 1000: %+v\n", h.seed, h.used, h.grouped, h.rates)
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
	rate := func(name string) int { return rapid.SampledFrom([]int{0, 0, 10, 30, 100}).Draw(rt, name) }
	h := history{
		seed:    rapid.Uint64().Draw(rt, "seed"),
		grouped: rapid.Bool().Draw(rt, "grouped"),
		used:    rapid.SampledFrom([]int{0, 90, 97, 98, 99, 195}).Draw(rt, "used"),
		rates: rates{
			loseAnswer: rate("answers lost"), lose: rate("requests lost"), delay: rate("late"),
			throttle: rate("throttled"), fail: rate("failed"), leftOvers: rate("left over"),
		},
	}
	weighted := []kind{
		nothing,
		recoverEntity, recoverEntity, recoverEntity, recoverEntity, recoverFromSnapshot,
		appendBatch, appendBatch, appendBatch, appendBatch, appendBatch, appendSingles, appendSingles, appendSingles,
		deletePrefix, deletePrefix, readEvents, readEvents, cancelCall, pauseProcess, passTime, restartEngine,
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
