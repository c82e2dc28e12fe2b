package main

import (
	"errors"

	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/serialization"
)

// Account is the state of an account. Amounts are in cents.
type Account struct{ Balance int64 }

// Event is an event of an account.
type Event interface{ apply(a Account) Account }

// The events of an account.
type (
	Deposited struct{ Amount int64 }
	Withdrawn struct{ Amount int64 }
)

func (e Deposited) apply(a Account) Account { return Account{a.Balance + e.Amount} }
func (e Withdrawn) apply(a Account) Account { return Account{a.Balance - e.Amount} }

// accountType describes the accounts: how their state changes with each event. A snapshot is saved
// after every 100 events.
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
