package main

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/serialization"
)

type Changed struct{ By int }

// The state of an account is its balance.
var accountType = entity.Type[int, Changed]{
	Name:   "account",
	Evolve: func(balance int, event Changed) int { return balance + event.By },
}

// change is a command: it decides on the state, and records events.
func change(by int) func(*entity.Tx[int, Changed]) (int, error) {
	return func(tx *entity.Tx[int, Changed]) (int, error) {
		if tx.State()+by < 0 {
			return 0, errors.New("the balance is too low") // nothing is written
		}
		tx.Record(Changed{by})
		return tx.State(), nil // returned to the caller when the event is stored
	}
}

func main() {
	ctx := context.Background()
	engine, err := embedded.OpenMemory() // a DynamoDB in this process; on AWS, load an aws.Config
	check(err)
	events := serialization.NewRegistry()
	check(serialization.JSON[Changed](events, "changed"))
	config := dynajournal.Config{AWS: engine.AWSConfig(), Serialization: events}
	check(dynajournal.CreateTables(ctx, config, dynajournal.TableOptions{}))
	journal, err := dynajournal.Open(ctx, config)
	check(err)
	accounts, err := entity.Open(journal, accountType, entity.Options{})
	check(err)

	balance, err := entity.Do(ctx, accounts, "anna", change(12))
	check(err)
	_, refused := entity.Do(ctx, accounts, "anna", change(-100))
	fmt.Println(balance, refused)
	check(errors.Join(accounts.Close(ctx), journal.Close(), engine.Close()))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
