package dynajournal_test

import (
	"context"
	"fmt"

	"github.com/dynajournal/dynajournal"
)

// A window of sequence numbers needs no writer and disturbs none. The zero Range is everything.
func ExampleJournal_Events() {
	ctx := context.Background()
	journal, end := exampleJournal(ctx, dynajournal.Config{})
	defer end()
	recoverExample(ctx, journal, "log-1", 10)

	atMost := int64(3)
	for event, err := range journal.Events(ctx, "log-1", dynajournal.Range{From: 4, To: 8, Limit: &atMost}) {
		check(err)
		text, err := dynajournal.Decode[string](event)
		check(err)
		fmt.Println(event.SequenceNumber, text)
	}
	// Output:
	// 4 e4
	// 5 e5
	// 6 e6
}
