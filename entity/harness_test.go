package entity_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/internal/enginetest"
	"github.com/dynajournal/dynajournal/internal/testsize"
	"github.com/dynajournal/dynajournal/serialization"
)

func TestMain(m *testing.M) {
	testsize.RelaxCollector()
	goleak.VerifyTestMain(m)
}

// Event is an event of an account.
type Event interface{ event() }

type Deposited struct{ Amount int }

type Withdrawn struct{ Amount int }

func (Deposited) event() {}
func (Withdrawn) event() {}

// Account is the state of an account.
type Account struct {
	Balance int
	Events  int
}

func evolve(a Account, event Event) Account {
	switch e := event.(type) {
	case Deposited:
		a.Balance += e.Amount
	case Withdrawn:
		a.Balance -= e.Amount
	}
	a.Events++
	return a
}

var errInsufficient = errors.New("insufficient funds")

type (
	accounts  = entity.Entities[Account, Event]
	accountTx = entity.Tx[Account, Event]
	kind      = entity.Type[Account, Event]
)

func accountType() kind { return kind{Name: "account", Evolve: evolve} }

// deposit and withdraw are commands that return the new balance.
func deposit(amount int) func(*accountTx) (int, error) {
	return func(tx *accountTx) (int, error) {
		tx.Record(Deposited{amount})
		return tx.State().Balance, nil
	}
}

func withdraw(amount int) func(*accountTx) (int, error) {
	return func(tx *accountTx) (int, error) {
		if tx.State().Balance < amount {
			return tx.State().Balance, errInsufficient
		}
		tx.Record(Withdrawn{amount})
		return tx.State().Balance, nil
	}
}

func balance(tx *accountTx) (int, error) { return tx.State().Balance, nil }

// bundle is an engine with the tables of a journal.
type bundle struct{ *enginetest.Bundle }

func setup(t testing.TB, options dynajournal.TableOptions, change ...func(*dynajournal.Config)) *bundle {
	t.Helper()
	return setupOn(t, options, nil, change...)
}

// setupOn is setup with options of the engine.
func setupOn(
	t testing.TB, options dynajournal.TableOptions, engineOptions []embedded.Option, change ...func(*dynajournal.Config),
) *bundle {
	t.Helper()
	return &bundle{enginetest.Open(t, enginetest.Options{Tables: options, Engine: engineOptions, Config: func(c *dynajournal.Config) {
		c.Serialization = serialization.NewRegistry()
		if err := errors.Join(
			serialization.JSON[Deposited](c.Serialization, "deposited"),
			serialization.JSON[Withdrawn](c.Serialization, "withdrawn"),
			serialization.JSON[Account](c.Serialization, "account"),
		); err != nil {
			t.Fatal(err)
		}
		for _, f := range change {
			f(c)
		}
	}})}
}

// open opens the accounts of a journal.
func (b *bundle) open(j *dynajournal.Journal, kind kind, options entity.Options) *accounts {
	b.Helper()
	a, err := entity.Open(j, kind, options)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := a.Close(ctx); err != nil {
			b.Errorf("Close: %v", err)
		}
	})
	return a
}

// accounts opens the accounts of a native journal with the defaults.
func (b *bundle) accounts() *accounts {
	b.Helper()
	return b.open(b.Journal(), accountType(), entity.Options{})
}

// do runs a command, which must succeed, and returns its result.
func do(t testing.TB, a entity.Updater[Account, Event], id string, command func(*accountTx) (int, error), opts ...entity.CommandOption) int {
	t.Helper()
	result, err := entity.Do(t.Context(), a, id, command, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// view returns the balance and the version that View shows.
func view(t testing.TB, a *accounts, id string, opts ...entity.ViewOption) (int, int64) {
	t.Helper()
	var shown Account
	version, err := a.View(t.Context(), id, func(a Account) error {
		shown = a
		return nil
	}, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return shown.Balance, version
}

// register registers the types of the baskets.
func register(t testing.TB, r *serialization.Registry) {
	t.Helper()
	if err := serialization.JSON[Put](r, "put"); err != nil {
		t.Fatal(err)
	}
}

func wantError(t testing.TB, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: %v, want %v", what, err, want)
	}
}
