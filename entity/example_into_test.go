package entity_test

import (
	"context"
	"fmt"

	"github.com/dynajournal/dynajournal/entity"
)

// Do returns the command's own result. Into also stores the receipt.
func ExampleInto() {
	ctx := context.Background()
	journal, end := exampleJournal(ctx)
	defer end()
	accounts, end := openAccounts(ctx, journal, entity.Options{})
	defer end()

	var receipt entity.Receipt
	balance, err := entity.Do(ctx, accounts, "anna", deposit(100), entity.Into(&receipt))
	check(err)
	fmt.Println("balance", balance, "version", receipt.Version)
	// Output: balance 100 version 1
}
