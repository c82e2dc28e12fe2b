// Command cart stores shopping carts whose histories stay short: the state is saved after every ten
// events, and events that are no longer needed are deleted.
//
//	go run ./examples/cart
package main

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/entity"
)

func main() {
	ctx := context.Background()
	engine, err := embedded.OpenMemory() // a DynamoDB in this process
	check(err)
	events, err := registry()
	check(err)
	config := dynajournal.Config{AWS: engine.AWSConfig(), Serialization: events}
	check(dynajournal.CreateTables(ctx, config, dynajournal.TableOptions{}))
	journal, err := dynajournal.Open(ctx, config)
	check(err)

	// The service is stopped and started again, so that the cart is loaded each time.
	for range 3 {
		carts := open(journal)
		for range 12 {
			_, err := carts.Update(ctx, "anna", add("pear", 1))
			check(err)
		}
		check(carts.Close(ctx)) // it also waits until snapshots are saved
	}
	carts := open(journal)
	items, err := entity.Do(ctx, carts, "anna", checkOut)
	check(err)
	fmt.Println("to be delivered:", items)
	check(carts.Close(ctx))

	show(ctx, journal)
	check(errors.Join(journal.Close(), engine.Close()))
}

// open opens the carts, and prints how each is loaded.
func open(journal *dynajournal.Journal) *entity.Entities[Cart, Event] {
	printRecovery := func(_ context.Context, r entity.Recovery) {
		fmt.Printf("loaded the snapshot at %d and %d events\n", r.Snapshot, r.Events)
	}
	carts, err := entity.Open(journal, cartType, entity.Options{Hooks: []entity.Hook{{OnRecovery: printRecovery}}})
	check(err)
	return carts
}

// show prints the events and snapshots that are stored for the cart.
func show(ctx context.Context, journal *dynajournal.Journal) {
	id := cartType.PersistenceID("anna")
	bounds, err := journal.Bounds(ctx, id)
	check(err)
	fmt.Printf("stored: events %d to %d", bounds.Lowest, bounds.Highest)
	for snapshot, err := range journal.Snapshots(ctx, id, dynajournal.SnapshotCriteria{}) {
		check(err)
		fmt.Printf(", a snapshot at %d", snapshot.SequenceNumber)
	}
	fmt.Println()
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
