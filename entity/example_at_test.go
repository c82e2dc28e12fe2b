package entity_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/entity"
)

// A user has filled in a form that shows version 1. Meanwhile the account has changed.
func ExampleAt() {
	ctx := context.Background()
	journal, end := exampleJournal(ctx)
	defer end()
	accounts, end := openAccounts(ctx, journal, entity.Options{})
	defer end()

	for range 2 {
		_, err := entity.Do(ctx, accounts, "anna", deposit(50))
		check(err)
	}
	_, err := entity.Do(ctx, accounts, "anna", withdraw(60), entity.At(1))
	if version, ok := errors.AsType[*dynajournal.VersionError](err); ok {
		fmt.Println("version", version.Expected, "is no longer the last, which is", version.Last)
	}
	balance, err := entity.Do(ctx, accounts, "anna", withdraw(60), entity.At(2))
	check(err)
	fmt.Println("the balance is", balance)
	// Output:
	// version 1 is no longer the last, which is 2
	// the balance is 40
}
