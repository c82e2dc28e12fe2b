package dynajournal_test

import (
	"context"
	"fmt"

	"github.com/dynajournal/dynajournal"
)

// Recover passes the events of the past to a function, and returns the writer that goes on.
func ExampleJournal_Recover() {
	ctx := context.Background()
	journal, end := exampleJournal(ctx, dynajournal.Config{})
	defer end()
	recoverExample(ctx, journal, "account-1", 3)

	var state []string
	writer, err := journal.Recover(ctx, "account-1", dynajournal.RecoverOptions{}, func(e dynajournal.Event) error {
		text, err := dynajournal.Decode[string](e)
		state = append(state, text)
		return err
	})
	check(err)
	last, err := writer.Last(ctx)
	check(err)
	fmt.Println(state, last, writer.RecoveryCost().Requests, "requests")
	// Output: [e1 e2 e3] 3 2 requests
}
