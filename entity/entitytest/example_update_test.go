package entitytest_test

import (
	"context"
	"fmt"

	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/entity/entitytest"
)

// A kit implements entity.Updater, so code that takes an Updater is tested without a journal.
func ExampleKit_Update() {
	t := &printer{} // in a test, its *testing.T
	k := entitytest.New(t, accountType(), exampleRegistry())
	transfer := func(ctx context.Context, accounts entity.Updater[Account, Event], amount int) error {
		if _, err := entity.Do(ctx, accounts, "anna", withdraw(amount), entity.CommandID("t-1/from")); err != nil {
			return err
		}
		_, err := entity.Do(ctx, accounts, "bob", deposit(amount), entity.CommandID("t-1/to"))
		return err
	}

	k.Entity("anna").Given(Deposited{100})
	err := transfer(context.Background(), k, 30)
	k.Entity("anna").Then(Withdrawn{30})
	k.Entity("bob").Then(Deposited{30})
	fmt.Println(err, k.Entity("bob").State().Balance)
	// Output: <nil> 30
}
