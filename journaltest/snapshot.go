package journaltest

import (
	"context"
	"iter"
	"time"
)

// Snapshots is the snapshot store under test. Its methods may be called concurrently.
type Snapshots interface {
	// Save saves a snapshot. It replaces one of the same persistence id and sequence number.
	Save(ctx context.Context, persistenceID string, snapshot Snapshot) error
	// Load loads the snapshot that the criteria select. It reports false if no snapshot meets them.
	Load(ctx context.Context, persistenceID string, criteria Criteria) (Snapshot, bool, error)
	// All returns all snapshots that meet the criteria, in descending order of sequence numbers.
	All(ctx context.Context, persistenceID string, criteria Criteria) iter.Seq2[Snapshot, error]
	// Delete deletes all snapshots that meet the criteria, and returns their number.
	Delete(ctx context.Context, persistenceID string, criteria Criteria) (int64, error)
}

// Snapshot is a snapshot to save, or one that was read.
type Snapshot struct {
	SequenceNumber int64
	// Timestamp is exact to the millisecond.
	Timestamp time.Time
	State     []byte
}

// Criteria select snapshots. All limits are inclusive and apply together. A zero field means no
// limit.
type Criteria struct {
	MinSequenceNumber, MaxSequenceNumber int64
	// MinTimestamp and MaxTimestamp are exact to the millisecond.
	MinTimestamp, MaxTimestamp time.Time
}
