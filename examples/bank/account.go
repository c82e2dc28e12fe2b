package main

import (
	"errors"

	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/serialization"
)

// Account is the state of an account. Amounts are in cents.
type Account struct{ Balance int64 }

// Event is what happens to an account.
type Event interface{ apply(a Account) Account }

// The events: money came in, or went out.
type (
	Deposited struct{ Amount int64 }
	Withdrawn struct{ Amount int64 }
)

func (e Deposited) apply(a Account) Account { return Account{a.Balance + e.Amount} }
func (e Withdrawn) apply(a Account) Account { return Account{a.Balance - e.Amount} }

// accountType says how the state follows from the events. It is saved after every 100 of them.
var accountType = entity.Type[Account, Event]{
	Name:      "account",
	Evolve:    func(a Account, event Event) Account { return event.apply(a) },
	Snapshots: entity.Snapshots{Every: 100},
}

var errInsufficient = errors.New("the balance is too low")

func deposit(tx *entity.Tx[Account, Event], amount int64) error {
	tx.Record(Deposited{amount})
	return nil
}

func withdraw(tx *entity.Tx[Account, Event], amount int64) error {
	if tx.State().Balance < amount {
		return errInsufficient
	}
	tx.Record(Withdrawn{amount})
	return nil
}

// registry has the names under which events and states are stored.
func registry() (*serialization.Registry, error) {
	r := serialization.NewRegistry()
	return r, errors.Join(
		serialization.JSON[Deposited](r, "deposited"),
		serialization.JSON[Withdrawn](r, "withdrawn"),
		serialization.JSON[Account](r, "account"),
	)
}
