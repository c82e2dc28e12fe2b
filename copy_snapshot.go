package dynajournal

import (
	"context"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/lifetime"
)

// CopySnapshot saves a snapshot of another journal with its sequence number and timestamp. It
// reports whether it has saved it: false if the same snapshot is stored already. It may be repeated
// after an error or a crash.
//
// Errors: [ErrContentConflict] if another snapshot of the same number is stored, and those of
// [Journal.SaveSnapshot] and [Journal.LoadSnapshot].
func (j *Journal) CopySnapshot(ctx context.Context, s Snapshot) (bool, error) {
	if err := j.checkSnapshot(s.SnapshotMetadata, 0); err != nil {
		return false, err
	}
	if !layout.IsUTF8(s.SerializerManifest) {
		return false, &ArgumentError{"Snapshot.SerializerManifest", s.SerializerManifest, layout.ErrNotUTF8.Error()}
	}
	at := SnapshotCriteria{SequenceNumber: &s.SequenceNumber}
	there, found, err := j.LoadSnapshot(ctx, s.PersistenceID, at)
	if err != nil {
		return false, err
	}
	if found {
		if there.Timestamp.UnixMilli() != s.Timestamp.UnixMilli() || !sameState(there, s) {
			return false, &ContentConflictError{s.PersistenceID, s.SequenceNumber, "another snapshot stands here"}
		}
		return false, nil
	}
	var m dynamo.Meter
	err = j.core.Operate(ctx, func(ctx context.Context, _ *lifetime.Operation) error {
		err := j.core.Saved.Copy(ctx, &m, &layout.Snapshot{
			PersistenceID: s.PersistenceID,
			SequenceNr:    s.SequenceNumber,
			Timestamp:     s.Timestamp.UnixMilli(),
			SerializerID:  s.SerializerID,
			Manifest:      s.SerializerManifest,
			Bytes:         s.Bytes,
		})
		return m.Mark(j.core.SnapshotError("copy a snapshot", s.PersistenceID, err))
	})
	return err == nil, err
}

// sameState reports whether two snapshots have the same serialized state.
func sameState(a, b Snapshot) bool {
	return a.SerializerID == b.SerializerID && a.SerializerManifest == b.SerializerManifest &&
		string(a.Bytes) == string(b.Bytes)
}
