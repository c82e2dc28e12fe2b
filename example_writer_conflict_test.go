package dynajournal_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/dynajournal/dynajournal"
)

// A writer that finds another's event has ended. Recover again, decide again on the state of now,
// and append to that.
func ExampleConflictError() {
	ctx := context.Background()
	journal, end := exampleJournal(ctx, dynajournal.Config{})
	defer end()
	mine := recoverExample(ctx, journal, "seat-12", 0)
	other := recoverExample(ctx, journal, "seat-12", 0)
	_, err := other.Append(ctx, "reserved by the other")
	check(err)

	_, err = mine.Append(ctx, "reserved by me")
	if conflict, ok := errors.AsType[*dynajournal.ConflictError](err); ok {
		fmt.Println("lost number", conflict.SequenceNumber, "to the other:", conflict.WriterUUID == other.WriterUUID())
		free := true
		mine, err = journal.Recover(ctx, "seat-12", dynajournal.RecoverOptions{}, func(dynajournal.Event) error {
			free = false
			return nil
		})
		check(err)
		next, err := mine.NextSequenceNumber(ctx)
		check(err)
		fmt.Println("free:", free, "next:", next)
	}
	// Output:
	// lost number 1 to the other: true
	// free: false next: 2
}
