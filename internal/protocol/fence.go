package protocol

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// NotExists is the condition that nothing is stored at a key. Every event and seal is put under it:
// of two writers only one can take a number.
const NotExists = "attribute_not_exists(" + layout.AttrPar + ")"

// Exists is the condition that something is stored at a key.
const Exists = "attribute_exists(" + layout.AttrPar + ")"

// Seal closes a number for good, unless something is stored there. It returns what is stored
// afterwards: the seal, or the item that was there before.
func (s *Store) Seal(ctx context.Context, m *dynamo.Meter, pid string, seq int64) (layout.Slot, error) {
	return s.close(ctx, m, pid, seq, s.Keys.EncodeSeal(pid, seq))
}

// Fence takes a number before the low mark is raised to low, unless something is stored there. It
// puts a tombstone if expires is set, otherwise a seal. It returns what is stored afterwards.
func (s *Store) Fence(ctx context.Context, m *dynamo.Meter, pid string, seq, low, expires int64) (layout.Slot, error) {
	return s.close(ctx, m, pid, seq, s.Keys.EncodeFence(pid, seq, low, expires))
}

func (s *Store) close(
	ctx context.Context, m *dynamo.Meter, pid string, seq int64, item layout.Attributes,
) (layout.Slot, error) {
	// A persistence id stays listed if its first number is sealed.
	if seq == 1 && !s.Shared() {
		maps.Copy(item, s.Keys.IDsAttributes(pid, s.IDsShards))
	}
	slot, taken, err := s.putIfFree(ctx, m, pid, seq, dynamo.Put{Item: item, Before: s.Before})
	if err != nil {
		return layout.Slot{}, fmt.Errorf("seal %d: %w", seq, err)
	}
	if !taken {
		return s.Keys.DecodeSlot(pid, seq/layout.PartitionSize, item)
	}
	return slot, nil
}

// Hold replaces the tombstone of a slot by a fence, which does not expire, and which records the
// value that the low mark is about to be raised to. It reports false if the tombstone is gone or
// was replaced.
func (s *Store) Hold(
	ctx context.Context, m *dynamo.Meter, pid string, slot layout.Slot, low layout.LowMark,
) (bool, error) {
	same, values := layout.AttrExpires+" = :expires", dynamo.Attributes{":expires": number(slot.Expires)}
	// The fence of a purge has the same expiry as the tombstone that replaces it, if both are put
	// in the same second. A late hold of the fence would stay for ever in place of the tombstone.
	if slot.Low == 0 {
		same += " AND attribute_not_exists(" + layout.AttrLow + ")"
	} else {
		same += " AND " + layout.AttrLow + " = :low"
		values[":low"] = number(slot.Low)
	}
	err := s.Client.Put(ctx, m, dynamo.Put{
		Table:     s.Table,
		Item:      layout.WithCut(s.Keys.EncodeFence(pid, slot.SequenceNr, low.Seq, 0), low.Cut),
		Before:    s.Before,
		Condition: same,
		Values:    values,
	})
	if errors.Is(err, dynamo.ErrConditionFailed) {
		return false, nil
	}
	return err == nil, err
}
