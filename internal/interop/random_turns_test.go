//go:build interop

package interop_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
)

var (
	turnsFlag = flag.Int("turns", 0, "how many random turns a test takes, by all plug-ins together; 0 is the test's own number")
	seedFlag  = flag.Uint64("seed", 1, "what the random turns are drawn from")
)

const (
	// turnsOfAnEntity is the number of turns of an entity.
	turnsOfAnEntity = 10
	// defaultTurns is the number of turns of all entities together.
	defaultTurns = 100
)

// turnsOr returns the number of turns that the flag sets, or unless.
func turnsOr(unless int) int {
	if *turnsFlag > 0 {
		return *turnsFlag
	}
	return unless
}

// Go and a JVM take random turns, with deletions, snapshots, purges and expiring tombstones in
// between. Each entity has its own seed, so that a failed entity can be repeated alone.
func TestRandomTurns(t *testing.T) {
	plugins := chosenPlugins(t, allPlugins...)
	entities := (turnsOr(defaultTurns) + turnsOfAnEntity - 1) / turnsOfAnEntity
	for i, p := range plugins {
		t.Run(p.name, func(t *testing.T) {
			s := onPlugin(t, p)
			j := s.open(t)
			for entity := i; entity < entities; entity += len(plugins) {
				seed := *seedFlag + uint64(entity)
				t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
					u := newTurns(t, s, j)
					u.did("again with -run TestRandomTurns -plugins %s -turns %d -seed %d", p.name, turnsOfAnEntity, seed)
					u.takeTurns(rand.New(rand.NewPCG(seed, 0)), turnsOfAnEntity)
				})
				if t.Failed() {
					return // one history is enough for a failure
				}
			}
		})
	}
}

// takeTurns runs n random turns of the entity.
func (u *turns) takeTurns(random *rand.Rand, n int) {
	u.Helper()
	for range n {
		switch random.IntN(24) {
		case 0:
			u.purge()
		case 1:
			u.goesOnAfterSnapshot(random.Int64N(150) + 1)
		case 2:
			u.expire(always)
		case 3:
			u.expire(func() bool { return random.IntN(2) == 0 })
		}
		operations := make([]operation, random.IntN(4))
		highest := u.highest
		for i := range operations {
			operations[i] = randomOperation(random, highest)
			highest += int64(operations[i].singles + operations[i].batch)
		}
		if random.IntN(5) < 3 {
			u.byJVM(operations...)
		} else {
			u.byGo(operations...)
		}
	}
}

// randomOperation returns an operation that is possible after highest.
func randomOperation(random *rand.Rand, highest int64) operation {
	switch random.IntN(10) {
	case 0, 1, 2:
		return operation{singles: randomCount(random, highest)}
	case 3, 4:
		return operation{batch: randomCount(random, highest)}
	case 5, 6:
		if highest > 0 {
			return operation{deleteTo: randomNumber(random, highest)}
		}
	case 7:
		if highest > 0 {
			return operation{deleteTo: all}
		}
	case 8:
		return operation{save: true}
	}
	return operation{restart: true}
}

// randomCount returns a number of events, in one of three cases so that they end near the border of
// a block.
func randomCount(random *rand.Rand, highest int64) int {
	if random.IntN(3) == 0 {
		// The last number then ends in 99, 00, 01 or 02.
		return max(int(100-highest%100+random.Int64N(4)-1), 1)
	}
	return random.IntN(30) + 1
}

// randomNumber returns a number up to the highest, often near it or near the border of a block.
func randomNumber(random *rand.Rand, highest int64) int64 {
	n := random.Int64N(highest) + 1
	switch random.IntN(3) {
	case 0:
		n = highest - random.Int64N(5)
	case 1:
		n = (random.Int64N(highest/100+1)+1)*100 + random.Int64N(4) - 2
	}
	return min(max(n, 1), highest)
}
