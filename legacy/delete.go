package legacy

import (
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

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

// begin enters an operation that ends with the context, and waits for the writer's turn.
func (w *Writer) begin(ctx context.Context) (context.Context, func(), error) {
	ctx, done, err := w.journal.life.Read(ctx)
	if err != nil {
		return nil, nil, err
	}
	release, err := w.enter(ctx)
	if err != nil {
		done()
		return nil, nil, err
	}
	return ctx, func() {
		release()
		done()
	}, nil
}

// Confirm adds a channel to the confirmations of an event, and returns all it has now, sorted. Confirming again changes
// nothing.
//
// Errors: ErrNotInLayout in the layout Naive, ErrNoEvent, and of package dynajournal ErrInvalidArgument (no channel, no such
// number), ErrWriterEnded, ErrClosed and those of requests. None of them ends the writer.
func (w *Writer) Confirm(ctx context.Context, sequenceNumber int64, channel string) ([]string, error) {
	layout := w.journal.config.Layout
	switch {
	case !layout.marks():
		return nil, fmt.Errorf("confirm an event of %q in the layout %s: %w", w.pid, layout, ErrNotInLayout)
	case sequenceNumber < 1:
		return nil, &dynajournal.ArgumentError{Argument: "sequence number", Value: sequenceNumber, Reason: "the first is 1"}
	case channel == "":
		return nil, &dynajournal.ArgumentError{Argument: "channel", Value: channel, Reason: "it must not be empty"}
	case !utf8.ValidString(channel):
		return nil, &dynajournal.ArgumentError{Argument: "channel", Value: channel, Reason: "it is not valid UTF-8"}
	}
	ctx, release, err := w.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	var m dynamo.Meter
	changed, err := w.journal.client.Update(ctx, &m, dynamo.Update{
		Table:      w.journal.config.Journal.JournalTable,
		Key:        w.journal.store.eventKey(w.pid, sequenceNumber),
		Expression: "ADD " + attrConfirmations + " :channel",
		Condition:  "attribute_exists(" + attrPayload + ")", // or an item without an event would come into being
		Values:     dynamo.Attributes{":channel": &types.AttributeValueMemberSS{Value: []string{channel}}},
	})
	if errors.Is(err, dynamo.ErrConditionFailed) {
		err = ErrNoEvent
	}
	if err != nil {
		return nil, fmt.Errorf("confirm event %d of %q: %w", sequenceNumber, w.pid, m.Mark(err))
	}
	all, ok := changed[attrConfirmations].(*types.AttributeValueMemberSS)
	if !ok { // a service that does not return what it has changed
		return []string{channel}, nil
	}
	return sorted(all.Value), nil
}
