// Package step1 implements an entity: a bank account.
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

// AccountType describes the accounts: how their state changes with each event.
var AccountType = entity.Type[Account, Changed]{
	Name:   "account", // "anna" is stored as the persistence id "account|anna"
	Evolve: func(a Account, e Changed) Account { return Account{a.Balance + e.By} },
}

// ErrInsufficient means that the balance of an account is lower than the amount to withdraw.
var ErrInsufficient = errors.New("the balance is too low")

// Tx is the entity.Tx of a command of an account.
type Tx = entity.Tx[Account, Changed]

// Deposit is a command that is never refused.
func Deposit(tx *Tx, amount int64) error {
	tx.Record(Changed{amount})
	return nil
}

// Withdraw is a command that fails if the balance is too low.
func Withdraw(tx *Tx, amount int64) error {
	if tx.State().Balance < amount {
		return ErrInsufficient // nothing is written
	}
	tx.Record(Changed{-amount})
	return nil
}

// Registry returns a registry with the names under which events and states are stored.
func Registry() (*serialization.Registry, error) {
	r := serialization.NewRegistry()
	return r, errors.Join(
		serialization.JSON[Changed](r, "changed", serialization.Version(1)),
		serialization.JSON[Account](r, "account", serialization.Version(1)), // for snapshots
	)
}
