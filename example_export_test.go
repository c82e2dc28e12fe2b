package dynajournal_test

import (
	"context"
	"fmt"

	"github.com/dynajournal/dynajournal"
)

// Records reads a history as it is stored, for a copy or an export: here to another journal.
// Numbers, writers and deletions stay the same. The command has export and import for files.
func ExampleJournal_Records() {
	ctx := context.Background()
	source, end := exampleJournal(ctx, dynajournal.Config{})
	defer end()
	target, end := exampleJournal(ctx, dynajournal.Config{JournalName: "copy"})
	defer end()
	writer := recoverExample(ctx, source, "account-1", 5)
	_, err := writer.DeleteTo(ctx, 2)
	check(err)

	records := source.Records(ctx, "account-1", dynajournal.RecordsOptions{})
	result, err := target.PutRecords(ctx, "account-1", records, dynajournal.PutRecordsOptions{})
	check(err)
	fmt.Println("written:", result.Written, "highest:", result.Highest)
	for event, err := range target.Events(ctx, "account-1", dynajournal.Range{}) {
		check(err)
		fmt.Println(event.SequenceNumber, event.WriterUUID == writer.WriterUUID())
	}
	// Output:
	// written: 3 highest: 5
	// 3 true
	// 4 true
	// 5 true
}
