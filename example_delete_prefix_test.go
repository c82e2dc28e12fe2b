package dynajournal_test

import (
	"context"
	"fmt"

	"github.com/dynajournal/dynajournal"
)

// A prefix that a snapshot has made unnecessary can be deleted. The highest sequence number stays.
func ExampleWriter_DeleteTo() {
	ctx := context.Background()
	journal, end := exampleJournal(ctx, dynajournal.Config{})
	defer end()
	writer := recoverExample(ctx, journal, "cart-1", 5)

	deleted, err := writer.DeleteTo(ctx, 3)
	check(err)
	bounds, err := journal.Bounds(ctx, "cart-1")
	check(err)
	fmt.Printf("removed %d, events %d to %d are left\n", deleted.Removed, bounds.Lowest, bounds.Highest)
	// Output: removed 3, events 4 to 5 are left
}
