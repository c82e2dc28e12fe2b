package dynajournal_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dynajournal/dynajournal"
)

// Recover passes the stored events to a function, and returns the writer that continues after them.
func ExampleJournal_Recover() {
	ctx := context.Background()
	journal, end := exampleJournal(ctx, dynajournal.Config{})
	defer end()
	recoverExample(ctx, journal, "account-1", 3)

	var state []string
	writer, err := journal.Recover(ctx, "account-1", dynajournal.RecoverOptions{}, func(e dynajournal.Event) error {
		text, err := dynajournal.Decode[string](ctx, e)
		state = append(state, text)
		return err
	})
	check(err)
	last, err := writer.Last(ctx)
	check(err)
	fmt.Println(state, last, writer.RecoveryCost().Requests, "requests")
	// Output: [e1 e2 e3] 3 2 requests
}

// A store that gets both the events and the expected version from its caller needs no replay.
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

// Reading a window of sequence numbers needs no writer and disturbs none. The zero Range selects
// all events.
func ExampleJournal_Events() {
	ctx := context.Background()
	journal, end := exampleJournal(ctx, dynajournal.Config{})
	defer end()
	recoverExample(ctx, journal, "log-1", 10)

	atMost := int64(3)
	for event, err := range journal.Events(ctx, "log-1", dynajournal.Range{From: 4, To: 8, Limit: &atMost}) {
		check(err)
		text, err := dynajournal.Decode[string](ctx, event)
		check(err)
		fmt.Println(event.SequenceNumber, text)
	}
	// Output:
	// 4 e4
	// 5 e5
	// 6 e6
}

// The journal has the queries of the read journals of Akka and Pekko. This query ends with the last
// stored event.
func ExampleJournal_CurrentEventsByPersistenceID() {
	ctx := context.Background()
	journal, end := exampleJournal(ctx, dynajournal.Config{})
	defer end()
	recoverExample(ctx, journal, "account-1", 4)

	stored := int64(2) // the offset of the last event that the consumer has handled
	for event, err := range journal.CurrentEventsByPersistenceID(ctx, "account-1", stored+1, 0) {
		check(err)
		value, err := event.Payload(ctx)
		check(err)
		fmt.Println(event.Offset, value)
	}
	// Output:
	// 3 e3
	// 4 e4
}

// A live query returns the stored events, and then new events as they are written.
func ExampleJournal_EventsByPersistenceID() {
	ctx := context.Background()
	journal, end := exampleJournal(ctx, dynajournal.Config{})
	defer end()
	writer := recoverExample(ctx, journal, "account-1", 2)

	poll := dynajournal.Poll{Shortest: time.Millisecond, Longest: time.Second}
	for event, err := range journal.EventsByPersistenceID(ctx, "account-1", 1, 0, poll) {
		check(err)
		text, err := dynajournal.Decode[string](ctx, event.Event)
		check(err)
		fmt.Println(event.Offset, text)
		if event.Offset == 2 {
			_, err := writer.Append(ctx, "written meanwhile")
			check(err)
		}
		if event.Offset == 3 {
			break // a consumer stores the offset, and continues from the next one
		}
	}
	// Output:
	// 1 e1
	// 2 e2
	// 3 written meanwhile
}

// Persistence ids are listed in pages, here of two. A native journal lists them in sorted order.
func ExampleJournal_CurrentPersistenceIDs() {
	ctx := context.Background()
	journal, end := exampleJournal(ctx, dynajournal.Config{})
	defer end()
	for _, id := range []string{"order|3", "account|anna", "order|1", "order|2"} {
		recoverExample(ctx, journal, id, 1)
	}

	options := dynajournal.IDsOptions{Prefix: "order|", Limit: 2, Sorted: true}
	for {
		listed := 0
		for id, err := range journal.CurrentPersistenceIDs(ctx, options) {
			check(err)
			fmt.Println(id)
			options.After = id
			listed++
		}
		fmt.Println("---")
		if listed < options.Limit {
			break
		}
	}
	// Output:
	// order|1
	// order|2
	// ---
	// order|3
	// ---
}

// PersistenceIDs lists the existing ids, and then the ids of new entities.
func ExampleJournal_PersistenceIDs() {
	ctx := context.Background()
	journal, end := exampleJournal(ctx, dynajournal.Config{})
	defer end()
	recoverExample(ctx, journal, "account-1", 1)

	poll := dynajournal.Poll{Shortest: time.Millisecond}
	for id, err := range journal.PersistenceIDs(ctx, dynajournal.IDsOptions{}, poll) {
		check(err)
		fmt.Println(id)
		if id == "account-2" {
			break
		}
		recoverExample(ctx, journal, "account-2", 1)
	}
	// Output:
	// account-1
	// account-2
}
