// Command readmodel keeps the balances of accounts in a map, beside their journal: a read model. A
// projection handles every event of every account. Whoever has written waits for it before reading.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/serialization"
)

// Changed is the event of an account.
type Changed struct{ By int }

// account is what the read model knows of an account.
type account struct {
	balance int
	// last is the number of the last event in the balance.
	last int64
}

// balances is the read model. A real one is a table of a database, with the number in its row.
type balances struct {
	mu       sync.Mutex
	accounts map[string]account
}

// Handle adds an event to the balance of its account. It may get an event again after a crash, and
// then begins with an earlier one, so it leaves out what it has.
func (b *balances) Handle(_ context.Context, event dynajournal.Event) error {
	changed, err := dynajournal.Decode[Changed](event)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if a := b.accounts[event.PersistenceID]; event.SequenceNumber > a.last {
		b.accounts[event.PersistenceID] = account{a.balance + changed.By, event.SequenceNumber}
	}
	return nil
}

func (b *balances) of(id string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.accounts[id].balance
}

func main() {
	ctx, cancel := context.WithCancel(context.Background())
	engine, err := embedded.OpenMemory() // a DynamoDB in this process; on AWS, load an aws.Config
	check(err)
	events := serialization.NewRegistry()
	check(serialization.JSON[Changed](events, "changed"))
	config := dynajournal.Config{AWS: engine.AWSConfig(), Serialization: events}
	check(dynajournal.CreateTables(ctx, config, dynajournal.TableOptions{Projections: true, Stream: true}))
	journal, err := dynajournal.Open(ctx, config)
	check(err)

	model := &balances{accounts: map[string]account{}}
	client := dynamodbstreams.NewFromConfig(engine.AWSConfig())
	group, err := projection.New(journal, projection.Config{
		Name:   "bank",
		Source: projection.Streams(client, projection.StreamsOptions{}),
	}, projection.AtLeastOnce("balances", model))
	check(err)
	ended := make(chan error, 1)
	go func() { ended <- group.Run(ctx) }()

	writer, err := journal.Recover(ctx, "anna", dynajournal.RecoverOptions{}, nil)
	check(err)
	written, err := writer.Append(ctx, Changed{By: 12}, Changed{By: -5})
	check(err)
	group.Trigger("anna") // else the stream finds the events a moment later
	check(projection.WaitFor(ctx, journal, "bank/balances", "anna", written.Last))
	fmt.Println("anna has", model.of("anna"))

	cancel()
	check(errors.Join(<-ended, journal.Close(), engine.Close()))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
