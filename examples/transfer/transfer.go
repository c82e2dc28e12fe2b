package main

import (
	"context"
	"errors"

	"github.com/dynajournal/dynajournal/entity"
)

// Transfer moves an amount from one account to another. ID is made by who asks for it, such as the
// client of a service, and stays the same when the request is sent again.
type Transfer struct {
	ID, From, To string
	Amount       int64
}

// Accounts run commands of accounts: entities, or the test kit.
type Accounts = entity.Updater[Account, Event]

var errRefused = errors.New("the account does not accept it, and the amount was refunded")

// transfer makes a transfer, step by step. After any other error than errInsufficient and
// errRefused it is called again, by any process and at any time, until there is none: a step that
// was done is not done again. A queue that delivers a message until it is done does that.
func transfer(ctx context.Context, accounts Accounts, t Transfer) error {
	if err := once(ctx, accounts, t.From, send(t), t.ID+"/send"); err != nil {
		return err
	}
	if err := once(ctx, accounts, t.To, receive(t), t.ID+"/receive"); err != nil {
		return err
	}
	refused, err := entity.Do(ctx, accounts, t.To, hasRefused(t))
	if err != nil || !refused {
		return err
	}
	if err := once(ctx, accounts, t.From, refund(t), t.ID+"/refund"); err != nil {
		return err
	}
	return errRefused
}

// once runs a command that may have been done before.
func once(ctx context.Context, accounts Accounts, account string, command func(*tx) error, id string) error {
	_, err := accounts.Update(ctx, account, command, entity.CommandID(id))
	if errors.Is(err, entity.ErrDuplicate) {
		return nil
	}
	return err
}
