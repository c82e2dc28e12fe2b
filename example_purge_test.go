package dynajournal_test

import (
	"context"
	"fmt"

	"github.com/dynajournal/dynajournal"
)

// Purging removes an entity. Within the fence window its numbers stay taken, so that a writer that
// was paused can't bring it back; the id can be used again at once.
func ExampleWriter_Purge() {
	ctx := context.Background()
	journal, end := exampleJournal(ctx, dynajournal.Config{})
	defer end()
	writer := recoverExample(ctx, journal, "customer-1", 5)

	purged, err := writer.Purge(ctx, dynajournal.PurgeOptions{})
	check(err)
	again := recoverExample(ctx, journal, "customer-1", 0)
	next, err := again.NextSequenceNumber(ctx)
	check(err)
	fmt.Printf("removed %d, the next event is number %d\n", purged.Removed, next)
	// Output: removed 5, the next event is number 7
}
