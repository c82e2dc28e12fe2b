package protocol

import (
	"context"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/safeguard"
)

// RaisesLowMark reports whether the next recovery raises the low mark over a slot above it: a
// tombstone, or a fence that is not overrun. marks are the marks of the persistence id.
func (s *Store) RaisesLowMark(
	ctx context.Context, m *dynamo.Meter, pid string, slot layout.Slot, marks layout.Marks,
) (bool, error) {
	if slot.Tombstone() || slot.Event != nil || slot.Low == 0 {
		return slot.Tombstone(), nil
	}
	overrun, err := s.isOverrun(ctx, m, pid, slot, marks)
	return !overrun || !safeguard.Overrun, err
}

// isOverrun reports whether an event that can count is stored after a fence, and below the number
// to which the fence raises the low mark. A JVM does not know fences, and continues after one as
// after any other number. Its events must not be hidden by raising the low mark, so such a fence
// only closes its number, as a seal does. A member of an atomic write that began at or before the
// fence can never count.
func (s *Store) isOverrun(
	ctx context.Context, m *dynamo.Meter, pid string, fence layout.Slot, marks layout.Marks,
) (bool, error) {
	highest, err := s.Highest(ctx, m, pid, marks)
	if err != nil {
		return false, err
	}
	for p := fence.SequenceNr / layout.PartitionSize; p <= min(highest, fence.Low-1)/layout.PartitionSize; p++ {
		slots, err := s.Partition(ctx, m, pid, p)
		if err != nil {
			return false, err
		}
		for _, slot := range slots {
			if slot.Event == nil || slot.SequenceNr <= fence.SequenceNr || slot.SequenceNr >= fence.Low {
				continue
			}
			if !slot.Event.Batch.IsBatch() || slot.Event.Batch.Start > fence.SequenceNr {
				return true, nil
			}
		}
	}
	return false, nil
}
