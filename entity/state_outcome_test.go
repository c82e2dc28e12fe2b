package entity_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/entity"
)

// A put whose response is lost is found, even if others have replaced the state since.
func TestLostPut_OutcomeIsFound(t *testing.T) {
	t.Parallel()
	for _, others := range []int{0, 1, 15} {
		t.Run(fmt.Sprint(others, " others"), func(t *testing.T) {
			t.Parallel()
			g := &gate{}
			b := setupStates(t, dynajournal.TableOptions{})
			states := b.counters(entity.Options{}, single, g.install)
			doCount(t, states, 1, count(1))
			g.at(func(_ *httpRequest, send sender) (*httpResponse, error) {
				response, err := send()
				if err != nil {
					return nil, err
				}
				_ = response.Body.Close()
				for i := range others {
					doCount(t, b.counters(entity.Options{}), 12+i, count(1))
				}
				return nil, errLost
			})
			runs := 0
			r := doCount(t, states, 11, func(tx *counterTx) (int, error) {
				runs++
				return count(10)(tx)
			})
			if runs != 1 || r.Version != 2 {
				t.Errorf("%d runs, receipt %+v", runs, r)
			}
			doCount(t, states, 12+others, count(1))
		})
	}
}

// A lost put can arrive after the command was decided again. It must not be stored.
func TestLostPut_ArrivesLate(t *testing.T) {
	t.Parallel()
	for _, before := range []int{0, 50} {
		t.Run(fmt.Sprint("after ", before), func(t *testing.T) {
			t.Parallel()
			g := &gate{}
			b := setupStates(t, dynajournal.TableOptions{}, single, g.install)
			states := b.counters(entity.Options{})
			if before > 0 {
				doCount(t, states, before, count(before))
			}
			var late sender
			g.at(func(r *httpRequest, _ sender) (*httpResponse, error) {
				late = detached(r, g.inner)
				return nil, errLost
			})
			runs := 0
			_, err := entity.Do(t.Context(), states, "anna", func(tx *counterTx) (int, error) {
				if runs++; runs > 1 {
					return 0, errInsufficient // the rule has changed meanwhile
				}
				return count(-30)(tx)
			})
			if wantError(t, "Do", err, errInsufficient); runs != 2 {
				t.Errorf("%d runs, want 2", runs)
			}
			response, err := late()
			if err != nil {
				t.Fatal(err)
			}
			_ = response.Body.Close()
			wantCount(t, states, before, int64(min(before, 1)))
			doCount(t, states, before+1, count(1))
			wantCount(t, b.counters(entity.Options{}), before+1, int64(min(before, 1))+1)
		})
	}
}

// The item names its last 16 writers. If more have replaced it, the outcome is unknown.
func TestLostPut_ReplacedByManyWriters(t *testing.T) {
	t.Parallel()
	g := &gate{}
	b := setupStates(t, dynajournal.TableOptions{})
	states := b.counters(entity.Options{}, single, g.install)
	doCount(t, states, 1, count(1))
	g.at(func(*httpRequest, sender) (*httpResponse, error) {
		for i := range 17 {
			doCount(t, b.counters(entity.Options{}), 2+i, count(1))
		}
		return nil, errLost
	})
	_, err := entity.Do(t.Context(), states, "anna", count(100))
	if wantError(t, "Do", err, entity.ErrOutcomeUnknown); !dynajournal.MaybeApplied(err) {
		t.Error("it is not reported as maybe applied")
	}
	doCount(t, states, 19, count(1))
}

// While no requests get through, the outcome stays unknown. The repeated command is done once.
func TestLostPut_OutcomeStaysUnknown(t *testing.T) {
	t.Parallel()
	for _, stored := range []bool{false, true} {
		t.Run(fmt.Sprint("stored ", stored), func(t *testing.T) {
			t.Parallel()
			b := setupStates(t, dynajournal.TableOptions{}, single)
			states := b.counters(entity.Options{})
			doCount(t, states, 1, count(1))
			var stops []func()
			for _, fault := range []embedded.Fault{
				{Effect: embedded.EffectReset, Operation: "PutItem", Applied: stored},
				{Effect: embedded.EffectReset, Operation: "GetItem"},
			} {
				stop, err := b.Engine.Inject(fault)
				if err != nil {
					t.Fatal(err)
				}
				stops = append(stops, stop)
			}
			_, err := entity.Do(t.Context(), states, "anna", count(10), entity.CommandID("c-1"))
			wantError(t, "Do", err, entity.ErrOutcomeUnknown)
			for _, stop := range stops {
				stop()
			}
			_, err = entity.Do(t.Context(), states, "anna", count(10), entity.CommandID("c-1"))
			if stored {
				wantError(t, "the repeat", err, entity.ErrDuplicate)
			} else if err != nil {
				t.Error(err)
			}
			wantCount(t, states, 11, 2)
		})
	}
}

// A purge retains the version, so that puts in flight are refused, and other processes notice the
// purge.
func TestPurgeOfAStateKeepsItsVersion(t *testing.T) {
	t.Parallel()
	g := &gate{}
	b := setupStates(t, dynajournal.TableOptions{})
	states, other := b.counters(entity.Options{}, single, g.install), b.counters(entity.Options{})
	if err := states.Purge(t.Context(), "anna"); err != nil { // nothing is stored
		t.Fatal(err)
	}
	wantCount(t, states, 0, 0)
	var late sender
	g.at(func(r *httpRequest, _ sender) (*httpResponse, error) {
		late = detached(r, g.inner)
		return late() //nolint:bodyclose // the journal closes it
	})
	doCount(t, states, 5, count(5), entity.CommandID("c-1"))
	wantCount(t, other, 5, 1)
	if err := states.Purge(t.Context(), "anna"); err != nil {
		t.Fatal(err)
	}
	if err := states.Purge(t.Context(), "anna"); err != nil { // again
		t.Fatal(err)
	}
	response, err := late() // the put that has created the item, once more
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	wantCount(t, states, 0, 2)
	doCount(t, other, 1, count(1)) // it still has the purged state in memory
	wantCount(t, states, 1, 3)
	doCount(t, states, 6, count(5), entity.CommandID("c-1")) // its id is also purged
}

// Another process replaces and purges the state while a put is lost.
func TestLostPut_PurgedMeanwhile(t *testing.T) {
	t.Parallel()
	for _, stored := range []bool{false, true} {
		t.Run(fmt.Sprint("stored ", stored), func(t *testing.T) {
			t.Parallel()
			g := &gate{}
			b := setupStates(t, dynajournal.TableOptions{})
			states, other := b.counters(entity.Options{}, single, g.install), b.counters(entity.Options{})
			doCount(t, states, 1, count(1))
			g.at(func(_ *httpRequest, send sender) (*httpResponse, error) {
				if stored {
					response, err := send()
					if err != nil {
						return nil, err
					}
					_ = response.Body.Close()
				}
				if err := other.Purge(context.Background(), "anna"); err != nil {
					t.Error(err)
				}
				return nil, errLost
			})
			want, version := 10, int64(3) // decided again
			if stored {
				want, version = 11, 3
			}
			doCount(t, states, want, count(10))
			if stored {
				want = 0
			}
			wantCount(t, states, want, version)
		})
	}
}
