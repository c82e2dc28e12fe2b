package protocol

import (
	"context"
	"fmt"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// latest returns the result of a recovery of a native journal, if the newest item shows it. It
// reads only the marks and that item. It reports false if the newest item is not an event that
// counts. Then only a replay can decide.
//
// In a native journal a writer writes only after all lower numbers are closed: its recovery has
// closed the numbers up to the highest, and each of its writes starts after the one before is
// durable. So everything below an atomic write is closed, and if the write is whole, everything up
// to its last member. A seal shows nothing: an interrupted recovery can have sealed a number and
// left a lower one open. A tombstone, a fence, a part of an atomic write, or an item below the low
// mark shows nothing either. In a shared journal no item shows anything: a JVM leaves holes.
func (s *Store) latest(ctx context.Context, m *dynamo.Meter, pid string) (Result, bool, error) {
	if s.Shared() {
		return Result{}, false, nil
	}
	marks, err := s.DurableMarks(ctx, m, pid)
	if err != nil {
		return Result{}, false, err
	}
	newest, found, err := s.newest(ctx, m, pid, marks.High/layout.PartitionSize)
	if err != nil || !found {
		return Result{}, false, err
	}
	result := Result{Highest: newest.SequenceNr, Visible: newest.SequenceNr, Marks: marks}
	if e := newest.Event; e != nil {
		result.Last, result.Time, result.Timed = e.WriterUUID, e.Metadata.Time, true
	} else {
		return Result{}, false, nil
	}
	if newest.SequenceNr < marks.Low.First() {
		return Result{}, false, nil
	}
	whole, err := s.endsWhole(ctx, m, pid, newest, marks)
	if err != nil || !whole {
		return Result{}, false, err
	}
	// The next event is in the next partition. Its high mark can be missing.
	if newest.SequenceNr == partitionEnd(newest.SequenceNr) {
		top, err := s.top(ctx, m, pid, newest.SequenceNr/layout.PartitionSize+1)
		if err != nil || top > 0 {
			return Result{}, false, err
		}
	}
	return result, true, nil
}

// newest returns the slot of the highest number that is stored in a partition. It reports false if
// the partition is empty.
func (s *Store) newest(ctx context.Context, m *dynamo.Meter, pid string, p int64) (layout.Slot, bool, error) {
	in, fits := s.newestQuery(pid, p)
	if !fits {
		return layout.Slot{}, false, nil
	}
	slots, _, err := s.page(ctx, m, pid, p, in, dynamo.Slot{})
	if err != nil {
		return layout.Slot{}, false, fmt.Errorf("read the newest item: %w", err)
	}
	if len(slots) == 0 {
		return layout.Slot{}, false, nil
	}
	return slots[0], true, nil
}

// endsWhole reports whether a slot is not a member of an atomic write, or is the last member of one
// whose members are all stored above the low mark.
func (s *Store) endsWhole(
	ctx context.Context, m *dynamo.Meter, pid string, slot layout.Slot, marks layout.Marks,
) (bool, error) {
	if slot.Event == nil || !slot.Event.Batch.IsBatch() {
		return true, nil
	}
	b := slot.Event.Batch
	if b.Last != slot.SequenceNr || b.Start < marks.Low.First() {
		return false, nil
	}
	return s.Members(ctx, m, pid, b, b.Start, b.Last-1)
}
