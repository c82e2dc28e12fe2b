package entity_test

import (
	"context"
	"fmt"

	"github.com/dynajournal/dynajournal/entity"
)

// Purge removes an entity. Its id can be used again at once: the versions continue to rise, so that
// a process with the old state in memory can't write based on it.
func ExampleEntities_Purge() {
	ctx := context.Background()
	journal, end := exampleJournal(ctx)
	defer end()
	accounts, end := openAccounts(ctx, journal, entity.Options{})
	defer end()
	_, err := entity.Do(ctx, accounts, "anna", deposit(100))
	check(err)

	check(accounts.Purge(ctx, "anna"))
	var receipt entity.Receipt
	balance, err := entity.Do(ctx, accounts, "anna", deposit(1), entity.Into(&receipt))
	check(err)
	fmt.Println("balance", balance, "version", receipt.Version)
	// Output: balance 1 version 3
}
