package step1

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/entity"
)

// Run changes an account in a DynamoDB in this process, and prints its balance.
func Run(ctx context.Context, out io.Writer) (err error) {
	engine, err := embedded.OpenMemory()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	registry, err := Registry()
	if err != nil {
		return err
	}
	config := dynajournal.Config{AWS: engine.AWSConfig(), Serialization: registry}
	if err := dynajournal.CreateTables(ctx, config, dynajournal.TableOptions{}); err != nil {
		return err
	}
	journal, err := dynajournal.Open(ctx, config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, journal.Close()) }()
	accounts, err := entity.Open(journal, AccountType, entity.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, accounts.Close(context.WithoutCancel(ctx))) }()

	receipt, err := accounts.Update(ctx, "anna", func(tx *Tx) error { return Deposit(tx, 12) })
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "deposited 12, version", receipt.Version)
	_, err = accounts.Update(ctx, "anna", func(tx *Tx) error { return Withdraw(tx, 100) })
	if !errors.Is(err, ErrInsufficient) {
		return err
	}
	fmt.Fprintln(out, "withdraw 100:", err)
	_, err = accounts.View(ctx, "anna", func(a Account) error {
		_, err := fmt.Fprintln(out, "anna has", a.Balance)
		return err
	})
	return err
}
