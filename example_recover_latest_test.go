package dynajournal_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/dynajournal/dynajournal"
)

// A store that is given events and the version that its caller knows needs no replay.
func ExampleRecoverOptions_latest() {
	ctx := context.Background()
	journal, end := exampleJournal(ctx, dynajournal.Config{})
	defer end()
	recoverExample(ctx, journal, "order-1", 150)

	expected := int64(150)
	writer, err := journal.Recover(ctx, "order-1", dynajournal.RecoverOptions{Latest: true, Expect: &expected}, nil)
	check(err)
	result, err := writer.Append(ctx, "shipped")
	check(err)
	fmt.Println("appended at", result.First, "after", writer.RecoveryCost().Requests, "requests")

	_, err = journal.Recover(ctx, "order-1", dynajournal.RecoverOptions{Latest: true, Expect: &expected}, nil)
	fmt.Println("another version:", errors.Is(err, dynajournal.ErrVersion))
	// Output:
	// appended at 151 after 2 requests
	// another version: true
}
