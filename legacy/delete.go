package legacy

import (
	"context"
	"fmt"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// Deletion selects how events are deleted.
type Deletion int

const (
	// Permanent removes the events.
	Permanent Deletion = iota
	// Mark keeps the events and marks them as deleted. The layout Naive does not support marks.
	Mark
)

// DeleteResult is the result of a deletion.
type DeleteResult struct {
	// Deleted is the number of events that this call has removed or marked.
	Deleted int64
	Cost    dynajournal.Cost
}

// DeleteTo deletes all events up to a sequence number, or up to the highest number if that is
// lower. The highest sequence number stays: to remove all events, the layout NaiveProcessor marks
// the last event instead of removing it, and Naive returns [ErrLastEvent].
//
// Events are deleted in order. A deletion that is interrupted has therefore deleted a prefix, or a
// few more events, and the next deletion completes it. An error does not end the writer. If ctx
// ends, the deletion stops between two steps.
func (w *Writer) DeleteTo(ctx context.Context, sequenceNumber int64, how Deletion) (DeleteResult, error) {
	layout := w.journal.config.Layout
	switch {
	case sequenceNumber < 0:
		return DeleteResult{}, &dynajournal.ArgumentError{Argument: "sequence number", Value: sequenceNumber,
			Reason: mustNotBeNegative}
	case how != Permanent && how != Mark:
		return DeleteResult{}, &dynajournal.ArgumentError{Argument: "deletion", Value: int(how),
			Reason: "it must be Permanent or Mark"}
	case how == Mark && !layout.marks():
		return DeleteResult{}, fmt.Errorf("mark events of %q in the layout %s: %w", w.pid, layout, ErrNotInLayout)
	}
	ctx, release, err := w.start(ctx)
	if err != nil {
		return DeleteResult{}, err
	}
	defer release()
	var m dynamo.Meter
	highest := w.next - 1
	deleted, err := w.journal.store.deleteTo(ctx, &m, w.pid, min(sequenceNumber, highest), highest, how == Mark)
	result := DeleteResult{Deleted: deleted, Cost: dynajournal.Cost(m.Cost())}
	if err != nil {
		return result, fmt.Errorf("delete events of %q to %d: %w", w.pid, sequenceNumber,
			m.Mark(w.journal.withTable(err)))
	}
	return result, nil
}
