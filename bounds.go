package dynajournal

import (
	"context"
	"fmt"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/lifetime"
)

// Bounds contains the lowest and the highest sequence number of a persistence id.
type Bounds struct {
	// Lowest is the lowest sequence number that is not deleted, or 0 if nothing was ever deleted.
	Lowest int64
	// Highest is the highest sequence number that is or was taken, or 0 if none ever was. Its event
	// may be deleted.
	Highest int64
}

// Bounds reads the lowest and the highest sequence number of a persistence id. Both are 0 for an id
// that was never written.
//
// Errors: [ErrInvalidArgument], [ErrCorruptItem], [ErrClosed], and request errors.
func (j *Journal) Bounds(ctx context.Context, persistenceID string) (Bounds, error) {
	if err := j.core.CheckReadable(persistenceID); err != nil {
		return Bounds{}, err
	}
	var bounds Bounds
	err := j.core.Admit(ctx, dynamo.ForRead, func(ctx context.Context, _ *lifetime.Operation, _ func()) error {
		marks, highest, err := j.core.Store.Bounds(ctx, &dynamo.Meter{}, persistenceID)
		bounds = Bounds{Lowest: marks.Low.Seq, Highest: highest}
		return j.core.InTable(j.core.Table, err)
	})
	if err != nil {
		return Bounds{}, fmt.Errorf("read the highest sequence number of %q: %w", persistenceID, err)
	}
	return bounds, nil
}

// Listing contains the items of a persistence id in the journal table.
type Listing struct {
	// LowMarks and HighMarks contain the values of the marks, in ascending order.
	LowMarks, HighMarks []int64
	// SequenceNumbers contains the numbers of stored events, including events that readers do not
	// find. Tombstones contains the numbers of deleted events. Seals contains the numbers that are
	// closed for good. Each is in ascending order.
	SequenceNumbers, Tombstones, Seals []int64
}

// List lists the items of a persistence id as they are stored, including items below the low mark
// and of incomplete atomic writes. It is for inspection. It does not read every number of a wide
// span of deleted numbers, so it can miss single items there.
//
// Errors: [ErrInvalidArgument], [ErrCorruptItem], [ErrClosed], and request errors.
func (j *Journal) List(ctx context.Context, persistenceID string) (Listing, error) {
	if err := j.core.CheckReadable(persistenceID); err != nil {
		return Listing{}, err
	}
	var listing Listing
	err := j.core.Operate(ctx, dynamo.ForRead, func(ctx context.Context, _ *lifetime.Operation) error {
		found, err := j.list(ctx, persistenceID)
		if err != nil {
			return fmt.Errorf("list %q: %w", persistenceID, j.core.InTable(j.core.Table, err))
		}
		listing = found
		return nil
	})
	return listing, err
}

func (j *Journal) list(ctx context.Context, pid string) (Listing, error) {
	var l Listing
	var m dynamo.Meter
	marks, highest, err := j.core.Store.Bounds(ctx, &m, pid)
	if err != nil {
		return l, err
	}
	l.LowMarks, l.HighMarks = marks.LowMarks, marks.HighMarks
	store := j.core.Store
	err = store.EachExisting(ctx, &m, pid, marks, 0, highest/layout.PartitionSize, func(p int64) (bool, error) {
		slots, err := store.Partition(ctx, &m, pid, p)
		for _, s := range slots {
			switch {
			case s.Event != nil:
				l.SequenceNumbers = append(l.SequenceNumbers, s.SequenceNr)
			case s.Seal():
				l.Seals = append(l.Seals, s.SequenceNr)
			default:
				l.Tombstones = append(l.Tombstones, s.SequenceNr)
			}
		}
		return len(slots) > 0, err
	})
	return l, err
}
