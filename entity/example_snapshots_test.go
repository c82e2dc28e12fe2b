package entity_test

import (
	"context"
	"fmt"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/entity"
)

// A snapshot is saved after every ten events. The entity is loaded from the newest one.
func ExampleSnapshots() {
	ctx := context.Background()
	journal, end := exampleJournal(ctx)
	defer end()
	kind := accountType()
	kind.Snapshots = entity.Snapshots{Every: 10}

	accounts, err := entity.Open(journal, kind, entity.Options{})
	check(err)
	for range 12 {
		_, err := entity.Do(ctx, accounts, "anna", deposit(1))
		check(err)
	}
	check(accounts.Close(ctx)) // Close waits for the snapshot; commands do not
	for snapshot, err := range journal.Snapshots(ctx, "account|anna", dynajournal.SnapshotCriteria{}) {
		check(err)
		fmt.Printf("saved at %d: %s\n", snapshot.SequenceNumber, snapshot.Bytes)
	}

	print := func(_ context.Context, r entity.Recovery) {
		fmt.Println("loaded from", r.Snapshot, "and", r.Events, "events")
	}
	accounts, err = entity.Open(journal, kind, entity.Options{Hooks: []entity.Hook{{OnRecovery: print}}})
	check(err)
	balance, err := entity.Do(ctx, accounts, "anna", deposit(1))
	check(err)
	fmt.Println("balance", balance)
	check(accounts.Close(ctx))
	// Output:
	// saved at 10: {"Balance":10,"Events":10}
	// loaded from 10 and 2 events
	// balance 13
}
