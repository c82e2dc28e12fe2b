package entity_test

import (
	"context"
	"fmt"

	"github.com/dynajournal/dynajournal/entity"
)

// Hooks are for metrics and traces. This one prints what an entity does.
func ExampleHook() {
	ctx := context.Background()
	journal, end := exampleJournal(ctx)
	defer end()
	hook := entity.Hook{
		OnRecovery: func(_ context.Context, r entity.Recovery) {
			fmt.Println("loaded", r.PersistenceID, "version", r.Version)
		},
		OnWrite: func(_ context.Context, w entity.Write) {
			fmt.Println("wrote", w.Events, "events, write units", w.Cost.WriteUnits)
		},
		OnCommand: func(_ context.Context, c entity.Command) {
			fmt.Println("command, attempts", c.Attempts, "error", c.Err)
		},
	}
	accounts, end := openAccounts(ctx, journal, entity.Options{Hooks: []entity.Hook{hook}})
	defer end()

	_, err := entity.Do(ctx, accounts, "anna", deposit(10))
	check(err)
	_, err = entity.Do(ctx, accounts, "anna", withdraw(50))
	fmt.Println(err)
	// Output:
	// loaded account|anna version 0
	// wrote 1 events, write units 2
	// command, attempts 1 error <nil>
	// command, attempts 1 error insufficient funds
	// insufficient funds
}
