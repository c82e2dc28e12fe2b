package entity_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/internal/explore"
)

// withBlockedAccounts runs a test with accounts whose requests can be blocked, and with the
// accounts of another process.
func withBlockedAccounts(t *testing.T, options entity.Options, test func(t *testing.T, net *explore.Network, a, other *accounts)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t, dynajournal.TableOptions{})
		net := explore.NewNetwork(b.Engine.Transport())
		a := b.open(b.Journal(func(c *dynajournal.Config) { c.AWS.HTTPClient = net.Client("host") }), accountType(), options)
		other := b.accounts()
		test(t, net, a, other)
		net.Free("host")
		for _, hosted := range []*accounts{a, other} {
			if err := hosted.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
}

// The deadline is not the deadline of the caller, so it has an error of its own. The next call
// tries again.
func TestRecoveryTimeout_HasItsOwnError(t *testing.T) {
	t.Parallel()
	recovered := make(chan entity.Recovery, 10)
	options := entity.Options{
		RecoveryTimeout: 5 * time.Second, MaxRecoveries: 1,
		Hooks: []entity.Hook{{OnRecovery: func(_ context.Context, r entity.Recovery) { recovered <- r }}},
	}
	withBlockedAccounts(t, options, func(t *testing.T, net *explore.Network, a, other *accounts) {
		do(t, other, "anna", deposit(1))
		net.Block("host")
		start := time.Now()
		_, err := entity.Do(t.Context(), a, "anna", deposit(1))
		wantError(t, "Do", err, entity.ErrRecoveryTimeout)
		if took := time.Since(start); took != 5*time.Second || dynajournal.MaybeApplied(err) {
			t.Errorf("%v after %v, want nothing to be applied after 5s", err, took)
		}
		synctest.Wait() // so that the view starts another recovery
		_, err = a.View(t.Context(), "anna", func(Account) error { return nil })
		wantError(t, "View", err, entity.ErrRecoveryTimeout)
		for range 2 {
			if r := <-recovered; r.PersistenceID != "account|anna" || r.Version != 0 {
				t.Errorf("a hook got %+v", r)
			} else {
				wantError(t, "a hook", r.Err, entity.ErrRecoveryTimeout)
			}
		}
		net.Free("host")
		if got := do(t, a, "anna", deposit(1)); got != 2 {
			t.Errorf("the balance is %d, want 2", got)
		}
		if r := <-recovered; r.Err != nil || r.Version != 1 || r.Events != 1 {
			t.Errorf("a hook got %+v, want version 1", r)
		}
	})
}

// A caller's own deadline ends only the call. Loading continues for others.
func TestRecoveryTimeout_CallerDeadline(t *testing.T) {
	t.Parallel()
	withBlockedAccounts(t, entity.Options{}, func(t *testing.T, net *explore.Network, a, _ *accounts) {
		net.Block("host")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := entity.Do(ctx, a, "anna", deposit(1))
		if wantError(t, "Do", err, context.DeadlineExceeded); dynajournal.MaybeApplied(err) {
			t.Errorf("%v says that it may be applied", err)
		}
		net.Free("host")
		synctest.Wait()
		if s := a.Stats(); s.Recoveries != 1 || s.Loaded != 1 {
			t.Errorf("%+v, want the entity to be loaded", s)
		}
	})
}

// A command's own error is returned unchanged, although the command has waited for the entity to be
// loaded.
func TestCommands_WaitForLoadInOrder(t *testing.T) {
	t.Parallel()
	withBlockedAccounts(t, entity.Options{}, func(t *testing.T, net *explore.Network, a, other *accounts) {
		do(t, other, "anna", deposit(10))
		net.Block("host")
		const commands = 5
		answers := make(chan answer, commands)
		for i := range commands {
			go func() {
				got, err := entity.Do(t.Context(), a, "anna", withdraw(3))
				answers <- answer{fmt.Sprint(i), got, err}
			}()
			synctest.Wait()
		}
		net.Free("host")
		want := []answer{{"0", 7, nil}, {"1", 4, nil}, {"2", 1, nil}, {"3", 0, errInsufficient}, {"4", 0, errInsufficient}}
		for range want {
			if got := <-answers; !slices.Contains(want, got) { // the error is the command's itself
				t.Errorf("got %+v, want one of %+v", got, want)
			}
		}
	})
}

// A recovery that fails, or whose caller has gone, makes room for the next recovery.
func TestMaxRecoveries_AfterFailedLoad(t *testing.T) {
	t.Parallel()
	b := setup(t, dynajournal.TableOptions{}, single)
	for _, id := range []string{"anna", "bob"} {
		do(t, b.accounts(), id, deposit(1))
	}
	kind := accountType()
	kind.Initial = func(id string) Account {
		if id == "anna" {
			panic("no such account")
		}
		return Account{}
	}
	a := b.open(b.Journal(), kind, entity.Options{MaxRecoveries: 1})
	for range 3 {
		_, err := entity.Do(t.Context(), a, "anna", balance)
		wantError(t, "Do", err, entity.ErrPanic)
		stop, err := b.Engine.Inject(embedded.Fault{Effect: embedded.EffectThrottling, Times: 1})
		if err != nil {
			t.Fatal(err)
		}
		_, err = entity.Do(t.Context(), a, "bob", balance, entity.Fresh())
		wantError(t, "Do", err, dynajournal.ErrThrottled)
		stop()
		if err := a.Drop(t.Context(), "bob"); err != nil {
			t.Fatal(err)
		}
	}
	if got := do(t, a, "bob", deposit(1)); got != 2 {
		t.Errorf("the balance is %d, want 2", got)
	}
}
