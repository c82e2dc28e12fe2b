package dynajournal_test

import (
	"context"
	"fmt"

	"github.com/dynajournal/dynajournal"
)

// All events of one Append are one atomic write: every reader sees all of them or none, however
// many they are.
func ExampleWriter_Append() {
	ctx := context.Background()
	journal, end := exampleJournal(ctx, dynajournal.Config{})
	defer end()
	writer, err := journal.Recover(ctx, "order-1", dynajournal.RecoverOptions{}, nil)
	check(err)

	result, err := writer.Append(ctx, "created", "item added", "item added", "paid")
	check(err)
	fmt.Printf("events %d to %d, requests: %d\n", result.First, result.Last, result.Cost.Requests)
	// Output: events 1 to 4, requests: 1
}
