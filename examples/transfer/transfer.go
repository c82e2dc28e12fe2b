package main

import (
	"context"
	"errors"
	"strings"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/process"
)

// Transfer moves an amount from one account to another. ID is made by who asks for it, such as the
// client of a service, and stays the same when the request is sent again.
type Transfer struct {
	ID, From, To string
	Amount       int64
}

// Accounts run commands of accounts: entities, or the test kit.
type Accounts = entity.Updater[Account, Event]

// transfer begins a transfer: it takes the amount from its account. If that is stored, the rest
// follows, whatever happens to this process. After another error than errInsufficient the request
// is sent again.
func transfer(ctx context.Context, accounts Accounts, t Transfer) error {
	_, err := accounts.Update(ctx, t.From, send(t), entity.CommandID(t.ID))
	if errors.Is(err, entity.ErrDuplicate) {
		return nil
	}
	return err
}

// transfers returns the process that carries out transfers. What one account has sent leads to a
// command of the other, and what that has refused to a refund.
func transfers(accounts Accounts) (*process.Process, error) {
	return process.New(process.Config{
		Name: "transfers",
		React: func(ctx context.Context, event dynajournal.Event) ([]process.Command, error) {
			account := strings.TrimPrefix(event.PersistenceID, accountType.PersistenceID(""))
			payload, err := event.Payload(ctx)
			if err != nil {
				return nil, err
			}
			switch e := payload.(type) {
			case Sent:
				return []process.Command{process.To(accounts, e.To, receive(account, e))}, nil
			case Refused:
				return []process.Command{process.To(accounts, e.From, refund(e))}, nil
			}
			return nil, nil
		},
	})
}
