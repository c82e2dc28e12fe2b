package dynajournal_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/dynajournal/dynajournal"
)

// AppendAt writes an event only if the last one is still that by which the caller has decided.
func ExampleWriter_AppendAt() {
	ctx := context.Background()
	journal, end := exampleJournal(ctx, dynajournal.Config{})
	defer end()
	writer := recoverExample(ctx, journal, "page-1", 2)

	result, err := writer.AppendAt(ctx, 2, "edited by anna")
	check(err)
	fmt.Println("anna's edit is number", result.First)

	_, err = writer.AppendAt(ctx, 2, "edited by bob") // he has not seen anna's edit
	version, ok := errors.AsType[*dynajournal.VersionError](err)
	fmt.Println(ok, "expected:", version.Expected, "last:", version.Last)
	// Output:
	// anna's edit is number 3
	// true expected: 2 last: 3
}
