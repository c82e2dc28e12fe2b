package main

import (
	"context"
	"errors"
	"strings"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/process"
)

// Transfer moves an amount from one account to another. The caller, such as the client of a
// service, chooses the ID, and uses the same ID when it sends the request again.
type Transfer struct {
	ID, From, To string
	Amount       int64
}

// Accounts run commands of accounts: entities, or the test kit.
type Accounts = entity.Updater[Account, Event]

// transfer starts a transfer: it takes the amount from the account From. Once that is stored, the
// rest of the transfer is done, even if this process dies. After another error than
// errInsufficient, the caller sends the request again.
func transfer(ctx context.Context, accounts Accounts, t Transfer) error {
	_, err := accounts.Update(ctx, t.From, send(t), entity.CommandID(t.ID))
	if errors.Is(err, entity.ErrDuplicate) {
		return nil
	}
	return err
}

// transfers returns the process that carries out transfers. An amount that one account has sent
// leads to a command of the other account. An amount that the other account has refused leads to a
// refund.
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
