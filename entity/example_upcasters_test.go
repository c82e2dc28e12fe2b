package entity_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/serialization"
)

// An earlier version of the program has stored transfers as "moved", a type that no longer exists.
// An upcaster converts them to today's events.
func ExampleType_upcasters() {
	ctx := context.Background()
	journal, end := exampleJournal(ctx)
	defer end()
	writer, err := journal.Recover(ctx, "account|anna", dynajournal.RecoverOptions{}, nil)
	check(err)
	_, err = writer.Append(ctx, serialization.Payload{
		SerializerID: serialization.IDJacksonJSON, Manifest: "moved", Bytes: []byte(`{"In":100,"Fee":2}`),
	})
	check(err)

	kind := accountType()
	kind.Upcasters = map[string]func(serialization.Payload) ([]Event, error){
		"moved": func(stored serialization.Payload) ([]Event, error) {
			var moved struct{ In, Fee int }
			err := json.Unmarshal(stored.Bytes, &moved)
			return []Event{Deposited{moved.In}, Withdrawn{moved.Fee}}, err
		},
	}
	accounts, err := entity.Open(journal, kind, entity.Options{})
	check(err)
	version, err := accounts.View(ctx, "anna", func(a Account) error {
		fmt.Println("balance", a.Balance)
		return nil
	})
	check(err)
	fmt.Println("version", version)
	check(accounts.Close(ctx))
	// Output:
	// balance 98
	// version 1
}
