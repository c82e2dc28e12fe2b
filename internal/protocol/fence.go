package protocol

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// NotExists is the condition that nothing is stored at a key. Every event and seal is put under
// this condition, so only one of two writers can take a number.
const NotExists = "attribute_not_exists(" + layout.AttrPar + ")"

// Exists is the condition that something is stored at a key.
const Exists = "attribute_exists(" + layout.AttrPar + ")"

// Seal closes a number for good, unless something is stored there. It returns the slot that is
// stored afterwards: the seal, or the item that was there before. purged is the last number of the
// purged lives. A seal of the first number of the present life lists the persistence id.
func (s *Store) Seal(ctx context.Context, m *dynamo.Meter, pid string, seq, purged int64) (layout.Slot, error) {
	return s.closeInLife(ctx, m, pid, seq, purged, s.Keys.EncodeSeal(pid, seq))
}

// Fence takes a number before the low mark is raised to low, unless something is stored there. It
// returns the slot that is stored afterwards. purged is the last number of the purged lives.
func (s *Store) Fence(ctx context.Context, m *dynamo.Meter, pid string, seq, low, purged int64) (layout.Slot, error) {
	return s.closeInLife(ctx, m, pid, seq, purged, s.Keys.EncodeFence(pid, seq, low))
}

// closeInLife does the same as close, and lists the persistence id at the first number of its
// present life.
func (s *Store) closeInLife(
	ctx context.Context, m *dynamo.Meter, pid string, seq, purged int64, item layout.Attributes,
) (layout.Slot, error) {
	if seq == purged+1 {
		maps.Copy(item, s.ids(pid))
	}
	return s.close(ctx, m, pid, seq, item)
}

// PurgeFence takes a number before a purge raises the low mark to low, unless something is stored
// there. It returns the slot that is stored afterwards. The fence does not expire before the low
// mark is raised over it: a recovery that reads the fence raises the low mark over the numbers
// below it. A recovery that found nothing in its place would write at one of these numbers.
func (s *Store) PurgeFence(ctx context.Context, m *dynamo.Meter, pid string, seq, low int64) (layout.Slot, error) {
	return s.close(ctx, m, pid, seq, s.Keys.EncodePurgeFence(pid, seq, low))
}

// close puts an item at a number, unless something is stored there. It returns the slot that is
// stored afterwards.
func (s *Store) close(
	ctx context.Context, m *dynamo.Meter, pid string, seq int64, item layout.Attributes,
) (layout.Slot, error) {
	slot, taken, err := s.putIfFree(ctx, m, pid, seq, dynamo.Put{Item: item, Before: s.Before})
	if err != nil {
		return layout.Slot{}, fmt.Errorf("seal %d: %w", seq, err)
	}
	if taken {
		return slot, nil
	}
	s.sealed(ctx, pid, seq)
	return s.Keys.DecodeSlot(pid, seq/layout.PartitionSize, item)
}

// putIfFree puts an item under the condition that nothing is stored at its number. If something is
// stored there, putIfFree returns it and reports true.
func (s *Store) putIfFree(
	ctx context.Context, m *dynamo.Meter, pid string, seq int64, put dynamo.Put,
) (slot layout.Slot, taken bool, err error) {
	put.Table, put.Condition = s.Table, NotExists
	err = s.Client.Put(ctx, m, put)
	if !errors.Is(err, dynamo.ErrConditionFailed) {
		return layout.Slot{}, false, err
	}
	slot, err = s.MetSlot(ctx, m, pid, seq, dynamo.OldItem(err))
	return slot, err == nil, err
}
