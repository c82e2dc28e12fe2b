package dynajournal

import (
	"context"
	"fmt"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/lifetime"
)

// Bounds are the sequence numbers of a persistence id.
type Bounds struct {
	// Lowest is the first sequence number that is not deleted; 0 if nothing was ever deleted.
	Lowest int64
	// Highest is the highest sequence number that is taken, also by an event that was deleted
	// since; 0 if none ever was.
	Highest int64
}

// Bounds reads the lowest and the highest sequence number of a persistence id.
func (j *Journal) Bounds(ctx context.Context, persistenceID string) (Bounds, error) {
	if err := j.checkReadable(persistenceID); err != nil {
		return Bounds{}, err
	}
	var bounds Bounds
	err := j.admit(ctx, func(ctx context.Context, _ *lifetime.Operation, _ func()) error {
		marks, highest, err := j.store.Bounds(ctx, &dynamo.Meter{}, persistenceID)
		bounds = Bounds{Lowest: marks.Low.Seq, Highest: highest}
		return itemError(j.config.JournalTable, err)
	})
	if err != nil {
		return Bounds{}, fmt.Errorf("read the highest sequence number of %q: %w", persistenceID, err)
	}
	return bounds, nil
}

// Listing is what the journal's table holds for one persistence id, item by item.
type Listing struct {
	// LowMarks and HighMarks are the values of the marks that exist, rising.
	LowMarks, HighMarks []int64
	// SequenceNumbers are those of events, whether they count or not; Tombstones those of deleted
	// events, Seals the closed numbers. All rising.
	SequenceNumbers, Tombstones, Seals []int64
}

// List lists the items of a persistence id as they are stored, below the low mark and parts of
// atomic writes included. It is for inspection. Wide spans of deleted numbers are not read as a
// whole: a few items that are alone there can be missing.
func (j *Journal) List(ctx context.Context, persistenceID string) (Listing, error) {
	if err := j.checkReadable(persistenceID); err != nil {
		return Listing{}, err
	}
	var listing Listing
	err := j.operate(ctx, func(ctx context.Context, _ *lifetime.Operation) error {
		found, err := j.list(ctx, persistenceID)
		if err != nil {
			return fmt.Errorf("list %q: %w", persistenceID, itemError(j.config.JournalTable, err))
		}
		listing = found
		return nil
	})
	return listing, err
}

func (j *Journal) list(ctx context.Context, pid string) (Listing, error) {
	var l Listing
	var m dynamo.Meter
	marks, highest, err := j.store.Bounds(ctx, &m, pid)
	if err != nil {
		return l, err
	}
	l.LowMarks, l.HighMarks = marks.LowMarks, marks.HighMarks
	err = j.store.EachExisting(ctx, &m, pid, marks, 0, highest/layout.PartitionSize, func(p int64) (bool, error) {
		slots, err := j.store.Partition(ctx, &m, pid, p)
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
