package systemtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/internal/testsize"
)

// A writer that is refused replaces its stored members with seals. Each seal costs one more write,
// and verify finds nothing.
func TestRefusedAtomicWriteLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, kind := range bothKinds {
		for name, groupCommit := range groupCommits {
			t.Run(kind.name+", "+name, func(t *testing.T) {
				t.Parallel()
				var mu sync.Mutex
				var spent dynajournal.Cost
				j := openFresh(t, kind.opts, func(c *dynajournal.Config) {
					c.GroupCommit = groupCommit
					c.Hooks = []dynajournal.Hook{{OnRequest: func(_ context.Context, r dynajournal.Request) {
						mu.Lock()
						defer mu.Unlock()
						spent = spent.Add(r.Cost)
					}}}
				})
				w := written(t, j, "a", 3)
				stale := recovered(t, j, "a")
				if _, err := w.Append(t.Context(), "wins"); err != nil { // at 4
					t.Fatal(err)
				}
				spent = dynajournal.Cost{}
				_, err := stale.Append(t.Context(), "1", "2", "3", "4", "5")
				if !errors.Is(err, dynajournal.ErrWriterConflict) {
					t.Fatalf("Append of a stale writer: %v", err)
				}
				// Four puts, and a seal for each. DynamoDB also charges for the refused put, but
				// its error does not have the capacity if it is the only put of the request.
				want := 4*(1+kind.index) + 4
				if groupCommit != dynajournal.GroupCommitOff {
					want++
				}
				if spent.WriteUnits != want {
					t.Errorf("it costs %+v, want %g write units", spent, want)
				}
				listing, err := j.List(t.Context(), "a")
				if err != nil || fmt.Sprint(listing.Seals) != "[5 6 7 8]" {
					t.Errorf("seals at %v, %v; want 5 to 8", listing.Seals, err)
				}
				for f, err := range j.VerifyAll(t.Context(), dynajournal.VerifyOptions{}) {
					t.Errorf("verify finds %+v, %v", f, err)
				}
				if got := numbersText(numbersOf(readEvents(t, j, "a", dynajournal.Range{}))); got != "1-4" {
					t.Errorf("events %s, want 1-4", got)
				}
			})
		}
	}
}

// The response to a member is also lost. If the member was stored, it is sealed like the others.
func TestRefusedAtomicWriteWithALostResponseLeavesNothing(t *testing.T) {
	t.Parallel()
	engine := openEngine(t)
	config := dynajournal.Config{AWS: engine.AWSConfig(), GroupCommit: dynajournal.GroupCommitOff, Retries: -1}
	createTables(t, config, dynajournal.TableOptions{})
	j := openJournal(t, config)
	w := written(t, j, "a", 3)
	stale := recovered(t, j, "a")
	if _, err := w.Append(t.Context(), "wins"); err != nil {
		t.Fatal(err)
	}
	lost := embedded.Fault{Effect: embedded.EffectReset, Operation: "PutItem", SortKey: "6", Applied: true, Times: 1}
	if _, err := engine.Inject(lost); err != nil {
		t.Fatal(err)
	}
	_, err := stale.Append(t.Context(), "1", "2", "3", "4", "5")
	if !errors.Is(err, dynajournal.ErrWriterConflict) {
		t.Fatalf("Append of a stale writer: %v", err)
	}
	for f, err := range j.VerifyAll(t.Context(), dynajournal.VerifyOptions{}) {
		t.Errorf("verify finds %+v, %v", f, err)
	}
}

// Three processes contend for entities, with commands of one to five events. Afterwards verify
// finds nothing, because all refused writers have sealed their stored members.
func TestContendingProcessesLeaveNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, contend)
}

func contend(t *testing.T) {
	engine := openEngine(t)
	if _, err := engine.Inject(embedded.Fault{Effect: embedded.EffectSlow, Delay: 5 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	config := dynajournal.Config{AWS: engine.AWSConfig()}
	createTables(t, config, dynajournal.TableOptions{})
	type state = int
	kind := entity.Type[state, string]{Name: "account", Evolve: func(s state, _ string) state { return s + 1 }}
	var processes sync.WaitGroup
	var mu sync.Mutex
	recorded, conflicts := 0, int64(0)
	for p := range 3 {
		processes.Go(func() {
			es, err := entity.Open(openJournal(t, config), kind, entity.Options{})
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = es.Close(context.Background()) }()
			draw := rand.New(rand.NewPCG(1, uint64(p)))
			for range testsize.Of(100, 2000) {
				n := 1 + draw.IntN(5)
				receipt, err := es.Update(t.Context(), fmt.Sprint(draw.IntN(2)), func(tx *entity.Tx[state, string]) error {
					for range n {
						tx.Record("x")
					}
					return nil
				})
				mu.Lock()
				if err == nil {
					recorded += n
				} else if !errors.As(err, new(*entity.ContendedError)) {
					t.Errorf("Update: %v (%+v)", err, receipt)
				}
				mu.Unlock()
			}
			mu.Lock()
			conflicts += es.Stats().Conflicts
			mu.Unlock()
		})
	}
	processes.Wait()
	if conflicts == 0 {
		t.Error("there were no conflicts")
	}
	j := openJournal(t, config)
	for f, err := range j.VerifyAll(t.Context(), dynajournal.VerifyOptions{}) {
		t.Errorf("verify finds %+v, %v", f, err)
	}
	stored := 0
	for _, pid := range []string{"account|0", "account|1"} {
		stored += len(readEvents(t, j, pid, dynajournal.Range{}))
	}
	if stored != recorded {
		t.Errorf("%d events are stored, %d were acknowledged", stored, recorded)
	}
	t.Logf("%d events, %d conflicts", stored, conflicts)
}
