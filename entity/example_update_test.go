package entity_test

import (
	"context"
	"fmt"

	"github.com/dynajournal/dynajournal/entity"
)

// A command without a result. All its events are stored, or none. The receipt has the version after
// these events, and the cost of the write.
func ExampleEntities_Update() {
	ctx := context.Background()
	journal, end := exampleJournal(ctx)
	defer end()
	accounts, end := openAccounts(ctx, journal, entity.Options{})
	defer end()

	receipt, err := accounts.Update(ctx, "anna", func(tx *entity.Tx[Account, Event]) error {
		tx.Record(Deposited{100}, Withdrawn{30})
		return nil
	})
	check(err)
	fmt.Println("version", receipt.Version, "requests", receipt.Cost.Requests, "write units", receipt.Cost.WriteUnits)
	// Output: version 2 requests 1 write units 3
}
