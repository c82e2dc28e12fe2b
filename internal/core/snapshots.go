package core

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/lifetime"
	"github.com/dynajournal/dynajournal/internal/outside"
	"github.com/dynajournal/dynajournal/internal/protocol"
	"github.com/dynajournal/dynajournal/internal/snapshots"
	"github.com/dynajournal/dynajournal/internal/states"
)

// LoadSnapshot loads the snapshot with the highest sequence number within the criteria, or, if
// newest is set, the one with the newest timestamp. It returns nil if no snapshot is within the
// criteria.
func (j *Journal) LoadSnapshot(
	ctx context.Context, pid string, c snapshots.Criteria, newest bool,
) (*layout.Snapshot, error) {
	if err := j.CheckReadable(pid); err != nil {
		return nil, j.SnapshotError("load a snapshot", pid, err)
	}
	var loaded *layout.Snapshot
	o := j.observe(OperationLoadSnapshot, pid)
	err := j.Admit(o.metered(ctx), dynamo.ForSnapshot, func(ctx context.Context, _ *lifetime.Operation, _ func()) error {
		m := &dynamo.Meter{}
		var err error
		if newest {
			loaded, err = j.Saved.Newest(ctx, m, pid, c)
			return err
		}
		var damage error
		err = j.Saved.Each(ctx, m, pid, c, 1, func(s layout.Snapshot, damaged error) bool {
			loaded, damage = &s, damaged
			return false
		})
		return errors.Join(err, damage)
	})
	err, found := j.SnapshotError("load a snapshot", pid, err), int64(0)
	if loaded != nil && err == nil {
		found = 1
	}
	o.end(ctx, found, dynamo.Cost{}, err)
	if err != nil {
		return nil, err
	}
	return loaded, nil
}

// SaveSnapshot saves a snapshot, and returns the cost. A save that lands after a purge would leave
// a state that was purged. So in a native journal SaveSnapshot reads the low mark afterwards. If
// the snapshot is of a purged life, SaveSnapshot deletes the snapshot and returns a
// *protocol.PurgedError.
func (j *Journal) SaveSnapshot(ctx context.Context, s *layout.Snapshot) (dynamo.Cost, error) {
	rejected := func(err error) error {
		return j.PublicError(&protocol.RejectedError{PersistenceID: s.PersistenceID, Err: err})
	}
	if !layout.IsUTF8(s.Manifest) {
		return dynamo.Cost{}, rejected(ErrManifestNotText)
	}
	m, o := &dynamo.Meter{}, j.observe(OperationSaveSnapshot, s.PersistenceID)
	err := j.Operate(ctx, dynamo.ForSnapshot, func(ctx context.Context, _ *lifetime.Operation) error {
		err := j.saveSnapshot(ctx, m, s)
		_, old := errors.AsType[*outside.OldError](err)
		if !dynamo.MaybeApplied(err) && (old || errors.Is(err, snapshots.ErrTooLarge)) {
			err = rejected(err)
		}
		return m.Mark(j.SnapshotError("save a snapshot", s.PersistenceID, err))
	})
	o.end(ctx, 1, m.Cost(), err)
	return m.Cost(), err
}

func (j *Journal) saveSnapshot(ctx context.Context, m *dynamo.Meter, s *layout.Snapshot) error {
	if err := j.Saved.Save(ctx, m, s); err != nil || !j.Native() {
		return err
	}
	marks, err := j.Store.LowMark(ctx, m, s.PersistenceID)
	if err != nil || s.SequenceNr > marks.Low.Purged {
		return j.InTable(j.Table, err)
	}
	only := snapshots.UpTo(s.SequenceNr)
	only.MinSeq = s.SequenceNr
	if _, err := j.Saved.Delete(ctx, m, s.PersistenceID, only); err != nil {
		return err
	}
	return j.PublicError(&protocol.PurgedError{PersistenceID: s.PersistenceID, Known: s.SequenceNr, Purged: marks.Low.Purged})
}

// EachSnapshot passes the snapshots within the criteria to each, outside of the operation, the
// highest sequence number first. damage is the error if a snapshot can't be read. EachSnapshot
// stops at the first error of each, and returns it.
func (j *Journal) EachSnapshot(
	ctx context.Context, pid string, c snapshots.Criteria, each func(s *layout.Snapshot, damage error) error,
) error {
	err := j.CheckReadable(pid)
	if err == nil {
		err = j.Operate(ctx, dynamo.ForSnapshot, func(ctx context.Context, op *lifetime.Operation) error {
			var ended error
			err := j.Saved.Each(ctx, &dynamo.Meter{}, pid, c, 0, func(s layout.Snapshot, damage error) bool {
				damage = j.SnapshotError("read a snapshot", pid, damage)
				ended = op.Outside(func() error { return each(&s, damage) })
				return ended == nil
			})
			return cmp.Or(err, ended)
		})
	}
	return j.SnapshotError("read snapshots", pid, err)
}

// DeleteSnapshots deletes the snapshots within the criteria, and returns the number of deleted
// ones. before, if it is not nil, is called before each attempt of a deletion. An error of before
// ends the deletion.
func (j *Journal) DeleteSnapshots(
	ctx context.Context, pid string, c snapshots.Criteria, before func() error,
) (int64, error) {
	if err := j.CheckReadable(pid); err != nil {
		return 0, j.SnapshotError("delete snapshots", pid, err)
	}
	deleted, o := int64(0), j.observe(OperationDeleteSnapshots, pid)
	err := j.Operate(o.metered(ctx), dynamo.ForSnapshot, func(ctx context.Context, _ *lifetime.Operation) error {
		var err error
		m := &dynamo.Meter{}
		deleted, err = j.Saved.While(before).Delete(ctx, m, pid, c)
		return m.Mark(err)
	})
	err = j.SnapshotError("delete snapshots", pid, err)
	o.end(ctx, deleted, dynamo.Cost{}, err)
	return deleted, err
}

// SnapshotError returns the public form of the error of an operation on snapshots.
func (j *Journal) SnapshotError(what, pid string, err error) error {
	if err == nil {
		return nil
	}
	if damaged, ok := errors.AsType[*snapshots.DamagedError](err); ok {
		err = j.PublicError(&DamagedSnapshotError{pid, damaged.SequenceNr, j.InTable(j.SnapshotTable, damaged.Err)})
	}
	return fmt.Errorf("%s of %q: %w", what, pid, j.InTable(j.SnapshotTable, err))
}

// OnState runs an operation on the durable state of an entity, and returns its cost. Errors are in
// their public form, except states.ErrConflict.
func (j *Journal) OnState(
	ctx context.Context, pid string, do func(context.Context, *states.Store, *dynamo.Meter) error,
) (dynamo.Cost, error) {
	if err := j.CheckID(pid); err != nil {
		return dynamo.Cost{}, err
	}
	var m dynamo.Meter
	err := j.Operate(ctx, dynamo.ForState, func(ctx context.Context, _ *lifetime.Operation) error {
		return do(ctx, j.States, &m)
	})
	if err == nil || errors.Is(err, states.ErrConflict) {
		return m.Cost(), err
	}
	return m.Cost(), fmt.Errorf("state of %q: %w", pid, j.InTable(j.SnapshotTable, err))
}
