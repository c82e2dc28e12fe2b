package dynajournal

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/lifetime"
	"github.com/dynajournal/dynajournal/internal/protocol"
	"github.com/dynajournal/dynajournal/internal/snapshots"
	"github.com/dynajournal/dynajournal/serialization"
)

// SnapshotMetadata identifies a snapshot.
type SnapshotMetadata struct {
	PersistenceID string
	// SequenceNumber is the number of the last event that the state contains, at least 1. Take it
	// from that event: the writer's next number minus 1 can be higher, after an incomplete atomic
	// write. A snapshot that a JVM has saved before the first event has the number 0; CopySnapshot
	// accepts it, SaveSnapshot does not.
	SequenceNumber int64
	// Timestamp is the time at which the snapshot was saved, in milliseconds. SaveSnapshot replaces
	// the zero time with the current time.
	Timestamp time.Time
}

// Snapshot is a saved state of an entity. [Snapshot.State] and [DecodeState] decode its bytes.
type Snapshot struct {
	SnapshotMetadata
	// SerializerID, SerializerManifest and Bytes are the serialized state.
	SerializerID       int32
	SerializerManifest string
	Bytes              []byte

	registry *serialization.Registry
}

// Serialized returns the state as stored. SaveSnapshot writes it as it is.
func (s Snapshot) Serialized() serialization.Payload {
	return serialization.Payload{SerializerID: s.SerializerID, Manifest: s.SerializerManifest, Bytes: s.Bytes}
}

// State returns the state, decoded by Config.Serialization.
//
// The error is serialization.ErrUnknownSerializer if the serializer or the manifest is not
// registered, or another decoding error. ctx is used only to read a state from a
// [serialization.PayloadStore].
func (s Snapshot) State(ctx context.Context) (any, error) {
	v, err := s.registry.Decode(ctx, s.Serialized())
	if err != nil {
		return nil, fmt.Errorf("decode the snapshot of %q at %d: %w", s.PersistenceID, s.SequenceNumber, err)
	}
	return v, nil
}

// DecodeState decodes the state of a snapshot as a T, using [Snapshot.State]. A state of another
// type is an error.
func DecodeState[T any](ctx context.Context, s Snapshot) (T, error) {
	var none T
	v, err := s.State(ctx)
	if err != nil {
		return none, err
	}
	t, ok := v.(T)
	if !ok {
		return t, fmt.Errorf("decode the snapshot of %q at %d: it is a %T, not a %T", s.PersistenceID, s.SequenceNumber,
			v, t)
	}
	return t, nil
}

// SnapshotCriteria selects the snapshots that meet all its bounds, which are inclusive. A zero
// field is no bound, so the zero SnapshotCriteria selects all snapshots. A lower bound above the
// upper bound selects none.
type SnapshotCriteria struct {
	// MinSequenceNumber and MaxSequenceNumber are the lowest and the highest sequence number.
	MinSequenceNumber, MaxSequenceNumber int64
	// SequenceNumber selects only the snapshot with this number; nil is no bound. 0 is the number
	// of a snapshot that a JVM has saved before the first event. Only SequenceNumber, or no bound
	// at all, selects that snapshot.
	SequenceNumber *int64
	// MinTimestamp and MaxTimestamp are the oldest and the newest timestamp, in milliseconds.
	MinTimestamp, MaxTimestamp time.Time
}

// bounds checks the criteria, and returns their internal form.
func (c SnapshotCriteria) bounds() (snapshots.Criteria, error) {
	b := snapshots.Everything()
	switch {
	case c.MinSequenceNumber < 0:
		return b, &ArgumentError{"SnapshotCriteria.MinSequenceNumber", c.MinSequenceNumber, core.MustNotBeNegative}
	case c.MaxSequenceNumber < 0:
		return b, &ArgumentError{"SnapshotCriteria.MaxSequenceNumber", c.MaxSequenceNumber, core.MustNotBeNegative}
	case c.SequenceNumber != nil && *c.SequenceNumber < 0:
		return b, &ArgumentError{"SnapshotCriteria.SequenceNumber", *c.SequenceNumber, core.MustNotBeNegative}
	}
	b.MinSeq = c.MinSequenceNumber
	if c.MaxSequenceNumber != 0 {
		b.MaxSeq = c.MaxSequenceNumber
	}
	if c.SequenceNumber != nil {
		b.MinSeq, b.MaxSeq = max(b.MinSeq, *c.SequenceNumber), min(b.MaxSeq, *c.SequenceNumber)
	}
	if !c.MinTimestamp.IsZero() {
		b.MinTS = c.MinTimestamp.UnixMilli()
		if c.MinTimestamp.Sub(time.UnixMilli(b.MinTS)) > 0 {
			b.MinTS++ // the millisecond began before MinTimestamp
		}
	}
	if !c.MaxTimestamp.IsZero() {
		b.MaxTS = c.MaxTimestamp.UnixMilli()
	}
	return b, nil
}

// SaveSnapshot saves a state, and replaces a snapshot of the same persistence id and sequence
// number. Config.Serialization encodes the state. A [serialization.Payload] is written as it is. If
// it refers to a payload of serialization.External, it must be written within half an hour. A state
// that does not fit into one item is split over several; a reader finds all of it or nothing.
//
// Saving is not fenced: the state of a writer that has ended is also right, unless the persistence
// id was purged meanwhile. In a native journal SaveSnapshot checks for a purge after it has saved.
// If there was one, it deletes the snapshot again, and returns [ErrPurged].
//
// Errors: [ErrRejected] (the state can't be serialized, or is larger than Config.MaxSnapshotBytes,
// or half an hour has passed since its payload was put to the store of serialization.External),
// [ErrPurged], [ErrInvalidArgument], [ErrTableNotFound], [ErrCollectionFull], [ErrClosed], and
// request errors. After a request error the snapshot may be saved ([MaybeApplied] reports whether).
// It may be saved again.
func (j *Journal) SaveSnapshot(ctx context.Context, metadata SnapshotMetadata, state any) (Cost, error) {
	if err := j.checkSnapshot(metadata, 1); err != nil {
		return Cost{}, err
	}
	p, put, err := j.core.EncodePayload(ctx, state)
	if err != nil {
		return Cost{}, &RejectedError{PersistenceID: metadata.PersistenceID, Index: 0, Err: err}
	}
	if metadata.Timestamp.IsZero() {
		metadata.Timestamp = j.core.Clock.Wall()
	}
	cost, err := j.core.SaveSnapshot(ctx, &layout.Snapshot{
		PersistenceID: metadata.PersistenceID,
		SequenceNr:    metadata.SequenceNumber,
		Timestamp:     metadata.Timestamp.UnixMilli(),
		SerializerID:  p.SerializerID,
		Manifest:      p.Manifest,
		Bytes:         p.Bytes,
		Outside:       put,
	})
	return Cost(cost), err
}

// checkSnapshot returns an *ArgumentError if the metadata of a snapshot are wrong. lowest is the
// lowest sequence number that the snapshot may have.
func (j *Journal) checkSnapshot(m SnapshotMetadata, lowest int64) error {
	if m.SequenceNumber < lowest || m.SequenceNumber > MaxSequenceNumber {
		reason := fmt.Sprintf("it must be from %d to %d", lowest, MaxSequenceNumber)
		return &ArgumentError{"SnapshotMetadata.SequenceNumber", m.SequenceNumber, reason}
	}
	return j.core.CheckID(m.PersistenceID)
}

// LoadSnapshot loads the snapshot with the highest sequence number among those that meet the
// criteria; see also Config.SnapshotNewestByTimestamp. It reports false if there is none.
//
// If that snapshot can't be read, the error is a *[DamagedSnapshotError]. LoadSnapshot does not
// load an older one in its place, because the events between the two may be deleted: see
// DamagedSnapshotError.
//
// Errors: [ErrInvalidArgument], [ErrCorruptItem], [ErrTableNotFound], [ErrClosed], and request
// errors.
func (j *Journal) LoadSnapshot(
	ctx context.Context, persistenceID string, criteria SnapshotCriteria,
) (Snapshot, bool, error) {
	bounds, err := criteria.bounds()
	if err != nil {
		return Snapshot{}, false, j.core.SnapshotError("load a snapshot", persistenceID, err)
	}
	newest := j.core.SnapshotNewestByTimestamp && criteria.MinSequenceNumber == 0 && criteria.MaxSequenceNumber == 0 &&
		criteria.SequenceNumber == nil
	loaded, err := j.core.LoadSnapshot(ctx, persistenceID, bounds, newest)
	if err != nil || loaded == nil {
		return Snapshot{}, false, err
	}
	return j.snapshot(loaded), true, nil
}

// Snapshots reads all snapshots that meet the criteria, in descending order of their sequence
// numbers. A snapshot that can't be read is returned without its state and with a
// *[DamagedSnapshotError], and the sequence continues. After any other error the sequence ends.
// Errors are those documented on [Journal.LoadSnapshot].
func (j *Journal) Snapshots(
	ctx context.Context, persistenceID string, criteria SnapshotCriteria,
) iter.Seq2[Snapshot, error] {
	return func(yield func(Snapshot, error) bool) {
		bounds, err := criteria.bounds()
		if err != nil {
			yield(Snapshot{}, j.core.SnapshotError("read snapshots", persistenceID, err))
			return
		}
		err = j.core.EachSnapshot(ctx, persistenceID, bounds, func(s *layout.Snapshot, damage error) error {
			if !yield(j.snapshot(s), damage) {
				return protocol.ErrStop
			}
			return nil
		})
		if err != nil && !errors.Is(err, protocol.ErrStop) {
			yield(Snapshot{}, err)
		}
	}
}

// DeleteSnapshots deletes all snapshots that meet the criteria, and returns how many it has
// deleted. To delete a single snapshot, set SequenceNumber. It is not an error if there are none.
//
// Errors: [ErrInvalidArgument], [ErrTableNotFound], [ErrClosed], and request errors. After a
// request error some snapshots may be deleted ([MaybeApplied] reports whether). The call may be
// repeated.
func (j *Journal) DeleteSnapshots(ctx context.Context, persistenceID string, criteria SnapshotCriteria) (int64, error) {
	bounds, err := criteria.bounds()
	if err != nil {
		return 0, j.core.SnapshotError("delete snapshots", persistenceID, err)
	}
	return j.core.DeleteSnapshots(ctx, persistenceID, bounds, nil)
}

// snapshot returns the public form of a stored snapshot.
func (j *Journal) snapshot(s *layout.Snapshot) Snapshot {
	return Snapshot{
		SnapshotMetadata: SnapshotMetadata{
			PersistenceID:  s.PersistenceID,
			SequenceNumber: s.SequenceNr,
			Timestamp:      time.UnixMilli(s.Timestamp).UTC(),
		},
		SerializerID:       s.SerializerID,
		SerializerManifest: s.Manifest,
		Bytes:              s.Bytes,
		registry:           j.core.Serialization,
	}
}

// CopySnapshot saves a snapshot of another journal with its sequence number and timestamp. It
// reports whether it has saved the snapshot: false if the same snapshot is already stored. It may
// be repeated after an error or a crash.
//
// Errors: [ErrContentConflict] if a different snapshot is stored at that number, and the errors
// documented on [Journal.SaveSnapshot] and [Journal.LoadSnapshot].
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
			return false, &ContentConflictError{s.PersistenceID, s.SequenceNumber, "a different snapshot is stored in the target"}
		}
		return false, nil
	}
	var m dynamo.Meter
	err = j.core.Operate(ctx, dynamo.ForSnapshot, func(ctx context.Context, _ *lifetime.Operation) error {
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
