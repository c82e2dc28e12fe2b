package journaltest

import (
	"context"
	"iter"
	"time"
)

// Snapshots is what the suite asks of a snapshot store. Its methods may be called from several goroutines at once.
type Snapshots interface {
	// Save saves a snapshot; one of the same persistence id and sequence number is replaced.
	Save(ctx context.Context, persistenceID string, snapshot Snapshot) error
	// Load loads the snapshot that the criteria select; false if there is none.
	Load(ctx context.Context, persistenceID string, criteria Criteria) (Snapshot, bool, error)
	// All reads all snapshots that meet the criteria, those with the highest sequence numbers first.
	All(ctx context.Context, persistenceID string, criteria Criteria) iter.Seq2[Snapshot, error]
	// Delete deletes all snapshots that meet the criteria, and returns how many there were.
	Delete(ctx context.Context, persistenceID string, criteria Criteria) (int64, error)
}

// Snapshot is one snapshot, as it is saved and as it is read.
type Snapshot struct {
	SequenceNumber int64
	// Timestamp counts to the millisecond.
	Timestamp time.Time
	State     []byte
}

// Criteria bound the snapshots that are meant: all bounds are inclusive and count together, a zero value is no bound.
type Criteria struct {
	MinSequenceNumber, MaxSequenceNumber int64
	// MinTimestamp and MaxTimestamp count to the millisecond.
	MinTimestamp, MaxTimestamp time.Time
}
