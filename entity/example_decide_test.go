package entity_test

import (
	"fmt"
	"time"

	"github.com/dynajournal/dynajournal/entity"
)

// Decide runs a command on a state, without a journal.
func ExampleDecide() {
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	decision, err := entity.Decide(accountType(), "anna", Account{Balance: 100}, 7, now,
		func(tx *entity.Tx[Account, Event]) error {
			_, err := withdraw(30)(tx)
			return err
		})
	check(err)
	fmt.Printf("%+v, balance %d, version %d\n", decision.Events, decision.State.Balance, decision.Version)
	// Output: [{Amount:30}], balance 70, version 8
}
