package entity_test

import (
	"testing"
	"testing/cryptotest"
	"testing/synctest"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/entity"
)

// The tests of this file have two processes that are copies of one, as after a machine was restored
// from its memory image: both draw the same random numbers, and have the same time. They do not run
// in parallel with other tests, as they replace the source of random numbers of the whole program.

// sameRandom waits until nothing is under way, and then lets a seed determine all random numbers.
func sameRandom(t *testing.T, seed uint64) {
	t.Helper()
	synctest.Wait()
	cryptotest.SetGlobalRandom(t, seed)
}

// What one of two copies has written is not taken for a write of the other, also if a response of
// the other was lost.
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

// The same holds for durable states, also if another process has replaced what the copy has stored,
// and where the states are split.
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
