package dynajournal_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/dynajournal/dynajournal"
)

// AppendEach writes events on their own, in order. One that can't be stored is left out, and leaves
// no hole.
func ExampleWriter_AppendEach() {
	ctx := context.Background()
	journal, end := exampleJournal(ctx, dynajournal.Config{MaxItemSize: 1000})
	defer end()
	writer, err := journal.Recover(ctx, "sensor-1", dynajournal.RecoverOptions{}, nil)
	check(err)

	outcomes, err := writer.AppendEach(ctx, "20.5 °C", make([]byte, 2000), "20.7 °C")
	fmt.Println("rejected:", errors.Is(err, dynajournal.ErrRejected))
	for _, o := range outcomes {
		fmt.Println(o.SequenceNumber, o.Err == nil)
	}
	// Output:
	// rejected: true
	// 1 true
	// 0 false
	// 2 true
}
