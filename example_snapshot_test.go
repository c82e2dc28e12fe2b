package dynajournal_test

import (
	"context"
	"fmt"

	"github.com/dynajournal/dynajournal"
)

// A snapshot saves the state at a sequence number. A recovery from it replays what came later.
func ExampleJournal_SaveSnapshot() {
	ctx := context.Background()
	journal, end := exampleJournal(ctx, dynajournal.Config{})
	defer end()
	recoverExample(ctx, journal, "counter-1", 5) // the state is how many events there are

	metadata := dynajournal.SnapshotMetadata{PersistenceID: "counter-1", SequenceNumber: 3}
	_, err := journal.SaveSnapshot(ctx, metadata, int64(3))
	check(err)

	snapshot, found, err := journal.LoadSnapshot(ctx, "counter-1", dynajournal.SnapshotCriteria{})
	check(err)
	state, err := dynajournal.DecodeState[int64](snapshot)
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
