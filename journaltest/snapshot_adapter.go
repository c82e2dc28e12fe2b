package journaltest

import (
	"context"
	"fmt"
	"iter"

	"github.com/dynajournal/dynajournal"
)

// AdaptSnapshots returns a snapshot store of the suite for a *dynajournal.Journal. Its states are
// stored with the serializer of byte slices.
func AdaptSnapshots(j *dynajournal.Journal) Snapshots { return snapshotAdapter{j} }

type snapshotAdapter struct{ journal *dynajournal.Journal }

// Save saves a snapshot.
func (a snapshotAdapter) Save(ctx context.Context, persistenceID string, s Snapshot) error {
	metadata := dynajournal.SnapshotMetadata{PersistenceID: persistenceID, SequenceNumber: s.SequenceNumber,
		Timestamp: s.Timestamp}
	if _, err := a.journal.SaveSnapshot(ctx, metadata, s.State); err != nil {
		return fmt.Errorf("save: %w", err)
	}
	return nil
}

// Load loads the selected snapshot.
func (a snapshotAdapter) Load(ctx context.Context, persistenceID string, c Criteria) (Snapshot, bool, error) {
	s, found, err := a.journal.LoadSnapshot(ctx, persistenceID, c.of())
	if err != nil || !found {
		return Snapshot{}, found, err
	}
	return snapshotOf(s), true, nil
}

// All reads the snapshots.
func (a snapshotAdapter) All(ctx context.Context, persistenceID string, c Criteria) iter.Seq2[Snapshot, error] {
	return func(yield func(Snapshot, error) bool) {
		for s, err := range a.journal.Snapshots(ctx, persistenceID, c.of()) {
			if !yield(snapshotOf(s), err) {
				return
			}
		}
	}
}

// Delete deletes snapshots.
func (a snapshotAdapter) Delete(ctx context.Context, persistenceID string, c Criteria) (int64, error) {
	n, err := a.journal.DeleteSnapshots(ctx, persistenceID, c.of())
	if err != nil {
		return n, fmt.Errorf("delete: %w", err)
	}
	return n, nil
}

func snapshotOf(s dynajournal.Snapshot) Snapshot {
	return Snapshot{s.SequenceNumber, s.Timestamp, s.Bytes}
}

// of returns the criteria of the journal.
func (c Criteria) of() dynajournal.SnapshotCriteria {
	return dynajournal.SnapshotCriteria{
		MinSequenceNumber: c.MinSequenceNumber, MaxSequenceNumber: c.MaxSequenceNumber,
		MinTimestamp: c.MinTimestamp, MaxTimestamp: c.MaxTimestamp,
	}
}
