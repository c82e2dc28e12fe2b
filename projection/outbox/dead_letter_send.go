package outbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/projection/internal/engine"
)

// SendAgain makes the processes of a group send a dead letter of an outbox again. The projection is
// named as group/projection. SendAgain stores a request and returns. A process finds the request as
// it finds one of [operator.Operator.Retry]. The message has the same id as before, and is sent
// after messages that were sent meanwhile. When it is sent, the dead letter is deleted. If the
// target refuses it again, the dead letter stays, with the new reason. While the target can't be
// reached, the request stays.
//
// It costs 1 read unit for each 4 KB of the dead letter, and 1 write unit for each KB of waiting
// requests. At most 500 requests can wait.
//
// Errors: a *dynajournal.ArgumentError, [projection.ErrNoProjection], [ErrNoDeadLetter],
// [ErrTooManyRequests], and errors of requests.
func SendAgain(ctx context.Context, journal *dynajournal.Journal, name, messageID string) error {
	err := checkLetter(journal, name, messageID)
	if err == nil {
		err = sendAgain(ctx, journal, name, messageID)
	}
	if err != nil {
		return fmt.Errorf("send dead letter %s of projection %s again: %w", messageID, name, err)
	}
	return nil
}

func sendAgain(ctx context.Context, journal *dynajournal.Journal, name, id string) error {
	o, err := engine.FindRegistered(ctx, journal, name)
	if err != nil {
		return err
	}
	if _, err := deadLetter(ctx, o.Table, name, id); err != nil {
		return err
	}
	err = o.Table.AskToSend(ctx, o.Group, name, id)
	if errors.Is(err, engine.ErrAgain) {
		return ErrTooManyRequests
	}
	return err
}

// SendAgain sends a dead letter again, and deletes it when the target has received it. If it
// returns an error, the request stays.
func (o *outbox) SendAgain(ctx context.Context, g *engine.Group, of *engine.Member, id string) error {
	letter, err := deadLetter(ctx, g.Table, of.Name, id)
	if errors.Is(err, ErrNoDeadLetter) {
		return nil // it was discarded, or another process has sent it
	}
	if errors.Is(err, dynajournal.ErrCorruptItem) {
		return nil // DeadLetters shows it
	}
	if err != nil {
		return err
	}
	err = engine.Protect(ctx, g.Config.CallTime(), func(ctx context.Context) error {
		return o.deliver(ctx, g, of, &letter.Message)
	})
	if err == nil {
		if err := deleteDeadLetter(ctx, g.Table, of.Name, id); err != nil && !errors.Is(err, engine.ErrAgain) {
			return err
		}
		return nil
	}
	if !errors.Is(err, ErrRefused) && !errors.Is(err, projection.ErrPanic) {
		return err
	}
	err = g.Table.Send(ctx, dynamo.Update{
		Table: g.Table.Name, Key: g.Table.LetterKey(of.Name, id),
		Expression: "SET " + engine.AttrReason + " = :reason, " + attrRefused + " = :now",
		Condition:  "attribute_exists(" + engine.AttrPar + ")",
		Values:     dynamo.Attributes{":reason": engine.Text(engine.Shorten(err.Error())), ":now": engine.Number(time.Now().UnixMilli())},
	})
	if errors.Is(err, engine.ErrAgain) {
		return nil // it was discarded
	}
	return err
}
