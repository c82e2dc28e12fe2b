package entity_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/dynajournal/dynajournal/entity"
)

// A command reads the state, and records events or returns an error. Do returns its result when the
// events are stored.
func ExampleDo() {
	ctx := context.Background()
	journal, end := exampleJournal(ctx)
	defer end()
	accounts, end := openAccounts(ctx, journal, entity.Options{})
	defer end()

	withdraw := func(amount int) func(*entity.Tx[Account, Event]) (int, error) {
		return func(tx *entity.Tx[Account, Event]) (int, error) {
			if tx.State().Balance < amount {
				return 0, errInsufficient // nothing is written
			}
			tx.Record(Withdrawn{amount})
			return tx.State().Balance, nil // with the event
		}
	}
	_, err := entity.Do(ctx, accounts, "anna", deposit(100))
	check(err)
	left, err := entity.Do(ctx, accounts, "anna", withdraw(30))
	check(err)
	_, err = entity.Do(ctx, accounts, "anna", withdraw(80))
	fmt.Println(left, errors.Is(err, errInsufficient))
	// Output: 70 true
}
