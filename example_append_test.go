package dynajournal_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
)

// AppendAt writes an event only if the last event is still the one on which the caller based its
// decision.
func ExampleWriter_AppendAt() {
	ctx := context.Background()
	journal, end := exampleJournal(ctx, dynajournal.Config{})
	defer end()
	writer := recoverExample(ctx, journal, "page-1", 2)

	result, err := writer.AppendAt(ctx, 2, "edited by anna")
	check(err)
	fmt.Println("anna's edit is number", result.First)

	_, err = writer.AppendAt(ctx, 2, "edited by bob") // bob has not seen anna's edit
	version, ok := errors.AsType[*dynajournal.VersionError](err)
	fmt.Println(ok, "expected:", version.Expected, "last:", version.Last)
	// Output:
	// anna's edit is number 3
	// true expected: 2 last: 3
}

// All events of one Append call are one atomic write: every reader sees all of them or none.
func ExampleWriter_Append() {
	ctx := context.Background()
	journal, end := exampleJournal(ctx, dynajournal.Config{})
	defer end()
	writer, err := journal.Recover(ctx, "order-1", dynajournal.RecoverOptions{}, nil)
	check(err)

	result, err := writer.Append(ctx, "created", "item added", "item added", "paid")
	check(err)
	fmt.Printf("events %d to %d, requests: %d\n", result.First, result.Last, result.Cost.Requests)
	// Output: events 1 to 4, requests: 1
}

// AppendEach writes each event on its own, in order. An event that can't be stored is left out, and
// leaves no gap in the sequence numbers.
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

// Metadata and tags are stored with an event, and do not change its payload.
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
		value, err := event.Payload(ctx)
		check(err)
		fmt.Println(value, event.Metadata["tenant"], event.Tags, event.Time.IsZero())
	}
	// Output:
	// deposited north [money] false
}

// After an error a program needs to know whether its events may be stored. In this example the
// write is done, but every response is lost.
func ExampleMaybeApplied() {
	ctx := context.Background()
	engine, err := embedded.OpenMemory()
	check(err)
	defer engine.Close()
	config := dynajournal.Config{AWS: engine.AWSConfig(), Retries: -1}
	check(dynajournal.CreateTables(ctx, config, dynajournal.TableOptions{}))
	journal, err := dynajournal.Open(ctx, config)
	check(err)
	defer journal.Close()
	writer := recoverExample(ctx, journal, "account-1", 1)

	_, err = writer.Append(ctx, struct{}{}) // the type has no serializer
	fmt.Println("rejected, may be applied:", dynajournal.MaybeApplied(err))

	remove, err := engine.Inject(embedded.Fault{Effect: embedded.EffectReset, Applied: true, Operation: "PutItem"})
	check(err)
	_, err = writer.Append(ctx, "deposited")
	fmt.Println("lost, may be applied:", dynajournal.MaybeApplied(err))
	remove()

	_, err = journal.Recover(ctx, "account-1", dynajournal.RecoverOptions{}, func(e dynajournal.Event) error {
		fmt.Println("found", e.SequenceNumber)
		return nil
	})
	check(err)
	// Output:
	// rejected, may be applied: false
	// lost, may be applied: true
	// found 1
	// found 2
}

// A writer that finds another writer's event has ended. Recover again, decide again on the current
// state, and append to it.
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
