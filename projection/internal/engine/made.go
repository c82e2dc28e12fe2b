package engine

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// AttrMade has the messages of the event after the offset of an outbox with MakeOnce, from before
// the first is sent until the offset moves. AttrMadeBy is the writer of that event.
const (
	AttrMade   = "made"
	AttrMadeBy = "made_by"
)

// Made has the stored messages of the event at Of, in their stored form. The outbox decodes them.
type Made struct {
	Of      Offset
	Encoded []byte
}

// made returns the stored messages, or nil.
func (d *Decoder) made() *Made {
	switch v := d.Item[AttrMade].(type) {
	case nil:
	case *types.AttributeValueMemberB:
		var messages []struct {
			SequenceNumber int64 `json:"seq"`
		}
		err := json.Unmarshal(v.Value, &messages)
		if err == nil && (len(messages) == 0 || messages[0].SequenceNumber < 1) {
			err = errors.New("no message names an event")
		}
		if err == nil {
			return &Made{Offset{messages[0].SequenceNumber, d.Text(AttrMadeBy)}, v.Value}
		}
		d.Fail(AttrMade, fmt.Errorf("decode messages: %w", err))
	default:
		d.Fail(AttrMade, fmt.Errorf("unexpected type %T", v))
	}
	return nil
}

// sameMade returns the condition that the stored messages are unchanged since they were read:
// another process may have stored the messages of the next event, sent some, and released its
// claim.
func (r *Row) sameMade() Condition {
	if r.Made == nil {
		return Condition{"attribute_not_exists(" + AttrMade + ")", dynamo.Attributes{}}
	}
	stored := &types.AttributeValueMemberB{Value: r.Made.Encoded}
	return Condition{AttrMade + " = :oldmade", dynamo.Attributes{":oldmade": stored}}
}

// IsOf reports whether the messages belong to the event of a step.
func (m *Made) IsOf(s *Step) bool {
	return m != nil && s.Event != nil && m.Of == Offset{s.Event.SequenceNumber, s.Event.Writer}
}

// removeMade makes a change remove the stored messages, unless they belong to the first step that
// is not done.
func (r *Row) removeMade(left []Step, c *Change) {
	if r.Made == nil || len(left) > 0 && r.Made.IsOf(&left[0]) {
		return
	}
	c.Removed = append(c.Removed, AttrMade, AttrMadeBy)
	r.Made = nil
}
