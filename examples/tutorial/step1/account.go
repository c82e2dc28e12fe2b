// Package step1 has an entity: the account of a bank.
package step1

import (
	"errors"

	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/serialization"
)

// Account is the state of an account.
type Account struct{ Balance int64 }

// Changed is the event of an account.
type Changed struct{ By int64 }

// AccountType says how the state follows from the events.
var AccountType = entity.Type[Account, Changed]{
	Name:   "account", // "anna" is stored as the persistence id "account|anna"
	Evolve: func(a Account, e Changed) Account { return Account{a.Balance + e.By} },
}

// ErrInsufficient means that an account has less than is to be withdrawn.
var ErrInsufficient = errors.New("the balance is too low")

// Tx is what a command of an account decides with.
type Tx = entity.Tx[Account, Changed]

// Deposit is a command that is never refused.
func Deposit(tx *Tx, amount int64) error {
	tx.Record(Changed{amount})
	return nil
}

// Withdraw is a command that leaves no account below zero.
func Withdraw(tx *Tx, amount int64) error {
	if tx.State().Balance < amount {
		return ErrInsufficient // nothing is written
	}
	tx.Record(Changed{-amount})
	return nil
}

// Registry returns the names under which events and states are stored.
func Registry() (*serialization.Registry, error) {
	r := serialization.NewRegistry()
	return r, errors.Join(
		serialization.JSON[Changed](r, "changed", serialization.Version(1)),
		serialization.JSON[Account](r, "account", serialization.Version(1)), // for snapshots
	)
}
