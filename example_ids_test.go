package dynajournal_test

import (
	"context"
	"fmt"

	"github.com/dynajournal/dynajournal"
)

// Persistence ids are listed in pages, here of two. A native journal lists them in their order.
func ExampleJournal_CurrentPersistenceIDs() {
	ctx := context.Background()
	journal, end := exampleJournal(ctx, dynajournal.Config{})
	defer end()
	for _, id := range []string{"order|3", "account|anna", "order|1", "order|2"} {
		recoverExample(ctx, journal, id, 1)
	}

	options := dynajournal.IDsOptions{Prefix: "order|", Limit: 2, Sorted: true}
	for {
		listed := 0
		for id, err := range journal.CurrentPersistenceIDs(ctx, options) {
			check(err)
			fmt.Println(id)
			options.After = id
			listed++
		}
		fmt.Println("---")
		if listed < options.Limit {
			break
		}
	}
	// Output:
	// order|1
	// order|2
	// ---
	// order|3
	// ---
}
