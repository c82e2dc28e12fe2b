package main

import (
	"errors"

	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/serialization"
)

// Account is the state of an account. Amounts are in cents.
type Account struct {
	Balance int64
	Closed  bool
}

// Event is an event of an account.
type Event interface{ apply(a Account) Account }

// The events of an account. Transfer is the id of a transfer. To and From are the other account.
type (
	Sent struct {
		Transfer, To string
		Amount       int64
	}
	Received struct {
		Transfer string
		Amount   int64
	}
	Refused struct {
		Transfer, From string
		Amount         int64
	}
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

func (Refused) apply(a Account) Account { return a }

func (Closed) apply(a Account) Account {
	a.Closed = true
	return a
}

var accountType = entity.Type[Account, Event]{
	Name:   "account",
	Evolve: func(a Account, event Event) Account { return event.apply(a) },
}

var errInsufficient = errors.New("the balance is too low")

// tx is the entity.Tx of a command of an account.
type tx = entity.Tx[Account, Event]

func send(t Transfer) func(*tx) error {
	return func(tx *tx) error {
		if tx.State().Balance < t.Amount {
			return errInsufficient
		}
		tx.Record(Sent{t.ID, t.To, t.Amount})
		return nil
	}
}

// receive accepts an amount that another account has sent, or refuses it. Both are recorded as
// events. So a repeated command is not decided differently, and a refusal leads to the next step.
func receive(from string, sent Sent) func(*tx) error {
	return func(tx *tx) error {
		if tx.State().Closed {
			tx.Record(Refused{sent.Transfer, from, sent.Amount})
		} else {
			tx.Record(Received{sent.Transfer, sent.Amount})
		}
		return nil
	}
}

func refund(refused Refused) func(*tx) error {
	return func(tx *tx) error {
		tx.Record(Refunded{refused.Transfer, refused.Amount})
		return nil
	}
}

func closeAccount(tx *tx) error {
	tx.Record(Closed{})
	return nil
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
