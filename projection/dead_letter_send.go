package projection

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/uuid"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// attrSendAgain are the requests to send dead letters again, beside attrRetries. In the place of
// the persistence id they have the id of the message.
const attrSendAgain = "send_again"

// maxSendAgain is how many such requests a group has at most: they are one item.
const maxSendAgain = 500

// SendAgain makes the processes of a group send a dead letter of an [Outbox] again. The projection
// is named as group/projection. It stores a request and returns. A process finds the request as one
// of [Operator.Retry]. The message has the same id as before, and is sent after messages that were
// sent meanwhile. When it is sent, the dead letter is deleted. If it is refused again, it stays,
// with the new reason. While the target can't be reached, the request stays.
//
// It costs 1 read unit for each 4 KB of the dead letter, and 1 write unit for each KB of requests
// that wait. At most 500 can wait.
//
// Errors: a *dynajournal.ArgumentError, [ErrNoProjection], [ErrNoDeadLetter],
// [ErrTooManyRequests], and those of requests.
func SendAgain(ctx context.Context, journal *dynajournal.Journal, projection, messageID string) error {
	err := checkLetter(journal, projection, messageID)
	if err == nil {
		err = sendAgain(ctx, journal, projection, messageID)
	}
	if err != nil {
		return fmt.Errorf("send dead letter %s of projection %s again: %w", messageID, projection, err)
	}
	return nil
}

func sendAgain(ctx context.Context, journal *dynajournal.Journal, projection, id string) error {
	o, err := operate(ctx, journal, projection)
	if err != nil {
		return err
	}
	if _, err := o.table.deadLetter(ctx, projection, id); err != nil {
		return err
	}
	request := uuid.NewString() + "\x00" + projection + "\x00" + id
	err = o.table.send(ctx, dynamo.Update{
		Table: o.table.name, Key: o.table.requestsKey(o.group),
		Expression: "ADD " + attrSendAgain + " :request",
		Condition:  "attribute_not_exists(" + attrSendAgain + ") OR size(" + attrSendAgain + ") < :most",
		Values: dynamo.Attributes{
			":request": &types.AttributeValueMemberSS{Value: []string{request}}, ":most": number(maxSendAgain),
		},
	})
	if errors.Is(err, errAgain) {
		return ErrTooManyRequests
	}
	return err
}

// carryOutSending sends a dead letter again, and then removes the request. One that could not be
// carried out stays for the next look.
func (a *attendant) carryOutSending(ctx context.Context, request string, of *member, id string) {
	var err error
	if o, ok := of.kind.(*outbox); ok { // else it was an outbox before
		err = a.sendLetter(ctx, of, o.target, id)
	}
	if err == nil {
		err = a.remove(ctx, attrSendAgain, request)
	}
	if err == nil || ctx.Err() != nil {
		return
	}
	a.config.Logger.LogAttrs(ctx, slog.LevelWarn, "a dead letter could not be sent again",
		slog.String("projection", of.name), slog.String("message", id), slog.Any("error", err))
}

// sendLetter sends a dead letter again, and deletes it when the target has it. An error means that
// the request stays.
func (a *attendant) sendLetter(ctx context.Context, of *member, target Target, id string) error {
	letter, err := a.table.deadLetter(ctx, of.name, id)
	if errors.Is(err, ErrNoDeadLetter) {
		return nil // it was discarded, or another process has sent it
	}
	if errors.Is(err, dynajournal.ErrCorruptItem) {
		return nil // DeadLetters shows it
	}
	if err != nil {
		return err
	}
	err = protect(ctx, a.config.callTime(), func(ctx context.Context) error {
		return target.Send(ctx, letter.Message)
	})
	if err == nil {
		if err := a.table.deleteDeadLetter(ctx, of.name, id); err != nil && !errors.Is(err, errAgain) {
			return err
		}
		return nil
	}
	if !errors.Is(err, ErrRefused) && !errors.Is(err, ErrPanic) {
		return err
	}
	err = a.table.send(ctx, dynamo.Update{
		Table: a.table.name, Key: a.table.letterKey(of.name, id),
		Expression: "SET " + attrReason + " = :reason, " + attrRefused + " = :now",
		Condition:  "attribute_exists(" + attrPar + ")",
		Values:     dynamo.Attributes{":reason": text(shorten(err.Error())), ":now": number(time.Now().UnixMilli())},
	})
	if errors.Is(err, errAgain) {
		return nil // it was discarded
	}
	return err
}
