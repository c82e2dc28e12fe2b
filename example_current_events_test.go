package dynajournal_test

import (
	"context"
	"fmt"

	"github.com/dynajournal/dynajournal"
)

// The read journal has the queries of Akka and Pekko. This one ends with the last event there is.
func ExampleJournal_CurrentEventsByPersistenceID() {
	ctx := context.Background()
	journal, end := exampleJournal(ctx, dynajournal.Config{})
	defer end()
	recoverExample(ctx, journal, "account-1", 4)

	stored := int64(2) // the offset of the last event that the consumer has handled
	for event, err := range journal.CurrentEventsByPersistenceID(ctx, "account-1", stored+1, 0) {
		check(err)
		value, err := event.Payload()
		check(err)
		fmt.Println(event.Offset, value)
	}
	// Output:
	// 3 e3
	// 4 e4
}
