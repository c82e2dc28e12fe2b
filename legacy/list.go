package legacy

import (
	"context"
	"fmt"

	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// Listing contains the numbers of the items of a persistence id, each list in ascending order.
type Listing struct {
	// LowMarks and HighMarks contain the values of the stored marks. The naive layouts have none.
	LowMarks, HighMarks []int64
	// SequenceNumbers contains the numbers of the events. Deleted contains the numbers of the
	// events that are marked as deleted.
	SequenceNumbers, Deleted []int64
	// WithoutPayload contains the numbers of items without an event. Such items are the result of
	// marking a number without an event.
	WithoutPayload []int64
}

// List lists the items of a persistence id as they are stored. It is for inspection: it reads every
// number up to the highest.
func (j *Journal) List(ctx context.Context, persistenceID string) (Listing, error) {
	ctx, done, err := j.start(ctx, persistenceID)
	if err != nil {
		return Listing{}, err
	}
	defer done()
	l, err := j.list(ctx, persistenceID)
	if err != nil {
		return Listing{}, fmt.Errorf("list %q: %w", persistenceID, j.withTable(err))
	}
	return l, nil
}

func (j *Journal) list(ctx context.Context, pid string) (Listing, error) {
	var l Listing
	var m dynamo.Meter
	var err error
	if l.LowMarks, l.HighMarks, err = j.store.marks(ctx, &m, pid); err != nil {
		return l, err
	}
	highest, err := j.store.highest(ctx, &m, pid)
	if err != nil {
		return l, err
	}
	// Number 0 has no event, but 0.3 stores an item there.
	err = j.store.items(ctx, &m, pid, 0, highest, unlimited, func(seq int64, item dynamo.Attributes) error {
		if item[attrPayload] == nil {
			l.WithoutPayload = append(l.WithoutPayload, seq)
			return nil
		}
		l.SequenceNumbers = append(l.SequenceNumbers, seq)
		if marked(item) {
			l.Deleted = append(l.Deleted, seq)
		}
		return nil
	})
	return l, err
}
