package outbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/projection/internal/engine"
	"github.com/dynajournal/dynajournal/projection/operator"
)

// The attributes of a dead letter. attrLetter is the message, as a list of one in its stored form.
// attrRefused is the time of the last refusal, in milliseconds since 1970. engine.AttrReason has
// the reason of the refusal.
const (
	attrLetter  = "letter"
	attrRefused = "refused_at"
)

// DeadLetter is a message of an outbox that the target has refused.
type DeadLetter struct {
	Message Message
	// Reason is the text of the last refusal, shortened.
	Reason string
	// Refused is the time of the last refusal, by the clock of the process.
	Refused time.Time
}

// putDeadLetter stores a message that was refused, unless it is already stored.
func putDeadLetter(ctx context.Context, t *engine.Table, projection string, m Message, refusal error) error {
	encoded, err := json.Marshal([]Message{m})
	if err != nil {
		return fmt.Errorf("encode a dead letter: %w", err)
	}
	item := t.LetterKey(projection, m.ID)
	item[attrLetter] = &types.AttributeValueMemberB{Value: encoded}
	item[engine.AttrReason], item[attrRefused] = engine.Text(engine.Shorten(refusal.Error())), engine.Number(time.Now().UnixMilli())
	err = core.Of(t.Journal).Requests(ctx, dynamo.ForOutbox, func(ctx context.Context, client *dynamo.Client) error {
		return client.Put(ctx, &dynamo.Meter{}, dynamo.Put{
			Table: t.Name, Item: item, Condition: "attribute_not_exists(" + engine.AttrPar + ")",
		})
	})
	if errors.Is(err, dynamo.ErrConditionFailed) {
		return nil
	}
	return err
}

func decodeDeadLetter(t *engine.Table, item dynamo.Attributes) (DeadLetter, error) {
	d := engine.Decoder{Table: t.Name, Item: item}
	letter := DeadLetter{Reason: d.Text(engine.AttrReason), Refused: time.UnixMilli(d.Number(attrRefused))}
	encoded, _ := item[attrLetter].(*types.AttributeValueMemberB)
	if encoded == nil {
		encoded = &types.AttributeValueMemberB{}
	}
	messages, err := decodeMessages(encoded.Value)
	if err == nil && len(messages) != 1 {
		err = fmt.Errorf("%d messages, want 1", len(messages))
	}
	if err != nil {
		d.Fail(attrLetter, err)
		return DeadLetter{}, d.Err
	}
	letter.Message = messages[0]
	return letter, d.Err
}

// deadLetter reads a dead letter. The error is ErrNoDeadLetter if it does not exist.
func deadLetter(ctx context.Context, t *engine.Table, projection, id string) (DeadLetter, error) {
	item, err := t.Get(ctx, t.LetterKey(projection, id))
	if err == nil && item == nil {
		err = ErrNoDeadLetter
	}
	if err != nil {
		return DeadLetter{}, err
	}
	return decodeDeadLetter(t, item)
}

// deleteDeadLetter deletes a dead letter. The error is engine.ErrAgain if it does not exist.
func deleteDeadLetter(ctx context.Context, t *engine.Table, projection, id string) error {
	err := core.Of(t.Journal).Requests(ctx, dynamo.ForOutbox, func(ctx context.Context, client *dynamo.Client) error {
		return client.Delete(ctx, &dynamo.Meter{}, dynamo.Delete{
			Table: t.Name, Key: t.LetterKey(projection, id), Condition: "attribute_exists(" + engine.AttrPar + ")",
		})
	})
	if errors.Is(err, dynamo.ErrConditionFailed) {
		return engine.ErrAgain
	}
	return err
}

// DeadLetters returns the messages of an outbox that the target has refused, in no particular
// order. The projection is named as group/projection. DeadLetters scans the projections table while
// the loop runs, which costs half a read unit for each 4 KB. Messages that were refused in the last
// second may be missing.
//
// Errors: a *dynajournal.ArgumentError, [dynajournal.ErrCorruptItem] for a dead letter that can't
// be decoded, after which the loop continues, and errors of requests, after which it ends.
func DeadLetters(
	ctx context.Context, journal *dynajournal.Journal, name string, opts operator.ScanOptions,
) iter.Seq2[DeadLetter, error] {
	return func(yield func(DeadLetter, error) bool) {
		err := deadLetters(ctx, journal, name, opts, yield)
		if err != nil {
			yield(DeadLetter{}, fmt.Errorf("list dead letters of projection %s: %w", name, err))
		}
	}
}

func deadLetters(
	ctx context.Context, journal *dynajournal.Journal, name string, opts operator.ScanOptions,
	yield func(DeadLetter, error) bool,
) error {
	if journal == nil {
		return engine.Argument("journal", nil, "it must be an open journal")
	}
	if _, err := engine.CheckProjection(name); err != nil {
		return err
	}
	if err := engine.CheckScan(opts.ReadUnitsPerSecond); err != nil {
		return err
	}
	t := engine.OpenTable(journal)
	in := dynamodb.ScanInput{
		FilterExpression:          aws.String("begins_with(" + engine.AttrPar + ", :prefix)"),
		ExpressionAttributeValues: dynamo.Attributes{":prefix": engine.Text(t.LetterPrefix(name))},
	}
	for item, err := range t.Scan(ctx, in, opts.ReadUnitsPerSecond) {
		if err != nil {
			return err
		}
		letter, err := decodeDeadLetter(t, item)
		if err != nil {
			err = fmt.Errorf("list dead letters of projection %s: %w", name, err)
		}
		if !yield(letter, err) {
			return nil
		}
	}
	return nil
}

// Discard deletes a dead letter of an outbox, so that its message is never sent. The projection is
// named as group/projection. Discard costs 1 write unit for each KB of the dead letter.
//
// Errors: a *dynajournal.ArgumentError, [ErrNoDeadLetter], and errors of requests.
func Discard(ctx context.Context, journal *dynajournal.Journal, name, messageID string) error {
	err := checkLetter(journal, name, messageID)
	if err == nil {
		err = deleteDeadLetter(ctx, engine.OpenTable(journal), name, messageID)
	}
	if errors.Is(err, engine.ErrAgain) {
		err = ErrNoDeadLetter
	}
	if err != nil {
		return fmt.Errorf("discard dead letter %s of projection %s: %w", messageID, name, err)
	}
	return nil
}

func checkLetter(journal *dynajournal.Journal, name, id string) error {
	if journal == nil {
		return engine.Argument("journal", nil, "it must be an open journal")
	}
	if !messageID.MatchString(id) {
		return engine.Argument("messageID", id, "it must have 64 hexadecimal digits")
	}
	_, err := engine.CheckProjection(name)
	return err
}
