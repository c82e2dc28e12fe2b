package dynajournal_test

import (
	"context"
	"fmt"

	"github.com/dynajournal/dynajournal"
)

// Criteria select snapshots by number and time. All of a number at most are deleted at once.
func ExampleJournal_DeleteSnapshots() {
	ctx := context.Background()
	journal, end := exampleJournal(ctx, dynajournal.Config{})
	defer end()
	recoverExample(ctx, journal, "counter-1", 30)
	for _, number := range []int64{10, 20, 30} {
		metadata := dynajournal.SnapshotMetadata{PersistenceID: "counter-1", SequenceNumber: number}
		_, err := journal.SaveSnapshot(ctx, metadata, number)
		check(err)
	}

	deleted, err := journal.DeleteSnapshots(ctx, "counter-1", dynajournal.SnapshotCriteria{MaxSequenceNumber: 19})
	check(err)
	fmt.Println("deleted:", deleted)
	for snapshot, err := range journal.Snapshots(ctx, "counter-1", dynajournal.SnapshotCriteria{}) {
		check(err)
		fmt.Println("left:", snapshot.SequenceNumber)
	}
	// Output:
	// deleted: 1
	// left: 30
	// left: 20
}
