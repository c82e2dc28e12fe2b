package operator

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/uuid"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/projection/internal/engine"
)

// Retry makes the processes of a group handle a persistence id again, as [projection.Group.Resume]
// does in the process itself. It stores a request and returns. A process finds the request within a
// sixth of Config.ClaimTimeout, at most 10 seconds, also one that begins later. On AWS Lambda the
// next call of awslambda.Maintain finds it. The request is removed when the events are handled, or
// when the handler has failed again: then the persistence id stays stuck, with the new reason. It
// does no harm to a persistence id that is not stuck. It costs 1 read unit, and 1 write unit for
// each KB of requests that wait.
//
// Errors: a *dynajournal.ArgumentError, [projection.ErrNoProjection], and those of requests.
func (o *Operator) Retry(ctx context.Context, persistenceID string) error {
	p, err := o.find(ctx)
	if err == nil {
		err = engine.CheckID(persistenceID)
	}
	if err == nil {
		err = p.retry(ctx, persistenceID)
	}
	if err != nil {
		return fmt.Errorf("retry %q of projection %s: %w", persistenceID, o.projection, err)
	}
	return nil
}

func (o *operated) retry(ctx context.Context, pid string) error {
	request := uuid.NewString() + "\x00" + o.Projection + "\x00" + pid
	return o.Table.Send(ctx, dynamo.Update{
		Table: o.Table.Name, Key: o.Table.RequestsKey(o.Group),
		Expression: "ADD " + engine.AttrRetries + " :request",
		Condition:  engine.Always,
		Values:     dynamo.Attributes{":request": &types.AttributeValueMemberSS{Value: []string{request}}},
	})
}
