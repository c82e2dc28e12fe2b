package projection

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
)

// The attributes of a dead letter: the message as a list of one in its stored form, and when it was
// refused last, in milliseconds since 1970. Why it was refused is attrReason.
const (
	attrLetter  = "letter"
	attrRefused = "refused_at"
)

// DeadLetter is a message of an [Outbox] that its target has refused.
type DeadLetter struct {
	Message Message
	// Reason is the text of the last refusal, shortened.
	Reason string
	// Refused is when that was, by the clock of the process.
	Refused time.Time
}

// letterPrefix begins the keys of the dead letters of a projection. The name of a projection has
// one slash, so no such key is one of a row.
func (t *table) letterPrefix(projection string) string {
	return t.journalName + "\x00" + projection + "/dead\x00"
}

func (t *table) letterKey(projection, id string) dynamo.Attributes {
	return dynamo.Attributes{attrPar: text(t.letterPrefix(projection) + id)}
}

// putDeadLetter stores a message that was refused, unless it is stored already.
func (t *table) putDeadLetter(ctx context.Context, projection string, m Message, refusal error) error {
	encoded, err := json.Marshal([]Message{m})
	if err != nil {
		return fmt.Errorf("encode a dead letter: %w", err)
	}
	item := t.letterKey(projection, m.ID)
	item[attrLetter] = &types.AttributeValueMemberB{Value: encoded}
	item[attrReason], item[attrRefused] = text(shorten(refusal.Error())), number(time.Now().UnixMilli())
	err = core.Of(t.journal).Requests(ctx, func(ctx context.Context, client *dynamo.Client) error {
		return client.Put(ctx, &dynamo.Meter{}, dynamo.Put{
			Table: t.name, Item: item, Condition: "attribute_not_exists(" + attrPar + ")",
		})
	})
	if errors.Is(err, dynamo.ErrConditionFailed) {
		return nil
	}
	return err
}

func (t *table) decodeDeadLetter(item dynamo.Attributes) (DeadLetter, error) {
	d := decoder{table: t.name, item: item}
	letter := DeadLetter{Reason: d.text(attrReason), Refused: time.UnixMilli(d.number(attrRefused))}
	encoded, _ := item[attrLetter].(*types.AttributeValueMemberB)
	if encoded == nil {
		encoded = &types.AttributeValueMemberB{}
	}
	messages, err := decodeMessages(encoded.Value)
	if err == nil && len(messages) != 1 {
		err = fmt.Errorf("it has %d messages", len(messages))
	}
	if err != nil {
		d.fail(attrLetter, err)
		return DeadLetter{}, d.err
	}
	letter.Message = messages[0]
	return letter, d.err
}

// deadLetter reads a dead letter. The error is ErrNoDeadLetter if there is none.
func (t *table) deadLetter(ctx context.Context, projection, id string) (DeadLetter, error) {
	item, err := t.get(ctx, t.letterKey(projection, id))
	if err == nil && item == nil {
		err = ErrNoDeadLetter
	}
	if err != nil {
		return DeadLetter{}, err
	}
	return t.decodeDeadLetter(item)
}

// deleteDeadLetter deletes a dead letter. The error is errAgain if there is none.
func (t *table) deleteDeadLetter(ctx context.Context, projection, id string) error {
	err := core.Of(t.journal).Requests(ctx, func(ctx context.Context, client *dynamo.Client) error {
		return client.Delete(ctx, &dynamo.Meter{}, dynamo.Delete{
			Table: t.name, Key: t.letterKey(projection, id), Condition: "attribute_exists(" + attrPar + ")",
		})
	})
	if errors.Is(err, dynamo.ErrConditionFailed) {
		return errAgain
	}
	return err
}

// DeadLetters returns the messages of an [Outbox] that its target has refused, in no order. The
// projection is named as group/projection. It scans the projections table as the loop goes on,
// which costs half a read unit for each 4 KB of it. It may not see what was refused in the last
// second.
//
// Errors: a *dynajournal.ArgumentError, [dynajournal.ErrCorruptItem] for a dead letter that can't
// be decoded, after which the loop goes on, and those of requests, after which it ends.
func DeadLetters(
	ctx context.Context, journal *dynajournal.Journal, projection string, opts ScanOptions,
) iter.Seq2[DeadLetter, error] {
	return func(yield func(DeadLetter, error) bool) {
		err := deadLetters(ctx, journal, projection, opts, yield)
		if err != nil {
			yield(DeadLetter{}, fmt.Errorf("list dead letters of projection %s: %w", projection, err))
		}
	}
}

func deadLetters(
	ctx context.Context, journal *dynajournal.Journal, projection string, opts ScanOptions,
	yield func(DeadLetter, error) bool,
) error {
	if journal == nil {
		return argument("journal", nil, "it must be an open journal")
	}
	if _, err := checkProjection(projection); err != nil {
		return err
	}
	if err := opts.check(); err != nil {
		return err
	}
	t := openTable(journal)
	in := dynamodb.ScanInput{
		FilterExpression:          aws.String("begins_with(" + attrPar + ", :prefix)"),
		ExpressionAttributeValues: dynamo.Attributes{":prefix": text(t.letterPrefix(projection))},
	}
	for item, err := range t.scan(ctx, in, opts) {
		if err != nil {
			return err
		}
		letter, err := t.decodeDeadLetter(item)
		if err != nil {
			err = fmt.Errorf("list dead letters of projection %s: %w", projection, err)
		}
		if !yield(letter, err) {
			return nil
		}
	}
	return nil
}

// Discard deletes a dead letter of an [Outbox]: its message is never sent. The projection is named
// as group/projection. It costs 1 write unit for each KB.
//
// Errors: a *dynajournal.ArgumentError, [ErrNoDeadLetter], and those of requests.
func Discard(ctx context.Context, journal *dynajournal.Journal, projection, messageID string) error {
	err := checkLetter(journal, projection, messageID)
	if err == nil {
		err = openTable(journal).deleteDeadLetter(ctx, projection, messageID)
	}
	if errors.Is(err, errAgain) {
		err = ErrNoDeadLetter
	}
	if err != nil {
		return fmt.Errorf("discard dead letter %s of projection %s: %w", messageID, projection, err)
	}
	return nil
}

func checkLetter(journal *dynajournal.Journal, projection, id string) error {
	if journal == nil {
		return argument("journal", nil, "it must be an open journal")
	}
	if !messageID.MatchString(id) {
		return argument("messageID", id, "it must have 64 hexadecimal digits")
	}
	_, err := checkProjection(projection)
	return err
}
