package entity_test

import (
	"context"
	"fmt"

	"github.com/dynajournal/dynajournal/entity"
)

// View shows the stored state. By default it checks whether another process has written, which
// takes a request.
func ExampleEntities_View() {
	ctx := context.Background()
	journal, end := exampleJournal(ctx)
	defer end()
	one, end := openAccounts(ctx, journal, entity.Options{})
	defer end()
	two, end := openAccounts(ctx, journal, entity.Options{})
	defer end()
	_, err := entity.Do(ctx, one, "anna", deposit(100))
	check(err)

	balance := 0
	show := func(a Account) error {
		balance = a.Balance
		return nil
	}
	version, err := two.View(ctx, "anna", show)
	check(err)
	fmt.Println("balance", balance, "version", version)
	_, err = entity.Do(ctx, one, "anna", deposit(1))
	check(err)
	version, err = two.View(ctx, "anna", show)
	check(err)
	fmt.Println("balance", balance, "version", version)
	// Output:
	// balance 100 version 1
	// balance 101 version 2
}
