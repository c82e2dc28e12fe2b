package protocol

import (
	"context"
	"errors"
	"fmt"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// UpgradeEvents converts the enveloped events of a persistence id to the current form, each only if
// it is unchanged since it was read. done is called for each of these events. left is nil if the
// event was converted, and otherwise the reason why it was not.
func (s *Store) UpgradeEvents(
	ctx context.Context, pid string, done func(seq int64, left error) error, pace Pace,
) (dynamo.Cost, error) {
	u := paced{call: pace}
	marks, highest, err := s.Bounds(ctx, &u.meter, pid)
	if err != nil {
		return u.meter.Cost(), err
	}
	err = s.EachExisting(ctx, &u.meter, pid, marks, 0, highest/layout.PartitionSize, func(p int64) (bool, error) {
		there, err := s.unwrap(ctx, &u.meter, pid, p, func(seq int64, left error) error {
			if err := done(seq, left); err != nil {
				return err
			}
			return u.pace(ctx)
		})
		if err == nil {
			err = u.pace(ctx)
		}
		return there, err
	})
	return u.meter.Cost(), u.meter.Mark(err)
}

// unwrap converts the events of one partition. It reports whether the partition has any item.
func (s *Store) unwrap(
	ctx context.Context, m *dynamo.Meter, pid string, p int64, done func(seq int64, left error) error,
) (bool, error) {
	if !s.Keys.PartitionFits(pid, p) {
		return false, nil
	}
	there := false
	first := p * layout.PartitionSize
	err := s.eachOf(ctx, m, p, s.partitionQuery(pid, max(first, 1), partitionEnd(first)), func(item layout.Attributes) error {
		there = true
		seq, split, err := s.Keys.Unwrap(pid, p, item)
		if err != nil || split == nil {
			if err != nil {
				err = done(seq, err)
			}
			return err
		}
		put := dynamo.Put{
			Table:     s.Table,
			Item:      split,
			Condition: layout.AttrPay + " = :pay AND attribute_not_exists(" + layout.AttrEvent + ")",
			Values:    layout.Attributes{":pay": item[layout.AttrPay]},
		}
		err = s.Client.Put(ctx, m, put)
		if errors.Is(err, dynamo.ErrConditionFailed) { // deleted or unwrapped meanwhile
			return nil
		}
		if err != nil {
			return fmt.Errorf("convert event %d: %w", seq, err)
		}
		return done(seq, nil)
	})
	return there, err
}
