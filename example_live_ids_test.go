package dynajournal_test

import (
	"context"
	"fmt"
	"time"

	"github.com/dynajournal/dynajournal"
)

// PersistenceIDs lists the ids that there are, and then those of new entities.
func ExampleJournal_PersistenceIDs() {
	ctx := context.Background()
	journal, end := exampleJournal(ctx, dynajournal.Config{})
	defer end()
	recoverExample(ctx, journal, "account-1", 1)

	poll := dynajournal.Poll{Shortest: time.Millisecond}
	for id, err := range journal.PersistenceIDs(ctx, dynajournal.IDsOptions{}, poll) {
		check(err)
		fmt.Println(id)
		if id == "account-2" {
			break
		}
		recoverExample(ctx, journal, "account-2", 1)
	}
	// Output:
	// account-1
	// account-2
}
