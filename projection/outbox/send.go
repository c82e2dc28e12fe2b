package outbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/projection/internal/engine"
)

// send sends the messages of an event, one at a time. before is the offset that the row would get
// now.
func (o *outbox) send(ctx context.Context, r *engine.Run, s *engine.Step, state *engine.Row, before engine.Offset) error {
	messages, err := o.messages(ctx, r, s, state, before)
	if err != nil {
		return err
	}
	for i := range messages {
		if err := o.sendOne(ctx, r, &messages[i]); err != nil {
			return fmt.Errorf("send message %d of event %d: %w", i, s.Event.SequenceNumber, err)
		}
	}
	return nil
}

// sendOne sends a message, or stores it as a dead letter if the target refuses it.
func (o *outbox) sendOne(ctx context.Context, r *engine.Run, m *Message) error {
	err := o.deliver(ctx, r.Group, r.Of, m)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrRefused):
		return engine.DelayedIfPasses(putDeadLetter(ctx, r.Group.Table, r.Of.Name, *m, err))
	}
	return &engine.DelayedError{Err: err}
}

// deliver passes a message to the target, and reports it to the hooks.
func (o *outbox) deliver(ctx context.Context, g *engine.Group, of *engine.Member, m *Message) error {
	return g.Send(ctx, engine.Sending{
		Projection: of.Name, PersistenceID: m.PersistenceID, SequenceNumber: m.SequenceNumber, MessageID: m.ID, Topic: m.Topic,
	}, func(ctx context.Context) error { return o.target.Send(ctx, *m) })
}

// messages returns the messages of an event: the stored ones, or new ones that the function makes.
// The write that stores messages replaces the messages of an earlier event, so it also moves the
// offset past that event.
func (o *outbox) messages(ctx context.Context, r *engine.Run, s *engine.Step, state *engine.Row, before engine.Offset) ([]Message, error) {
	if state.Made.IsOf(s) {
		return storedMessages(r, state.Made)
	}
	messages, encoded, err := o.of(ctx, r, s)
	if err != nil || len(messages) == 0 || !r.Of.MakeOnce {
		return messages, err
	}
	of := engine.Offset{Seq: s.Event.SequenceNumber, Writer: s.Event.Writer}
	c := engine.Change{Set: dynamo.Attributes{}}
	if before != state.Offset {
		c = r.Moved(before)
	}
	c.Set[engine.AttrMade], c.Set[engine.AttrMadeBy] = &types.AttributeValueMemberB{Value: encoded}, engine.Text(of.Writer)
	only := engine.ClaimedBy(r.Token)
	if err := r.Group.Table.Update(ctx, r.Key, c, only); err != nil {
		return nil, engine.DelayedIfPasses(err)
	}
	state.Made = &engine.Made{Of: of, Encoded: encoded}
	return messages, nil
}

// storedMessages decodes the stored messages of an event.
func storedMessages(r *engine.Run, m *engine.Made) ([]Message, error) {
	messages, err := decodeMessages(m.Encoded)
	if err != nil {
		return nil, &dynajournal.ItemError{Table: r.Group.Table.Name, Par: engine.KeyOf(r.Key), Attribute: engine.AttrMade, Err: err}
	}
	return messages, nil
}
