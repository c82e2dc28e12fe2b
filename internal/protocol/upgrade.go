package protocol

import (
	"context"
	"errors"
	"fmt"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/safeguard"
)

// Unwrap replaces the enveloped events of a partition by events in today's form, each only while it
// is still what was read. done is called for each of them: left is nil if it now has today's form,
// else why it was left as it is. Unwrap reports whether the partition holds anything.
func (s *Store) Unwrap(ctx context.Context, m *dynamo.Meter, pid string, p int64, done func(seq int64, left error) error) (bool, error) {
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
		if !safeguard.UnwrapUnchanged {
			put.Condition, put.Values = "", nil
		}
		err = s.Client.Put(ctx, m, put)
		if errors.Is(err, dynamo.ErrConditionFailed) { // deleted or unwrapped meanwhile
			return nil
		}
		if err != nil {
			return fmt.Errorf("unwrap %d: %w", seq, err)
		}
		return done(seq, nil)
	})
	return there, err
}
