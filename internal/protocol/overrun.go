package protocol

import (
	"context"
	"errors"
	"slices"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// RaisesLowMark reports whether the next recovery raises the low mark over a slot above it: a
// tombstone, or a fence that is not overrun. marks are the marks of the persistence id.
func (s *Store) RaisesLowMark(
	ctx context.Context, m *dynamo.Meter, pid string, slot layout.Slot, marks layout.Marks,
) (bool, error) {
	if slot.Tombstone() || slot.Purges || slot.Event != nil || slot.Low == 0 {
		return slot.Tombstone() || slot.Purges, nil
	}
	overrun, err := s.isOverrun(ctx, m, pid, slot, marks)
	return !overrun, err
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
	last := min(highest, fence.Low-1) / layout.PartitionSize
	err = s.EachExisting(ctx, m, pid, marks, fence.SequenceNr/layout.PartitionSize, last, func(p int64) (bool, error) {
		slots, err := s.Partition(ctx, m, pid, p)
		if slices.ContainsFunc(slots, func(slot layout.Slot) bool { return overruns(slot, fence) }) {
			return true, errOverrun
		}
		return len(slots) > 0, err
	})
	if errors.Is(err, errOverrun) {
		return true, nil
	}
	return false, err
}

// errOverrun ends the search when an event that overruns the fence was found.
var errOverrun = errors.New("the fence is overrun")

// overruns reports whether a slot overruns a fence.
func overruns(slot, fence layout.Slot) bool {
	if slot.Event == nil || slot.SequenceNr <= fence.SequenceNr || slot.SequenceNr >= fence.Low {
		return false
	}
	return !slot.Event.Batch.IsBatch() || slot.Event.Batch.Start > fence.SequenceNr
}
