// Command transfer moves money between two accounts. Each account is an entity, so a transfer is
// several commands, a saga: it dies in between, and is made again by another process. The ids of
// the commands see to it that each step takes effect once.
//
//	go run ./examples/transfer
package main

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/entity"
)

func main() {
	ctx := context.Background()
	engine, err := embedded.OpenMemory() // a DynamoDB in this process
	check(err)
	events, err := registry()
	check(err)
	config := dynajournal.Config{AWS: engine.AWSConfig(), Serialization: events}
	check(dynajournal.CreateTables(ctx, config, dynajournal.TableOptions{}))

	journal, accounts := start(ctx, config)
	_, err = accounts.Update(ctx, "anna", func(tx *tx) error {
		tx.Record(Received{"payment at the counter", 100})
		return nil
	})
	check(err)
	t := Transfer{ID: "t-1", From: "anna", To: "bob", Amount: 30}
	err = transfer(ctx, &crash{Updater: accounts, after: 1}, t)
	fmt.Println("the first process:", err)
	show(ctx, accounts)
	check(errors.Join(accounts.Close(ctx), journal.Close()))

	journal, accounts = start(ctx, config)
	err = transfer(ctx, accounts, t)
	fmt.Println("the second process:", err)
	show(ctx, accounts)
	check(errors.Join(accounts.Close(ctx), journal.Close(), engine.Close()))
}

// start does what a process does at its start.
func start(ctx context.Context, config dynajournal.Config) (*dynajournal.Journal, *entity.Entities[Account, Event]) {
	journal, err := dynajournal.Open(ctx, config)
	check(err)
	accounts, err := entity.Open(journal, accountType, entity.Options{})
	check(err)
	return journal, accounts
}

func show(ctx context.Context, accounts *entity.Entities[Account, Event]) {
	for _, id := range []string{"anna", "bob"} {
		_, err := accounts.View(ctx, id, func(a Account) error {
			fmt.Println(" ", id, "has", a.Balance)
			return nil
		})
		check(err)
	}
}

var errCrash = errors.New("it has crashed")

// crash is a process that dies after a number of commands.
type crash struct {
	entity.Updater[Account, Event]

	after int
}

// Update runs a command, while the process lives.
func (c *crash) Update(
	ctx context.Context, id string, command func(*tx) error, opts ...entity.CommandOption,
) (entity.Receipt, error) {
	if c.after--; c.after < 0 {
		return entity.Receipt{}, errCrash
	}
	return c.Updater.Update(ctx, id, command, opts...)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
