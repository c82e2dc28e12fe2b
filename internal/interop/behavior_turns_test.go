//go:build interop

package interop_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/dynajournal/dynajournal/entity"
)

const (
	// behaviorTurns is the number of turns that entities and behaviors take.
	behaviorTurns = 1000
	// turnsOfLedgers is the number of turns with one seed. ledgersOfASeed is the number of ledgers
	// that share these turns.
	turnsOfLedgers, ledgersOfASeed = 100, 4
)

// Entities in Go and event-sourced behaviors of a JVM take turns on the same persistence ids. Each
// side has its own retention: snapshots, which may delete events. A side stops its entity before
// the other one starts. After each turn both sides show every event, and every state is the same on
// both: a behavior's when it starts and after each command, an entity's after each command and in a
// View, even while the behavior runs.
func TestEntitiesAndBehaviorsTakeTurns(t *testing.T) {
	for i, p := range chosenPlugins(t, pekko110) {
		t.Run(p.name, func(t *testing.T) {
			if p == akka130 {
				t.Skip("Akka 2.5 has no serializers of Jackson: nothing is tested with its behaviors")
			}
			s := onPlugin(t, p)
			var done turnsDone
			for n := 0; n < turnsOr(behaviorTurns); n += turnsOfLedgers {
				turns := min(turnsOr(behaviorTurns)-n, turnsOfLedgers)
				seed := *seedFlag + uint64(n/turnsOfLedgers+i)
				t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
					again := fmt.Sprintf("again with -run %s -plugins %s -turns %d -seed %d",
						"TestEntitiesAndBehaviorsTakeTurns", p.name, turns, seed)
					takeLedgerTurns(t, s, rand.New(rand.NewPCG(seed, 0)), turns, again, &done)
				})
				if t.Failed() {
					return // one history is enough for a failure
				}
			}
			t.Logf("%+v", done)
			if turnsOr(behaviorTurns) >= behaviorTurns {
				done.check(t)
			}
		})
	}
}

// turnsDone counts the operations, so that the test fails if it no longer runs some of them.
type turnsDone struct {
	ByGo, ByJVM, Batches, Hurried              int
	SnapshotsOfGo, SnapshotsOfJVM              int
	DeletionsOfGo, DeletionsOfJVM, CutByTheJVM int
}

func (d *turnsDone) check(tb testing.TB) {
	tb.Helper()
	for _, n := range []int{
		d.ByGo, d.ByJVM, d.Batches, d.Hurried, d.SnapshotsOfGo, d.SnapshotsOfJVM, d.DeletionsOfGo, d.DeletionsOfJVM, d.CutByTheJVM,
	} {
		if n == 0 {
			tb.Errorf("%+v: something was never done", *d)
		}
	}
}

// takeLedgerTurns takes turns on several ledgers.
func takeLedgerTurns(t *testing.T, s *service, random *rand.Rand, turns int, again string, done *turnsDone) {
	t.Helper()
	inGo := randomRetention(random)
	saved, recovered := make(chan entity.Snapshot, turnsOfLedgers), make(chan entity.Recovery, turnsOfLedgers)
	hosted := openLedgers(t, s, inGo, entity.Hook{
		OnSnapshot: func(_ context.Context, s entity.Snapshot) { saved <- s }, OnRecovery: func(_ context.Context, r entity.Recovery) { recovered <- r },
	})
	watched := openLedgers(t, s, retention{})
	j := s.open(t)
	var all []*ledgerTurns
	for range ledgersOfASeed {
		u := &ledgerTurns{
			turns: newTurns(t, s, j), random: random, done: done, hosted: hosted, watched: watched,
			saved: saved, recovered: recovered, inGo: inGo, inJVM: randomRetention(random),
			state: totals{Newest: []string{}},
		}
		u.id = strings.TrimPrefix(u.pid, t.Name()+"|")
		u.did("%s; Go has %v, the JVM %v", again, u.inGo, u.inJVM)
		all = append(all, u)
	}
	for range turns {
		u := all[random.IntN(len(all))]
		if u.byJVMNext {
			u.takeTurnOfJVM()
		} else {
			u.takeTurnOfGo()
		}
		u.byJVMNext = !u.byJVMNext
		u.checkLedger()
	}
}

// openLedgers opens entities, which close with the test.
func openLedgers(t *testing.T, s *service, snapshots retention, hooks ...entity.Hook) *ledgers {
	t.Helper()
	hosted, err := entity.Open(s.open(t), ledgerType(t.Name(), snapshots), entity.Options{Hooks: hooks})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := hosted.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("close the entities: %v", err)
		}
	})
	return hosted
}

func randomRetention(random *rand.Rand) retention {
	const never, mostEvery, mostSnapshots = 6, 20, 3
	if random.IntN(never) == 0 {
		return retention{Keep: 1}
	}
	return retention{random.Int64N(mostEvery) + 2, random.IntN(mostSnapshots) + 1, random.IntN(3) > 0}
}
