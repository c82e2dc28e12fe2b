package main

import (
	"errors"
	"slices"

	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/serialization"
)

// Account is the state of an account. Amounts are in cents.
type Account struct {
	Balance int64
	Closed  bool
	// Refused are the transfers that the account did not accept, as it was closed.
	Refused []string
}

// Event is what happens to an account.
type Event interface{ apply(a Account) Account }

// The events of an account. Transfer is the id of a transfer.
type (
	Sent struct {
		Transfer string
		Amount   int64
	}
	Received struct {
		Transfer string
		Amount   int64
	}
	Refused  struct{ Transfer string }
	Refunded struct {
		Transfer string
		Amount   int64
	}
	Closed struct{}
)

func (e Sent) apply(a Account) Account {
	a.Balance -= e.Amount
	return a
}

func (e Received) apply(a Account) Account {
	a.Balance += e.Amount
	return a
}

func (e Refunded) apply(a Account) Account {
	a.Balance += e.Amount
	return a
}

func (e Refused) apply(a Account) Account {
	a.Refused = append(slices.Clone(a.Refused), e.Transfer) // the state before stays as it is
	return a
}

func (Closed) apply(a Account) Account {
	a.Closed = true
	return a
}

var accountType = entity.Type[Account, Event]{
	Name:   "account",
	Evolve: func(a Account, event Event) Account { return event.apply(a) },
}

var errInsufficient = errors.New("the balance is too low")

// tx is what a command of an account decides with.
type tx = entity.Tx[Account, Event]

func send(t Transfer) func(*tx) error {
	return func(tx *tx) error {
		if tx.State().Balance < t.Amount {
			return errInsufficient
		}
		tx.Record(Sent{t.ID, t.Amount})
		return nil
	}
}

// receive accepts a transfer or refuses it. Both are events: when the command is sent again, it is
// not decided otherwise.
func receive(t Transfer) func(*tx) error {
	return func(tx *tx) error {
		if tx.State().Closed {
			tx.Record(Refused{t.ID})
		} else {
			tx.Record(Received{t.ID, t.Amount})
		}
		return nil
	}
}

func refund(t Transfer) func(*tx) error {
	return func(tx *tx) error {
		tx.Record(Refunded{t.ID, t.Amount})
		return nil
	}
}

// hasRefused reports whether an account has refused a transfer.
func hasRefused(t Transfer) func(*tx) (bool, error) {
	return func(tx *tx) (bool, error) { return slices.Contains(tx.State().Refused, t.ID), nil }
}

// registry has the names under which events are stored.
func registry() (*serialization.Registry, error) {
	r := serialization.NewRegistry()
	return r, errors.Join(
		serialization.JSON[Sent](r, "sent"),
		serialization.JSON[Received](r, "received"),
		serialization.JSON[Refused](r, "refused"),
		serialization.JSON[Refunded](r, "refunded"),
		serialization.JSON[Closed](r, "closed"),
	)
}
