package dynajournal_test

import (
	"context"
	"fmt"
	"time"

	"github.com/dynajournal/dynajournal"
)

// A live query returns the events that are there, and then new ones as they are written.
func ExampleJournal_EventsByPersistenceID() {
	ctx := context.Background()
	journal, end := exampleJournal(ctx, dynajournal.Config{})
	defer end()
	writer := recoverExample(ctx, journal, "account-1", 2)

	poll := dynajournal.Poll{Shortest: time.Millisecond, Longest: time.Second}
	for event, err := range journal.EventsByPersistenceID(ctx, "account-1", 1, 0, poll) {
		check(err)
		text, err := dynajournal.Decode[string](event.Event)
		check(err)
		fmt.Println(event.Offset, text)
		if event.Offset == 2 {
			_, err := writer.Append(ctx, "written meanwhile")
			check(err)
		}
		if event.Offset == 3 {
			break // a consumer stores the offset, and goes on from the next one
		}
	}
	// Output:
	// 1 e1
	// 2 e2
	// 3 written meanwhile
}
