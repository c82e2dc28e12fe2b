package projection

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// attrMade has the messages of the event behind the offset of an Outbox with MakeOnce, from before
// the first is sent until the offset moves. attrMadeBy is the writer of that event.
const (
	attrMade   = "made"
	attrMadeBy = "made_by"
)

// made are stored messages of an event.
type made struct {
	of       offset
	messages []Message
	// encoded is the stored form.
	encoded []byte
}

// made decodes stored messages, nil if there are none.
func (d *decoder) made() *made {
	switch v := d.item[attrMade].(type) {
	case nil:
	case *types.AttributeValueMemberB:
		messages, err := decodeMessages(v.Value)
		if err == nil {
			of := offset{messages[0].SequenceNumber, d.text(attrMadeBy)}
			return &made{of, messages, v.Value}
		}
		d.fail(attrMade, err)
	default:
		d.fail(attrMade, fmt.Errorf("it is a %T", v))
	}
	return nil
}

// sameMade returns the condition that the stored messages are those that were read: another process
// may have made those of the next event, sent some, and released its claim.
func (r *row) sameMade() condition {
	if r.made == nil {
		return condition{"attribute_not_exists(" + attrMade + ")", dynamo.Attributes{}}
	}
	stored := &types.AttributeValueMemberB{Value: r.made.encoded}
	return condition{attrMade + " = :oldmade", dynamo.Attributes{":oldmade": stored}}
}

// isOf reports whether the messages are those of a step.
func (m *made) isOf(s *step) bool {
	return m != nil && s.event != nil && m.of == offset{s.event.SequenceNumber, s.event.Writer}
}

// removeMade adds to a change that the stored messages are removed, unless they are those of the
// first of the steps that are not done.
func (r *row) removeMade(left []step, c *change) {
	if r.made == nil || len(left) > 0 && r.made.isOf(&left[0]) {
		return
	}
	c.removed = append(c.removed, attrMade, attrMadeBy)
	r.made = nil
}

// send sends the messages of an event, one after the other. Before it is the offset that the row
// would get now.
func (o *outbox) send(ctx context.Context, r *run, s *step, state *row, before offset) error {
	messages, err := o.messages(ctx, r, s, state, before)
	if err != nil {
		return err
	}
	for i := range messages {
		if err := o.sendOne(ctx, r, &messages[i]); err != nil {
			return fmt.Errorf("send message %d of event %d: %w", i, s.event.SequenceNumber, err)
		}
	}
	return nil
}

// sendOne sends a message, or stores it as a dead letter if the target refuses it.
func (o *outbox) sendOne(ctx context.Context, r *run, m *Message) error {
	err := o.target.Send(ctx, *m)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrRefused):
		return delayed(r.group.table.putDeadLetter(ctx, r.of.name, *m, err))
	}
	return &delayedError{err}
}

// messages returns the messages of an event: those that are stored, or what the function makes.
// The write that stores messages replaces those of an earlier event, so it moves the offset behind
// that.
func (o *outbox) messages(ctx context.Context, r *run, s *step, state *row, before offset) ([]Message, error) {
	if state.made.isOf(s) {
		return state.made.messages, nil
	}
	messages, encoded, err := o.of(ctx, r, s)
	if err != nil || len(messages) == 0 || !r.of.makeOnce {
		return messages, err
	}
	of := offset{s.event.SequenceNumber, s.event.Writer}
	c := change{set: dynamo.Attributes{}}
	if before != state.offset {
		c = r.moved(before)
	}
	c.set[attrMade], c.set[attrMadeBy] = &types.AttributeValueMemberB{Value: encoded}, text(of.writer)
	only := claimedBy(r.token)
	if err := r.group.table.update(ctx, r.key, c, only); err != nil {
		return nil, delayed(err)
	}
	state.made = &made{of, messages, encoded}
	return messages, nil
}
