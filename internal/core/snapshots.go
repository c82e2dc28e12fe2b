package core

import (
	"context"
	"errors"
	"fmt"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/lifetime"
	"github.com/dynajournal/dynajournal/internal/snapshots"
	"github.com/dynajournal/dynajournal/internal/states"
)

// LoadSnapshot loads the snapshot with the highest sequence number within the criteria, or with the
// newest timestamp. It returns nil if there is none.
func (j *Journal) LoadSnapshot(
	ctx context.Context, pid string, c snapshots.Criteria, newest bool,
) (*layout.Snapshot, error) {
	var loaded *layout.Snapshot
	err := j.Admit(ctx, func(ctx context.Context, _ *lifetime.Operation, _ func()) error {
		ctx, m := dynamo.Hedged(ctx), &dynamo.Meter{}
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
	if err != nil {
		return nil, j.SnapshotError("load a snapshot", pid, err)
	}
	return loaded, nil
}

// DeleteSnapshots deletes the snapshots within the criteria, and returns how many it has deleted.
// before is called before each attempt of a deletion, which ends with its error; nil is no check.
func (j *Journal) DeleteSnapshots(
	ctx context.Context, pid string, c snapshots.Criteria, before func() error,
) (int64, error) {
	if err := j.CheckReadable(pid); err != nil {
		return 0, j.SnapshotError("delete snapshots", pid, err)
	}
	deleted := int64(0)
	err := j.Operate(ctx, func(ctx context.Context, _ *lifetime.Operation) error {
		var err error
		m := &dynamo.Meter{}
		deleted, err = j.Saved.While(before).Delete(ctx, m, pid, c)
		return m.Mark(err)
	})
	return deleted, j.SnapshotError("delete snapshots", pid, err)
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

// OnState runs an operation on the durable state of an entity, and returns what it has cost. Errors
// are public ones, but for states.ErrConflict.
func (j *Journal) OnState(
	ctx context.Context, pid string, do func(context.Context, *states.Store, *dynamo.Meter) error,
) (dynamo.Cost, error) {
	if err := j.CheckID(pid); err != nil {
		return dynamo.Cost{}, err
	}
	var m dynamo.Meter
	err := j.Operate(ctx, func(ctx context.Context, _ *lifetime.Operation) error {
		return do(ctx, j.States, &m)
	})
	if err == nil || errors.Is(err, states.ErrConflict) {
		return m.Cost(), err
	}
	return m.Cost(), fmt.Errorf("state of %q: %w", pid, j.InTable(j.SnapshotTable, err))
}
