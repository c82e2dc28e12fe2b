package dynajournal_test

import (
	"context"
	"fmt"

	"github.com/dynajournal/dynajournal"
)

// Events that are no longer needed because of a snapshot can be deleted. The highest sequence
// number stays.
func ExampleWriter_DeleteTo() {
	ctx := context.Background()
	journal, end := exampleJournal(ctx, dynajournal.Config{})
	defer end()
	writer := recoverExample(ctx, journal, "cart-1", 5)

	deleted, err := writer.DeleteTo(ctx, 3)
	check(err)
	bounds, err := journal.Bounds(ctx, "cart-1")
	check(err)
	fmt.Printf("removed %d, events %d to %d are left\n", deleted.Removed, bounds.Lowest, bounds.Highest)
	// Output: removed 3, events 4 to 5 are left
}

// A purge removes an entity. Within the fence window its numbers stay taken, so that a writer that
// was paused can't bring the entity back. The id can be used again at once.
func ExampleWriter_Purge() {
	ctx := context.Background()
	journal, end := exampleJournal(ctx, dynajournal.Config{})
	defer end()
	writer := recoverExample(ctx, journal, "customer-1", 5)

	purged, err := writer.Purge(ctx, dynajournal.PurgeOptions{})
	check(err)
	again := recoverExample(ctx, journal, "customer-1", 0)
	next, err := again.NextSequenceNumber(ctx)
	check(err)
	fmt.Printf("removed %d, the next event is number %d\n", purged.Removed, next)
	// Output: removed 5, the next event is number 7
}

// A snapshot saves the state at a sequence number. A recovery from the snapshot replays the later
// events.
func ExampleJournal_SaveSnapshot() {
	ctx := context.Background()
	journal, end := exampleJournal(ctx, dynajournal.Config{})
	defer end()
	recoverExample(ctx, journal, "counter-1", 5) // the state is the number of events

	metadata := dynajournal.SnapshotMetadata{PersistenceID: "counter-1", SequenceNumber: 3}
	_, err := journal.SaveSnapshot(ctx, metadata, int64(3))
	check(err)

	snapshot, found, err := journal.LoadSnapshot(ctx, "counter-1", dynajournal.SnapshotCriteria{})
	check(err)
	state, err := dynajournal.DecodeState[int64](ctx, snapshot)
	check(err)
	fmt.Println("found:", found, "state:", state, "at:", snapshot.SequenceNumber)

	options := dynajournal.RecoverOptions{Snapshot: snapshot.SequenceNumber}
	_, err = journal.Recover(ctx, "counter-1", options, func(e dynajournal.Event) error {
		state++
		fmt.Println("replayed", e.SequenceNumber)
		return nil
	})
	check(err)
	fmt.Println("state:", state)
	// Output:
	// found: true state: 3 at: 3
	// replayed 4
	// replayed 5
	// state: 5
}

// Criteria select snapshots by number and time. This example deletes all snapshots up to a number.
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
