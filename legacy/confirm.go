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

// Confirm adds a channel to the confirmations of an event, and returns all its confirmations,
// sorted. Confirming again changes nothing.
//
// Errors: [ErrNotInLayout] in the layout Naive, [ErrNoEvent], dynajournal.ErrInvalidArgument (an
// empty channel, an invalid number), ErrWriterEnded, ErrClosed and request errors. No error ends
// the writer.
func (w *Writer) Confirm(ctx context.Context, sequenceNumber int64, channel string) ([]string, error) {
	layout := w.journal.config.Layout
	switch {
	case !layout.marks():
		return nil, fmt.Errorf("confirm an event of %q in the layout %s: %w", w.pid, layout, ErrNotInLayout)
	case sequenceNumber < 1:
		return nil, &dynajournal.ArgumentError{Argument: "sequence number", Value: sequenceNumber,
			Reason: "the first is 1"}
	case channel == "":
		return nil, &dynajournal.ArgumentError{Argument: "channel", Value: channel, Reason: "it must not be empty"}
	case !utf8.ValidString(channel):
		return nil, &dynajournal.ArgumentError{Argument: "channel", Value: channel, Reason: "it is not valid UTF-8"}
	}
	ctx, release, err := w.start(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	var m dynamo.Meter
	changed, err := w.journal.client.Update(ctx, &m, dynamo.Update{
		Table:      w.journal.config.Journal.JournalTable,
		Key:        w.journal.store.eventKey(w.pid, sequenceNumber),
		Expression: "ADD " + attrConfirmations + " :channel",
		// Otherwise an item without an event would be made.
		Condition: "attribute_exists(" + attrPayload + ")",
		Values:    dynamo.Attributes{":channel": &types.AttributeValueMemberSS{Value: []string{channel}}},
	})
	if errors.Is(err, dynamo.ErrConditionFailed) {
		err = ErrNoEvent
	}
	if err != nil {
		return nil, fmt.Errorf("confirm event %d of %q: %w", sequenceNumber, w.pid, m.Mark(err))
	}
	all, ok := changed[attrConfirmations].(*types.AttributeValueMemberSS)
	if !ok { // the service does not return the changed attributes
		return []string{channel}, nil
	}
	return sorted(all.Value), nil
}
