package entity_test

import (
	"testing"
	"testing/cryptotest"
	"testing/synctest"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/entity"
)

// The tests in this file run two copies of a process, as after a machine was restored from a memory
// image: both copies draw the same random numbers and have the same time. The tests do not run in
// parallel with others, because they replace the source of random numbers of the whole program.

// sameRandom waits until nothing is in progress, and then makes all random numbers depend on seed.
func sameRandom(t *testing.T, seed uint64) {
	t.Helper()
	synctest.Wait()
	cryptotest.SetGlobalRandom(t, seed)
}

// A write by one copy is not mistaken for a write by the other, even if a response to the other was
// lost.
func TestCopiesOfAProcessLoseNoCommand(t *testing.T) { //nolint:paralleltest // see above
	for name, lost := range map[string]bool{"both writes arrive": false, "a request is lost": true} {
		t.Run(name, func(t *testing.T) { //nolint:paralleltest // see above
			synctest.Test(t, func(t *testing.T) {
				b := setup(t, dynajournal.TableOptions{}, single)
				g := &gate{}
				open := func(change ...func(*dynajournal.Config)) *accounts {
					sameRandom(t, 1)
					a := b.open(b.Journal(change...), accountType(), entity.Options{})
					do(t, a, "anna", balance)
					return a
				}
				one, other := open(), open(g.install)
				sameRandom(t, 2)
				do(t, one, "anna", deposit(5), entity.CommandID("c-1"))
				if lost {
					g.lose(false)
				}
				sameRandom(t, 2)
				if got := do(t, other, "anna", deposit(5), entity.CommandID("c-2")); got != 10 {
					t.Errorf("the balance is %d, want 10", got)
				}
				if got := do(t, one, "anna", balance, entity.Fresh()); got != 10 {
					t.Errorf("the balance is %d, want 10: an acknowledged command is lost", got)
				}
				synctest.Wait()
			})
		})
	}
}

// The same applies to durable states, even if another process has replaced the state that a copy
// has stored, and to states that are split.
func TestCopiesOfAProcessLoseNoState(t *testing.T) { //nolint:paralleltest // see above
	for name, c := range map[string]struct{ lost, replaced, split bool }{
		"both puts arrive":                   {false, false, false},
		"both puts arrive, split":            {false, false, true},
		"a request is lost":                  {true, false, false},
		"a request is lost, split":           {true, false, true},
		"it is lost, and others have put":    {true, true, false},
		"both arrive, and others have put":   {false, true, false},
		"others have put as well, and split": {true, true, true},
	} {
		t.Run(name, func(t *testing.T) { //nolint:paralleltest // see above
			synctest.Test(t, func(t *testing.T) {
				b := setupStates(t, dynajournal.TableOptions{}, single, smallItems)
				doCount(t, b.counters(entity.Options{}), 1, count(1))
				g := &gate{}
				open := func(change ...func(*dynajournal.Config)) *counters {
					sameRandom(t, 1)
					s := b.counters(entity.Options{}, change...)
					doCount(t, s, 1, counted)
					return s
				}
				one, other := open(), open(g.install)
				command := func(letter string) func(*counterTx) (int, error) {
					size := 1
					if c.split {
						size = 3000
					}
					return pad(size, letter)
				}
				sameRandom(t, 2)
				doCount(t, one, 2, command("a"))
				want := 3
				if c.replaced {
					sameRandom(t, 3)
					doCount(t, b.counters(entity.Options{}), want, command("b"))
					want++
				}
				if c.lost {
					g.lose(false)
				}
				sameRandom(t, 2)
				doCount(t, other, want, command("c"))
				doCount(t, one, want, counted, entity.Fresh())
				wantCount(t, b.counters(entity.Options{}), want, int64(want))
				synctest.Wait()
			})
		})
	}
}
