package entity_test

import (
	"context"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/internal/explore"
)

// sealNext seals the next number of an account.
func sealNext(t *testing.T, j *dynajournal.Journal, id string) {
	t.Helper()
	w, err := j.Recover(t.Context(), "account|"+id, dynajournal.RecoverOptions{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if closed, err := core.WriterOf(w).CloseNext(t.Context()); !closed || err != nil {
		t.Fatalf("the next number was sealed: %v, %v", closed, err)
	}
}

// recordOne records an event, and returns the version before and after it.
func recordOne(tx *accountTx) ([2]int64, error) {
	before := tx.Version()
	tx.Record(Deposited{1})
	return [2]int64{before, tx.Version()}, nil
}

// A sealed number has no event, so a version skips it.
func TestTxVersion_AfterSealedNumbers(t *testing.T) {
	t.Parallel()
	b := setup(t, dynajournal.TableOptions{})
	j := b.Journal()
	for name, load := range map[string]func(*accounts) error{
		"loaded by the command": func(*accounts) error { return nil },
		"loaded by a view": func(a *accounts) error {
			_, err := a.View(t.Context(), "loaded by a view", func(Account) error { return nil })
			return err
		},
	} {
		a := b.open(j, accountType(), entity.Options{})
		sealNext(t, j, name)
		if err := load(a); err != nil {
			t.Fatal(err)
		}
		for _, want := range [][2]int64{{0, 2}, {2, 3}} {
			var receipt entity.Receipt
			got, err := entity.Do(t.Context(), a, name, recordOne, entity.Into(&receipt))
			if err != nil || got != want || receipt.Version != want[1] {
				t.Errorf("%s: the command was shown %v, and its receipt is %+v: %v, want %v", name, got, receipt, err, want)
			}
		}
	}
}

// The number is sealed after the state was read, so the write finds the seal.
func TestTxVersion_NumberSealedMeanwhile(t *testing.T) {
	t.Parallel()
	b := setup(t, dynajournal.TableOptions{})
	j := b.Journal()
	a := b.open(j, accountType(), entity.Options{})
	if balance, version := view(t, a, "anna"); balance != 0 || version != 0 {
		t.Fatalf("there are %d at %d", balance, version)
	}
	sealNext(t, j, "anna")
	var receipt entity.Receipt
	got, err := entity.Do(t.Context(), a, "anna", recordOne, entity.Into(&receipt))
	if want := [2]int64{0, 2}; err != nil || got != want || receipt.Version != 2 {
		t.Errorf("the command was shown %v, and its receipt is %+v: %v, want %v", got, receipt, err, want)
	}
}

func TestPurgeAfterAnotherProcessHasWritten(t *testing.T) {
	t.Parallel()
	b := setup(t, dynajournal.TableOptions{})
	first, second := b.open(b.Journal(), accountType(), entity.Options{}), b.open(b.Journal(), accountType(), entity.Options{})
	do(t, first, "anna", deposit(1))
	do(t, second, "anna", deposit(2))
	if err := first.Purge(t.Context(), "anna"); err != nil {
		t.Fatal(err)
	}
	for _, a := range []*accounts{first, second} {
		if balance, _ := view(t, a, "anna"); balance != 0 {
			t.Errorf("%d are left after a purge", balance)
		}
	}
}

// A write is not sent while a command that joins it changes the state of the write: events that
// this command records would be shown as durable.
func TestWrite_WaitsForInPlaceChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{}
		b := setup(t, dynajournal.TableOptions{}, g.install)
		type sums = map[string]int
		hosted, err := entity.Open(b.Journal(), entity.Type[sums, Event]{
			Name: "account", Initial: func(string) sums { return sums{} }, Copy: maps.Clone[sums],
			Evolve: func(s sums, event Event) sums {
				s["sum"] += event.(Deposited).Amount
				return s
			},
		}, entity.Options{})
		if err != nil {
			t.Fatal(err)
		}
		goOn := make(chan struct{})
		run := func(wait <-chan struct{}) {
			go func() {
				_, err := hosted.Update(t.Context(), "anna", func(tx *entity.Tx[sums, Event]) error {
					tx.Record(Deposited{1})
					if wait != nil {
						<-wait
					}
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			}()
			synctest.Wait()
		}
		checkView := func() {
			sum := 0
			version, err := hosted.View(t.Context(), "anna", func(s sums) error {
				sum = s["sum"]
				return nil
			}, entity.InMemory)
			if err != nil || int64(sum) != version {
				t.Errorf("the sum of %d events is %d: %v", version, sum, err)
			}
		}
		_, release := g.block()
		run(nil)
		run(nil)
		run(goOn) // joins the second
		release()
		synctest.Wait()
		checkView()
		close(goOn)
		synctest.Wait()
		checkView()
		if stats := hosted.Stats(); stats.Events != 3 || stats.Waiting != 0 {
			t.Errorf("it counts %+v", stats)
		}
		if err := hosted.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// withTwoProcesses runs a test with two processes. The network can block the requests of the first
// one.
func withTwoProcesses(t *testing.T, test func(t *testing.T, net *explore.Network, first, second *accounts)) {
	t.Helper()
	withTwoKinds(t, accountType(), accountType(), test)
}

// withTwoKinds is withTwoProcesses with a type for each process.
func withTwoKinds(
	t *testing.T, one, other kind, test func(t *testing.T, net *explore.Network, first, second *accounts),
) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t, dynajournal.TableOptions{})
		net := explore.NewNetwork(b.Engine.Transport())
		first := b.open(b.Journal(func(c *dynajournal.Config) { c.AWS.HTTPClient = net.Client("first") }), one, entity.Options{})
		second := b.open(b.Journal(), other, entity.Options{})
		test(t, net, first, second)
		net.Free("first")
		for _, a := range []*accounts{first, second} {
			if err := a.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
}

// After the requests that look for a snapshot, and before the requests that read the events,
// another process saves a snapshot and deletes the events.
func TestLoadingFindsASnapshotThatWasSavedMeanwhile(t *testing.T) {
	for name, own := range map[string]entity.Snapshots{"of a type with snapshots": {Every: 100}, "of one without": {}} {
		t.Run(name, func(t *testing.T) {
			withTwoKinds(t, snapshotsOf(own), snapshotsOf(entity.Snapshots{Every: 2, Keep: 1, DeleteEvents: true}),
				func(t *testing.T, net *explore.Network, first, second *accounts) {
					net.Block("first")
					type shown struct {
						balance int
						version int64
					}
					result := make(chan shown, 1)
					go func() {
						var s shown
						var err error
						if s.version, err = first.View(t.Context(), "anna", func(a Account) error {
							s.balance = a.Balance
							return nil
						}); err != nil {
							t.Error(err)
						}
						result <- s
					}()
					if own.Every > 0 {
						deliver(net, "Query")
					}
					do(t, second, "anna", deposit(1))
					do(t, second, "anna", deposit(1))
					synctest.Wait()
					do(t, second, "anna", deposit(1))
					net.Free("first")
					if s := <-result; s != (shown{3, 3}) {
						t.Errorf("it shows %+v, want 3 at 3", s)
					}
				})
		})
	}
}

func snapshotsOf(snapshots entity.Snapshots) kind {
	k := accountType()
	k.Snapshots = snapshots
	return k
}

// deliver delivers the waiting requests of an operation.
func deliver(net *explore.Network, operation string) {
	synctest.Wait()
	for _, r := range net.Pending() {
		if r.Operation == operation {
			net.Deliver(r)
		}
	}
	synctest.Wait()
}

// The second view starts while the entity catches up for the first one and has already read the
// events. The first view may show the state that the second one requires.
func TestView_CatchUpInProgress(t *testing.T) {
	withTwoProcesses(t, func(t *testing.T, net *explore.Network, first, second *accounts) {
		view(t, first, "anna")
		do(t, second, "anna", deposit(1))
		net.Block("first")
		earlier, later := make(chan int64, 1), make(chan int64, 1)
		report := func(versions chan<- int64) {
			version, err := first.View(t.Context(), "anna", func(Account) error { return nil })
			if err != nil {
				t.Error(err)
			}
			versions <- version
		}
		go report(earlier)
		deliver(net, "GetItem")
		deliver(net, "Query")
		do(t, second, "anna", deposit(1))
		go report(later)
		deliver(net, "GetItem")
		net.Free("first")
		synctest.Wait()
		if version := <-earlier; version != 1 && version != 2 {
			t.Errorf("the earlier view shows version %d, want 1 or 2", version)
		}
		if version := <-later; version != 2 {
			t.Errorf("the later view shows version %d, want 2", version)
		}
	})
}

// A command with Fresh starts while the entity is being loaded for a view and the events were
// already read.
func TestFresh_LoadInProgress(t *testing.T) {
	withTwoProcesses(t, func(t *testing.T, net *explore.Network, first, second *accounts) {
		net.Block("first")
		go func() { _, _ = first.View(t.Context(), "anna", func(Account) error { return nil }) }()
		deliver(net, "Query")
		do(t, second, "anna", deposit(1))
		go func() {
			if got, err := entity.Do(t.Context(), first, "anna", balance, entity.Fresh()); got != 1 || err != nil {
				t.Errorf("a fresh command has read %d, want 1: %v", got, err)
			}
		}()
		synctest.Wait()
		net.Free("first")
	})
}

// After a panic the state is loaded again. This must not lead to an endless sequence of runs.
func TestCommandWithAnIDThatPanicsEnds(t *testing.T) {
	t.Parallel()
	a := setup(t, dynajournal.TableOptions{}).accounts()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	_, err := entity.Do(ctx, a, "anna", func(*accountTx) (int, error) { panic("no") }, entity.CommandID("c-1"))
	wantError(t, "the command", err, entity.ErrPanic)
}
