package legacy

import (
	"context"
	"fmt"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// Deletion is how events are deleted.
type Deletion int

const (
	// Permanent removes the events.
	Permanent Deletion = iota
	// Mark leaves them, and says that they are deleted. The layout Naive has no place for that.
	Mark
)

// DeleteResult says what a deletion has done.
type DeleteResult struct {
	// Deleted is how many events were removed or marked by this call.
	Deleted int64
	Cost    dynajournal.Cost
}

// DeleteTo deletes all events up to a sequence number; one beyond the highest stands for that. The highest sequence number
// stays: in the layout NaiveProcessor the last event is marked where all would be removed, in Naive that is ErrLastEvent.
//
// Events go in order, so that a deletion that is cut short has deleted a prefix, or a little more, and the next one does the
// rest. Errors leave the writer alive. A context that ends stops it between two steps.
func (w *Writer) DeleteTo(ctx context.Context, sequenceNumber int64, how Deletion) (DeleteResult, error) {
	layout := w.journal.config.Layout
	switch {
	case sequenceNumber < 0:
		return DeleteResult{}, &dynajournal.ArgumentError{Argument: "sequence number", Value: sequenceNumber, Reason: mustNotBeNegative}
	case how != Permanent && how != Mark:
		return DeleteResult{}, &dynajournal.ArgumentError{Argument: "deletion", Value: int(how), Reason: "it must be Permanent or Mark"}
	case how == Mark && !layout.marks():
		return DeleteResult{}, fmt.Errorf("mark events of %q in the layout %s: %w", w.pid, layout, ErrNotInLayout)
	}
	ctx, release, err := w.begin(ctx)
	if err != nil {
		return DeleteResult{}, err
	}
	defer release()
	var m dynamo.Meter
	highest := w.next - 1
	deleted, err := w.journal.store.deleteTo(ctx, &m, w.pid, min(sequenceNumber, highest), highest, how == Mark)
	result := DeleteResult{Deleted: deleted, Cost: dynajournal.Cost(m.Cost())}
	if err != nil {
		return result, fmt.Errorf("delete events of %q to %d: %w", w.pid, sequenceNumber, m.Mark(w.journal.named(err)))
	}
	return result, nil
}
