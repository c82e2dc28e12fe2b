package entity_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/serialization"
)

// Counter is the state of a counter.
type Counter struct {
	Count   int
	Padding string `json:",omitempty"`
}

type (
	counters    = entity.States[Counter]
	counterTx   = entity.StateTx[Counter]
	counterKind = entity.StateType[Counter]
)

func counterType() counterKind { return counterKind{Name: "counter"} }

// count is a command that adds to a counter, and returns its new value.
func count(by int) func(*counterTx) (int, error) {
	return func(tx *counterTx) (int, error) {
		next := tx.State()
		next.Count += by
		tx.Record(next)
		return next.Count, nil
	}
}

// pad is a command that gives the state a size.
func pad(size int, letter string) func(*counterTx) (int, error) {
	return func(tx *counterTx) (int, error) {
		next := tx.State()
		next.Count, next.Padding = next.Count+1, strings.Repeat(letter, size)
		tx.Record(next)
		return next.Count, nil
	}
}

func counted(tx *counterTx) (int, error) { return tx.State().Count, nil }

// setupStates is setup with the type of the counters.
func setupStates(t testing.TB, options dynajournal.TableOptions, change ...func(*dynajournal.Config)) *bundle {
	t.Helper()
	return setup(t, options, append([]func(*dynajournal.Config){withCounters(t)}, change...)...)
}

// withCounters registers the type of the counters.
func withCounters(t testing.TB) func(*dynajournal.Config) {
	t.Helper()
	return func(c *dynajournal.Config) {
		if err := serialization.JSON[Counter](c.Serialization, "counter"); err != nil {
			t.Fatal(err)
		}
	}
}

// counters opens the counters of a journal, as a process would.
func (b *bundle) counters(options entity.Options, change ...func(*dynajournal.Config)) *counters {
	b.Helper()
	return b.openStates(b.Journal(change...), options)
}

func (b *bundle) openStates(j *dynajournal.Journal, options entity.Options) *counters {
	b.Helper()
	states, err := entity.OpenStates(j, counterType(), options)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := states.Close(ctx); err != nil {
			b.Errorf("Close: %v", err)
		}
	})
	return states
}

// doCount runs a command, which must succeed with a result.
func doCount(
	t testing.TB, s entity.Updater[Counter, Counter], want int, command func(*counterTx) (int, error), opts ...entity.CommandOption,
) entity.Receipt {
	t.Helper()
	var receipt entity.Receipt
	got, err := entity.Do(t.Context(), s, "anna", command, append(opts, entity.Into(&receipt))...)
	if err != nil || got != want {
		t.Fatalf("got %d, %v; want %d", got, err, want)
	}
	return receipt
}

// wantCount checks what View shows.
func wantCount(t testing.TB, s *counters, count int, version int64, opts ...entity.ViewOption) {
	t.Helper()
	var shown Counter
	at, err := s.View(t.Context(), "anna", func(c Counter) error {
		shown = c
		return nil
	}, opts...)
	if err != nil || shown.Count != count || at != version {
		t.Errorf("View: %d at %d, %v; want %d at %d", shown.Count, at, err, count, version)
	}
}

func TestStates_SharedByProcesses(t *testing.T) {
	t.Parallel()
	b := setupStates(t, dynajournal.TableOptions{})
	one, other := b.counters(entity.Options{}), b.counters(entity.Options{})
	wantCount(t, other, 0, 0)
	if r := doCount(t, one, 5, count(5)); r.Version != 1 || r.Events != 1 || r.Commands != 1 {
		t.Errorf("the receipt is %+v", r)
	}
	// The version counts what was recorded; the last one is stored.
	r := doCount(t, one, 7, func(tx *counterTx) (int, error) {
		tx.Record(Counter{Count: 6}, Counter{Count: 7})
		return tx.State().Count, nil
	})
	if r.Version != 3 || r.Events != 2 {
		t.Errorf("the receipt is %+v", r)
	}
	wantCount(t, other, 0, 0, entity.InMemory)
	wantCount(t, other, 7, 3)
	doCount(t, other, 8, count(1))
	wantCount(t, one, 7, 3, entity.InMemory)
	wantCount(t, one, 8, 4)
	wantCount(t, b.counters(entity.Options{}), 8, 4)
}

// The write finds a state that another process has written meanwhile, and the command is decided
// again on it.
func TestStates_ReplaceIsConditional(t *testing.T) {
	t.Parallel()
	b := setupStates(t, dynajournal.TableOptions{})
	one, other := b.counters(entity.Options{}), b.counters(entity.Options{})
	for range 2 { // the first time nothing is stored
		if _, err := other.View(t.Context(), "anna", func(Counter) error { return nil }); err != nil {
			t.Fatal(err)
		}
		before, _ := entity.Do(t.Context(), one, "anna", counted, entity.Fresh())
		doCount(t, one, before+1, count(1))
		doCount(t, other, before+11, count(10))
	}
	wantCount(t, one, 22, 4)
	if conflicts := other.Stats().Conflicts; conflicts != 2 {
		t.Errorf("%d conflicts, want 2", conflicts)
	}
}

func TestContentionOverAStateEndsAfterTheAttempts(t *testing.T) {
	t.Parallel()
	b := setupStates(t, dynajournal.TableOptions{})
	one, other := b.counters(entity.Options{Attempts: 3}), b.counters(entity.Options{})
	_, err := entity.Do(t.Context(), one, "anna", func(tx *counterTx) (int, error) {
		if _, err := entity.Do(t.Context(), other, "anna", count(1)); err != nil {
			return 0, err
		}
		return count(100)(tx)
	})
	contended, ok := errors.AsType[*entity.ContendedError](err)
	if !ok || contended.Attempts != 3 || !errors.Is(err, dynajournal.ErrWriterConflict) {
		t.Errorf("Do: %v, want three attempts", err)
	}
	wantCount(t, one, 3, 3)
}

// The cost of a write is exact: one write unit up to 1 KB, in every kind of journal, and no read.
func TestStateCostsOneUnitAWrite(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]dynajournal.TableOptions{"native": {}, "shared": {SharedWithJVM: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setupStates(t, options)
			states := b.counters(entity.Options{})
			spent := func(do func()) string {
				before := b.Engine.Counters()
				do()
				after := b.Engine.Counters()
				requests, read, write := int64(0), 0.0, 0.0
				for operation, n := range after.Requests {
					requests += n - before.Requests[operation]
				}
				for table, u := range after.Units {
					read += u.Read - before.Units[table].Read
					write += u.Write - before.Units[table].Write
				}
				return fmt.Sprintf("%d requests, %v read, %v write", requests, read, write)
			}
			for _, c := range []struct {
				what, want string
				do         func()
			}{
				{"the first write, with the loading", "2 requests, 1 read, 1 write", func() { doCount(t, states, 1, pad(850, "a")) }},
				{"a write", "1 requests, 0 read, 1 write", func() { doCount(t, states, 2, pad(850, "b")) }},
				{"a larger write", "1 requests, 0 read, 3 write", func() { doCount(t, states, 3, pad(2500, "c")) }},
				{"a command that records nothing", "0 requests, 0 read, 0 write", func() { doCount(t, states, 3, counted) }},
				{"a view", "1 requests, 1 read, 0 write", func() { wantCount(t, states, 3, 3) }},
				{"a view in memory", "0 requests, 0 read, 0 write", func() { wantCount(t, states, 3, 3, entity.InMemory) }},
				{"a purge", "3 requests, 2 read, 3 write", func() {
					if err := states.Purge(t.Context(), "anna"); err != nil {
						t.Fatal(err)
					}
				}},
			} {
				if got := spent(c.do); got != c.want {
					t.Errorf("%s: %s; want %s", c.what, got, c.want)
				}
			}
		})
	}
}

// While a put is in flight, the next commands are decided on its state, and are written with one
// put. Views show only durable states.
func TestStates_CommandsJoinDuringPut(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]dynajournal.TableOptions{"native": {}, "shared": {SharedWithJVM: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := &gate{}
			b := setupStates(t, options, single, g.install)
			states := b.counters(entity.Options{})
			doCount(t, states, 1, count(1))
			arrived, release := g.block()
			t.Cleanup(release)
			var calls sync.WaitGroup
			send := func(want, more int) {
				decided := make(chan struct{})
				once := sync.OnceFunc(func() { close(decided) })
				calls.Go(func() {
					got, err := entity.Do(context.Background(), states, "anna", func(tx *counterTx) (int, error) {
						defer once()
						if more == 0 {
							return tx.State().Count, nil
						}
						return count(more)(tx)
					})
					if got != want || err != nil {
						t.Errorf("got %d, %v; want %d", got, err, want)
					}
				})
				<-decided
			}
			send(2, 1)
			<-arrived
			send(3, 1)
			send(4, 1)
			send(5, 1)
			send(5, 0) // it is decided once the command before it is in a write
			wantCount(t, states, 1, 1, entity.InMemory)
			wantCount(t, states, 1, 1, entity.MaxAge(time.Hour))
			release()
			calls.Wait()
			wantCount(t, states, 5, 5, entity.InMemory)
			if stats := states.Stats(); stats.Writes != 3 || stats.Events != 5 {
				t.Errorf("%d writes of %d states, want 3 of 5", stats.Writes, stats.Events)
			}
		})
	}
}

func TestRepeatOfACommandOnAStateIsADuplicate(t *testing.T) {
	t.Parallel()
	b := setupStates(t, dynajournal.TableOptions{}, func(c *dynajournal.Config) { c.EventMetadata = dynajournal.EventMetadataOff })
	one, other := b.counters(entity.Options{}), b.counters(entity.Options{})
	doCount(t, one, 1, count(1), entity.CommandID("c-0"))
	for i := 1; i <= 19; i++ {
		doCount(t, one, i+1, count(1), entity.CommandID(fmt.Sprint("c-", i)))
	}
	for _, states := range []*counters{one, other, b.counters(entity.Options{})} {
		_, err := entity.Do(t.Context(), states, "anna", count(1), entity.CommandID("c-0"))
		if duplicate, ok := errors.AsType[*entity.DuplicateError](err); !ok || duplicate.Version != 1 {
			t.Errorf("the repeat: %v, want a duplicate of version 1", err)
		}
	}
	doCount(t, other, 21, count(1)) // a write without an id retains them
	if _, err := entity.Do(t.Context(), one, "anna", count(1), entity.CommandID("c-0")); !errors.Is(err, entity.ErrDuplicate) {
		t.Errorf("the repeat: %v", err)
	}
	// The last 20 ids are remembered.
	doCount(t, one, 22, count(1), entity.CommandID("c-20"))
	doCount(t, b.counters(entity.Options{}), 23, count(1), entity.CommandID("c-0"))
}

func TestCommandIsDecidedAtTheVersionOfAState(t *testing.T) {
	t.Parallel()
	b := setupStates(t, dynajournal.TableOptions{})
	states := b.counters(entity.Options{})
	doCount(t, states, 1, count(1), entity.At(0))
	_, err := entity.Do(t.Context(), states, "anna", count(1), entity.At(0))
	if at, ok := errors.AsType[*dynajournal.VersionError](err); !ok || at.Last != 1 {
		t.Errorf("Do: %v", err)
	}
	doCount(t, b.counters(entity.Options{}), 2, count(1), entity.At(1))
	doCount(t, states, 3, count(1), entity.At(2)) // it checks for news before it refuses
}

// A state is not a persistence id of the journal, and does not share items with one.
func TestStatesAreNotPartOfTheJournal(t *testing.T) {
	t.Parallel()
	b := setupStates(t, dynajournal.TableOptions{})
	j := b.Journal()
	states := b.openStates(j, entity.Options{})
	doCount(t, states, 1, pad(500_000, "a"))
	for id, err := range j.CurrentPersistenceIDs(t.Context(), dynajournal.IDsOptions{}) {
		t.Errorf("listed: %v, %v", id, err)
	}
	if _, ok, err := j.LoadSnapshot(t.Context(), "counter|anna", dynajournal.SnapshotCriteria{}); ok || err != nil {
		t.Errorf("a snapshot: %v, %v", ok, err)
	}
	w, err := j.Recover(t.Context(), "counter|anna", dynajournal.RecoverOptions{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Append(t.Context(), "event"); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Purge(t.Context(), dynajournal.PurgeOptions{}); err != nil {
		t.Fatal(err)
	}
	wantCount(t, b.counters(entity.Options{}), 1, 1)
}

func TestThrottledPutFails(t *testing.T) {
	t.Parallel()
	b := setupStates(t, dynajournal.TableOptions{}, single)
	states := b.counters(entity.Options{})
	doCount(t, states, 1, count(1))
	stop, err := b.Engine.Inject(embedded.Fault{Effect: embedded.EffectThrottling, Operation: "PutItem"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = entity.Do(t.Context(), states, "anna", count(1))
	if wantError(t, "Do", err, dynajournal.ErrThrottled); dynajournal.MaybeApplied(err) {
		t.Error("it is reported as maybe applied")
	}
	stop()
	doCount(t, states, 2, count(1))
}
