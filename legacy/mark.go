package legacy

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// marked reports whether an event is marked as deleted.
func marked(item dynamo.Attributes) bool {
	v, ok := item[attrDeleted].(*types.AttributeValueMemberS)
	return ok && v.Value == isDeleted
}

// markDeleted marks the events that still exist as deleted, and returns how many it has marked.
// Marking a missing event would make an item without a payload.
func markDeleted(
	ctx context.Context, m *dynamo.Meter, client *dynamo.Client, table string, keys []dynamo.Attributes, parallelism int,
) (int64, error) {
	var done atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallelism)
	for _, key := range keys {
		group.Go(func() error {
			_, err := client.Update(ctx, m, dynamo.Update{
				Table:      table,
				Key:        key,
				Expression: "SET " + attrDeleted + " = :true",
				Condition:  "attribute_exists(" + attrPayload + ")",
				Values:     dynamo.Attributes{":true": text(isDeleted)},
			})
			switch {
			case errors.Is(err, dynamo.ErrConditionFailed):
				return nil
			case err != nil:
				return fmt.Errorf("mark %s: %w", keyText(key), err)
			}
			done.Add(1)
			return nil
		})
	}
	err := group.Wait()
	return done.Load(), err
}
