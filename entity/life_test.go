package entity_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/internal/explore"
)

func TestIdleEntitiesAreDropped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t, dynajournal.TableOptions{})
		a := b.open(b.Journal(), accountType(), entity.Options{IdleTimeout: time.Minute})
		for i := range 10 {
			do(t, a, fmt.Sprint("id-", i), deposit(1))
		}
		time.Sleep(40 * time.Second) // in the bubble
		do(t, a, "id-3", deposit(1))
		time.Sleep(40 * time.Second) // in the bubble
		if s := a.Stats(); s.Loaded != 1 || s.Dropped != 9 {
			t.Errorf("%+v, want the one that was used to be loaded", s)
		}
		time.Sleep(2 * time.Minute) // in the bubble
		if s := a.Stats(); s.Loaded != 0 {
			t.Errorf("%+v, want none to be loaded", s)
		}
		if got := do(t, a, "id-3", deposit(1)); got != 3 {
			t.Errorf("the balance is %d, want 3", got)
		}
	})
}

func TestMaxEntities_LeastRecentlyUsedIsDropped(t *testing.T) {
	t.Parallel()
	b := setup(t, dynajournal.TableOptions{})
	a := b.open(b.Journal(), accountType(), entity.Options{MaxEntities: 4})
	for round := range 3 {
		for i := range 20 {
			if got := do(t, a, fmt.Sprint("id-", i), deposit(1)); got != round+1 {
				t.Fatalf("the balance is %d, want %d", got, round+1)
			}
			do(t, a, "hot", balance)
		}
	}
	// The entity that is used all the time is loaded once.
	if s := a.Stats(); s.Loaded > 4 || s.Recoveries != 61 {
		t.Errorf("%+v, want 4 to be loaded, and 61 recoveries", s)
	}
}

// An entity in use is not dropped, regardless of the limit.
func TestBusyEntityIsNotDropped(t *testing.T) {
	t.Parallel()
	p := newPipeline(t, dynajournal.TableOptions{}, accountType(), func(o *entity.Options) { o.MaxEntities = 1 })
	p.block()
	p.start("behind", withdraw(40))
	for i := range 5 {
		do(t, p.hosted, fmt.Sprint("id-", i), deposit(1))
	}
	if s := p.hosted.Stats(); s.Loaded != 2 {
		t.Fatalf("%+v, want the busy one and the last one to be loaded", s)
	}
	p.release()
	p.want(answer{"held", 100, nil}, answer{"behind", 60, nil})
	if got := do(t, p.hosted, "anna", balance); got != 60 {
		t.Errorf("the balance is %d, want 60", got)
	}
}

func TestClose_FinishesAcceptedCommands(t *testing.T) {
	t.Parallel()
	p := newPipeline(t, dynajournal.TableOptions{}, accountType(), nil)
	p.block()
	p.start("behind", deposit(1))
	closed := make(chan error, 1)
	go func() { closed <- p.hosted.Close(context.Background()) }()
	for { // Close has started when this is refused
		_, err := p.hosted.View(t.Context(), "bob", func(Account) error { return nil })
		if errors.Is(err, entity.ErrClosed) {
			break
		}
	}
	p.release()
	p.want(answer{"held", 100, nil}, answer{"behind", 101, nil})
	if err := <-closed; err != nil {
		t.Errorf("Close: %v", err)
	}
	if s := p.hosted.Stats(); s.Waiting != 0 {
		t.Errorf("%+v, want none to wait", s)
	}
}

func TestClose_ContextEnds(t *testing.T) {
	t.Parallel()
	p := newPipeline(t, dynajournal.TableOptions{}, accountType(), func(o *entity.Options) { o.Join.Mode = entity.JoinOff })
	p.block()
	p.start("behind", deposit(1))
	p.send("waiting", deposit(1))
	for p.hosted.Stats().Waiting < 3 {
		do(t, p.hosted, "other", balance)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	wantError(t, "Close", p.hosted.Close(ctx), context.Canceled)
	p.want(answer{"held", 0, entity.ErrOutcomeUnknown}, answer{"behind", 0, entity.ErrClosed}, answer{"waiting", 0, entity.ErrClosed})
}

func TestPurgeRemovesALoadedEntity(t *testing.T) {
	t.Parallel()
	b := setup(t, dynajournal.TableOptions{})
	a, other := b.accounts(), b.accounts()
	do(t, a, "anna", deposit(10), entity.CommandID("c-1"))
	if got, _ := view(t, other, "anna"); got != 10 {
		t.Errorf("the other shows %d, want 10", got)
	}
	if err := a.Purge(t.Context(), "anna"); err != nil {
		t.Fatal(err)
	}
	if got := do(t, a, "anna", deposit(1), entity.CommandID("c-1")); got != 1 {
		t.Errorf("the balance is %d after a purge, want 1", got)
	}
	if got, _ := view(t, other, "anna"); got != 1 {
		t.Errorf("the other shows %d after a purge, want 1", got)
	}
	if err := other.Purge(t.Context(), "nobody"); err != nil {
		t.Errorf("Purge of an entity that never was: %v", err)
	}
}

// A purge drops the entity when it is done. A view that has waited meanwhile loads it again.
func TestViewThatWaitsForAPurgeEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := setup(t, dynajournal.TableOptions{})
		net := explore.NewNetwork(b.Engine.Transport())
		a := b.open(b.Journal(func(c *dynajournal.Config) { c.AWS.HTTPClient = net.Client("host") }), accountType(), entity.Options{})
		do(t, b.accounts(), "anna", deposit(10))
		net.Block("host")
		purged := make(chan error, 1)
		go func() { purged <- a.Purge(context.Background(), "anna") }()
		synctest.Wait()
		shown := make(chan int, 1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		go func() {
			defer close(shown)
			_, err := a.View(ctx, "anna", func(a Account) error { shown <- a.Balance; return nil })
			if err != nil {
				t.Error(err)
			}
		}()
		synctest.Wait()
		net.Free("host")
		if err := <-purged; err != nil {
			t.Fatal(err)
		}
		if got := <-shown; got != 0 {
			t.Errorf("the view shows %d after the purge, want 0", got)
		}
	})
}

// A view checks for news while its process purges the entity, and finds the fence of the purge. The
// reads that would follow are answered after the purge has ended.
func TestViewDuringAPurgeDoesNotBringTheStateBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := setup(t, dynajournal.TableOptions{})
		net := explore.NewNetwork(b.Engine.Transport())
		a := b.open(b.Journal(func(c *dynajournal.Config) { c.AWS.HTTPClient = net.Client("host") }), accountType(), entity.Options{})
		do(t, a, "anna", deposit(10))
		net.Block("host")
		purged := make(chan error, 1)
		go func() { purged <- a.Purge(context.Background(), "anna") }()
		isFence := func(r *explore.Request) bool { return r.Operation == "PutItem" }
		deliverUntil(net, isFence)
		synctest.Wait()
		ofPurge := net.Pending()
		shown := make(chan error, 1)
		go func() {
			_, err := a.View(context.Background(), "anna", func(Account) error { return nil })
			shown <- err
		}()
		answers := answeredLate(net, ofPurge)
		for len(purged) == 0 {
			synctest.Wait()
			for _, r := range net.Pending() {
				net.Deliver(r)
			}
		}
		for _, answer := range answers {
			answer()
		}
		net.Free("host")
		if err := errors.Join(<-purged, <-shown); err != nil {
			t.Error(err)
		}
		if got := do(t, a, "anna", balance); got != 0 {
			t.Errorf("a command after the purge reads %d, want 0", got)
		}
		if got, _ := view(t, a, "anna", entity.InMemory); got != 0 {
			t.Errorf("memory shows %d after the purge, want 0", got)
		}
	})
}

// deliverUntil delivers requests until one of them is the last.
func deliverUntil(net *explore.Network, last func(*explore.Request) bool) {
	for found := false; !found; {
		synctest.Wait()
		for _, r := range net.Pending() {
			found = found || last(r)
			net.Deliver(r)
		}
	}
}

// answeredLate lets a view check for news and start to read, while the requests in others wait. The
// functions that it returns answer the reads.
func answeredLate(net *explore.Network, others []*explore.Request) (answers []func()) {
	for step := range 4 {
		synctest.Wait()
		for _, r := range net.Pending() {
			switch {
			case slices.Contains(others, r):
			case step < 2:
				net.Deliver(r)
			default:
				_, _, answer := net.Perform(r)
				answers, others = append(answers, answer), append(others, r)
			}
		}
	}
	return answers
}

// leaving is a context that ends, but whose Err blocks until answer is closed.
type leaving struct {
	context.Context

	done, answer chan struct{}
}

func (l *leaving) Done() <-chan struct{} { return l.done }

func (l *leaving) Err() error {
	<-l.answer
	return context.Canceled
}

// The caller of a purge leaves at the moment when the purge gets the turn. A view that waits for
// the purge continues.
func TestView_CallerOfPurgeLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{}
		b := setup(t, dynajournal.TableOptions{}, g.install)
		a := b.accounts()
		do(t, a, "anna", deposit(10))
		arrived, release := g.block()
		wrote := make(chan error, 1)
		go func() {
			_, err := entity.Do(context.Background(), a, "anna", deposit(1))
			wrote <- err
		}()
		<-arrived
		ctx := &leaving{context.Background(), make(chan struct{}), make(chan struct{})}
		purged := make(chan error, 1)
		go func() { purged <- a.Purge(ctx, "anna") }()
		synctest.Wait()
		close(ctx.done) // the caller of the purge leaves
		synctest.Wait()
		release() // the purge gets the turn
		if err := <-wrote; err != nil {
			t.Fatal(err)
		}
		do(t, b.accounts(), "anna", deposit(100))
		shown := make(chan int, 1)
		deadline, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		go func() {
			defer close(shown)
			if _, err := a.View(deadline, "anna", func(a Account) error { shown <- a.Balance; return nil }); err != nil {
				t.Error(err)
			}
		}()
		synctest.Wait()
		close(ctx.answer)
		wantError(t, "Purge", <-purged, context.Canceled)
		if got := <-shown; got != 111 {
			t.Errorf("the view shows %d, want 111", got)
		}
	})
}

// An entity that was purged without a trace and written again has other events at the same numbers.
func TestEntityThatWasReplacedIsLoadedAnew(t *testing.T) {
	t.Parallel()
	b := setup(t, dynajournal.TableOptions{})
	a := b.accounts()
	do(t, a, "anna", deposit(10))
	j := b.Journal()
	w, err := j.Recover(t.Context(), "account|anna", dynajournal.RecoverOptions{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Purge(t.Context(), dynajournal.PurgeOptions{Now: true}); err != nil {
		t.Fatal(err)
	}
	do(t, b.accounts(), "anna", deposit(3))
	do(t, b.accounts(), "anna", deposit(4))
	if got := do(t, a, "anna", deposit(1)); got != 8 {
		t.Errorf("the balance is %d, want 8", got)
	}
}

func TestDropLoadsAnEntityAgain(t *testing.T) {
	t.Parallel()
	p := newPipeline(t, dynajournal.TableOptions{}, accountType(), nil)
	p.block()
	dropped := make(chan error, 1)
	go func() { dropped <- p.hosted.Drop(context.Background(), "anna") }()
	p.release()
	p.want(answer{"held", 100, nil})
	if err := <-dropped; err != nil {
		t.Fatal(err)
	}
	if s := p.hosted.Stats(); s.Loaded != 0 {
		t.Errorf("%+v, want none to be loaded", s)
	}
	if got := do(t, p.hosted, "anna", balance); got != 100 {
		t.Errorf("the balance is %d, want 100", got)
	}
}

func TestRecoveriesAreLimited(t *testing.T) {
	t.Parallel()
	b := setup(t, dynajournal.TableOptions{})
	most, now, lock := 0, 0, sync.Mutex{}
	kind := accountType()
	kind.Initial = func(string) Account {
		lock.Lock()
		defer lock.Unlock()
		now++
		most = max(most, now)
		return Account{}
	}
	a := b.open(b.Journal(), kind, entity.Options{MaxRecoveries: 2, Hooks: []entity.Hook{{OnRecovery: func(_ context.Context, _ entity.Recovery) {
		lock.Lock()
		defer lock.Unlock()
		now--
	}}}})
	var wg sync.WaitGroup
	for i := range 30 {
		wg.Go(func() { do(t, a, fmt.Sprint("id-", i), deposit(1)) })
	}
	wg.Wait()
	if most > 2 {
		t.Errorf("%d were loaded at once, want 2 at most", most)
	}
}

// If a caller leaves while its events wait for a write, the events are withdrawn.
func TestUpdate_CallerLeavesBeforeWrite(t *testing.T) {
	t.Parallel()
	p := newPipeline(t, dynajournal.TableOptions{}, accountType(), nil)
	p.block()
	ctx, cancel := context.WithCancel(t.Context())
	decided := make(chan struct{})
	gone := make(chan error, 1)
	go func() {
		_, err := p.hosted.Update(ctx, "anna", func(tx *accountTx) error {
			tx.Record(Deposited{1000})
			close(decided)
			return nil
		})
		gone <- err
	}()
	<-decided
	p.start("behind", withdraw(500))
	cancel()
	err := <-gone
	if wantError(t, "Update", err, context.Canceled); dynajournal.MaybeApplied(err) {
		t.Errorf("%v says that it may be applied", err)
	}
	p.release()
	p.want(answer{"held", 100, nil}, answer{"behind", 0, errInsufficient})
}

// A caller that leaves while its events are being written does not know whether they are stored.
func TestUpdate_CallerLeavesDuringWrite(t *testing.T) {
	t.Parallel()
	p := newPipeline(t, dynajournal.TableOptions{}, accountType(), nil)
	arrived, release := p.gate.block()
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() {
		_, err := entity.Do(ctx, p.hosted, "anna", deposit(1))
		gone <- err
	}()
	<-arrived
	cancel()
	err := <-gone
	if wantError(t, "Do", err, entity.ErrOutcomeUnknown); !dynajournal.MaybeApplied(err) {
		t.Errorf("%v does not say that it may be applied", err)
	}
	wantError(t, "Do", err, context.Canceled)
	release()
	if got := do(t, p.hosted, "anna", balance, entity.Fresh()); got != 1 {
		t.Errorf("the balance is %d, want 1", got)
	}
}
