package dynajournal_test

import (
	"context"
	"fmt"

	"github.com/dynajournal/dynajournal"
)

// Metadata and tags are stored beside an event, and do not change its payload.
func ExampleNewEvent() {
	ctx := context.Background()
	journal, end := exampleJournal(ctx, dynajournal.Config{})
	defer end()
	writer, err := journal.Recover(ctx, "account-1", dynajournal.RecoverOptions{}, nil)
	check(err)
	_, err = writer.Append(ctx, dynajournal.NewEvent{
		Value:    "deposited",
		Metadata: map[string]string{"tenant": "north"},
		Tags:     []string{"money"},
	})
	check(err)

	for event, err := range journal.Events(ctx, "account-1", dynajournal.Range{}) {
		check(err)
		value, err := event.Payload()
		check(err)
		fmt.Println(value, event.Metadata["tenant"], event.Tags, event.Time.IsZero())
	}
	// Output:
	// deposited north [money] false
}
