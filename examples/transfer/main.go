// Command transfer moves money between accounts. Each account is an entity, so a transfer is
// several commands, a saga. The client runs the first one. A process manager runs the others in
// reaction to stored events. It can run in any process, so a transfer continues when a process
// dies. The command ids ensure that each step takes effect once.
//
//	go run ./examples/transfer
package main

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/projection"
)

func main() {
	ctx, cancel := context.WithCancel(context.Background())
	engine, err := embedded.OpenMemory() // a DynamoDB in this process
	check(err)
	events, err := registry()
	check(err)
	config := dynajournal.Config{AWS: engine.AWSConfig(), Serialization: events}
	check(dynajournal.CreateTables(ctx, config, dynajournal.TableOptions{Projections: true, Stream: true}))

	b := open(ctx, config)
	_, err = b.accounts.Update(ctx, "anna", func(tx *tx) error {
		tx.Record(Received{"payment at the counter", 100})
		return nil
	})
	check(err)
	check(transfer(ctx, b.accounts, Transfer{ID: "t-1", From: "anna", To: "bob", Amount: 30}))
	fmt.Println("the first process ends in the middle of a transfer:")
	b.show(ctx, "anna", "bob")
	check(b.close(ctx))

	b = open(ctx, config)
	stream := projection.Streams(dynamodbstreams.NewFromConfig(config.AWS), projection.StreamsOptions{})
	group, err := b.group(projection.Config{Name: "bank", Source: stream})
	check(err)
	ended := make(chan error, 1)
	go func() { ended <- group.Run(ctx) }()
	check(b.waitForTransfers(ctx, "anna"))
	fmt.Println("the second process continues:")
	b.show(ctx, "anna", "bob")

	_, err = b.accounts.Update(ctx, "carl", closeAccount)
	check(err)
	check(transfer(ctx, b.accounts, Transfer{ID: "t-2", From: "anna", To: "carl", Amount: 50}))
	check(b.waitForTransfers(ctx, "anna", "carl"))
	fmt.Println("carl refuses a transfer:")
	b.show(ctx, "anna", "carl")

	cancel()
	check(errors.Join(<-ended, b.close(context.WithoutCancel(ctx)), engine.Close()))
}

// bank has the journal and the accounts that a process has opened.
type bank struct {
	journal  *dynajournal.Journal
	accounts *entity.Entities[Account, Event]
}

func open(ctx context.Context, config dynajournal.Config) *bank {
	journal, err := dynajournal.Open(ctx, config)
	check(err)
	accounts, err := entity.Open(journal, accountType, entity.Options{})
	check(err)
	return &bank{journal, accounts}
}

func (b *bank) close(ctx context.Context) error {
	return errors.Join(b.accounts.Close(ctx), b.journal.Close())
}

// group returns the group that carries out transfers.
func (b *bank) group(config projection.Config) (*projection.Group, error) {
	transfers, err := transfers(b.accounts)
	if err != nil {
		return nil, err
	}
	return projection.New(b.journal, config,
		projection.AtLeastOnce("transfers", transfers, projection.OnlyIDs(accountType.PersistenceID(""))))
}

// waitForTransfers waits, account by account, until the process manager has handled all events of
// the accounts.
func (b *bank) waitForTransfers(ctx context.Context, accounts ...string) error {
	for _, id := range accounts {
		version, err := b.accounts.View(ctx, id, func(Account) error { return nil })
		if err != nil {
			return err
		}
		err = projection.WaitFor(ctx, b.journal, "bank/transfers", accountType.PersistenceID(id), version)
		if err != nil {
			return err
		}
	}
	return nil
}

func (b *bank) show(ctx context.Context, accounts ...string) {
	for _, id := range accounts {
		_, err := b.accounts.View(ctx, id, func(a Account) error {
			fmt.Println(" ", id, "has", a.Balance)
			return nil
		})
		check(err)
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
