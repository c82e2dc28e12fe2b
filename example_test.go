package dynajournal_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/serialization"
)

type Deposited struct{ Amount int }

func Example() {
	ctx := context.Background()
	engine, err := embedded.OpenMemory() // a DynamoDB in this process; on AWS, load an aws.Config
	check(err)
	defer engine.Close()
	events := serialization.NewRegistry()
	check(serialization.JSON[Deposited](events, "com.example.Deposited"))
	config := dynajournal.Config{AWS: engine.AWSConfig(), Serialization: events}
	check(dynajournal.CreateTables(ctx, config, dynajournal.TableOptions{}))
	journal, err := dynajournal.Open(ctx, config)
	check(err)
	defer journal.Close()

	balance := 0
	add := func(e dynajournal.Event) error {
		deposited, err := dynajournal.Decode[Deposited](ctx, e)
		balance += deposited.Amount
		return err
	}
	first, err := journal.Recover(ctx, "account-1", dynajournal.RecoverOptions{}, add)
	check(err)
	_, err = first.Append(ctx, Deposited{5}, Deposited{7}) // one atomic write
	check(err)
	second, err := journal.Recover(ctx, "account-1", dynajournal.RecoverOptions{}, add)
	check(err)
	_, err = second.Append(ctx, Deposited{1})
	check(err)
	_, err = first.Append(ctx, Deposited{100}) // the second writer has appended meanwhile
	fmt.Println(balance, errors.Is(err, dynajournal.ErrWriterConflict))
	// Output: 12 true
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
