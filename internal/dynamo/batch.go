package dynamo

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"github.com/dynajournal/dynajournal/internal/safeguard"
)

// errLeftOver is the failure of a batch that was accepted in part only.
var errLeftOver = &types.ProvisionedThroughputExceededException{Message: aws.String("a part of the batch was left over")}

// BatchGet reads the items of keys, strongly consistent, in requests of at most MaxBatchGet at the same time; items that do
// not exist are left out, the order is any. Left-overs are asked for again, within the tries of one request: none is lost.
func (c *Client) BatchGet(ctx context.Context, m *Meter, table string, keys []Attributes) ([]Attributes, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	if len(keys) <= c.opts.MaxBatchGet {
		return c.batchGet(ctx, m, table, keys)
	}
	chunks := slices.Collect(slices.Chunk(keys, c.opts.MaxBatchGet))
	found := make([][]Attributes, len(chunks))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(c.opts.MaxInFlight)
	for i, chunk := range chunks {
		group.Go(func() error {
			var err error
			found[i], err = c.batchGet(ctx, m, table, chunk)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return slices.Concat(found...), nil
}

func (c *Client) batchGet(ctx context.Context, m *Meter, table string, keys []Attributes) ([]Attributes, error) {
	var found []Attributes
	pending := map[string]types.KeysAndAttributes{table: {Keys: keys, ConsistentRead: aws.Bool(true)}}
	err := c.drain(ctx, m, request{operation: "BatchGetItem", table: table, write: false}, len(keys), func(ctx context.Context) (int, Cost, error) {
		out, err := ask(ctx, c, examined{"BatchGetItem", table}, &dynamodb.BatchGetItemInput{
			RequestItems:           pending,
			ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
		}, c.api.BatchGetItem)
		if err != nil {
			return 0, Cost{}, err
		}
		left, cost := len(out.UnprocessedKeys[table].Keys), consumed(false, out.ConsumedCapacity...)
		if left < len(pending[table].Keys) {
			if out.Responses == nil {
				return 0, cost, errNoItems
			}
			if err := c.endpoint.consumed("BatchGetItem", len(out.ConsumedCapacity) > 0); err != nil {
				return 0, cost, err
			}
		}
		found = append(found, out.Responses[table]...)
		pending = out.UnprocessedKeys
		return left, cost, nil
	})
	return found, err
}

// BatchWrite puts and deletes items without conditions, at most MaxBatchWrite of them. Left-overs
// are sent again, within the tries of one request: when it returns nil, everything is done; when
// not, any part may be. before is that of Put.
func (c *Client) BatchWrite(ctx context.Context, m *Meter, table string, writes []types.WriteRequest, before func() error) error {
	pending := map[string][]types.WriteRequest{table: writes}
	return c.drain(ctx, m, request{operation: "BatchWriteItem", table: table, write: true, before: before}, len(writes), func(ctx context.Context) (int, Cost, error) {
		out, err := c.api.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{
			RequestItems:           pending,
			ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
		})
		if err != nil {
			return 0, Cost{}, err //nolint:wrapcheck // judged and wrapped by drain
		}
		left, cost := len(out.UnprocessedItems[table]), consumed(true, out.ConsumedCapacity...)
		if left < len(pending[table]) {
			if err := c.endpoint.consumed("BatchWriteItem", len(out.ConsumedCapacity) > 0); err != nil {
				return 0, cost, err
			}
		}
		pending = out.UnprocessedItems
		return left, cost, nil
	})
}

// BatchDelete deletes the items of keys, in as many requests as it takes, one after the other.
// before is that of Put.
func (c *Client) BatchDelete(ctx context.Context, m *Meter, table string, keys []Attributes, before func() error) error {
	for chunk := range slices.Chunk(keys, c.opts.MaxBatchWrite) {
		writes := make([]types.WriteRequest, len(chunk))
		for i, key := range chunk {
			writes[i].DeleteRequest = &types.DeleteRequest{Key: key}
		}
		if err := c.BatchWrite(ctx, m, table, writes, before); err != nil {
			return err
		}
	}
	return nil
}

// drain sends what is left of a batch until nothing is. send returns how much was left over. A try that left less over than
// any before gives the tries anew; one that did not uses up one, as a throttled request does, so a batch ends whatever the
// service does.
func (c *Client) drain(ctx context.Context, m *Meter, r request, left int, send func(context.Context) (int, Cost, error)) error {
	t := tries{client: c, request: r}
	t.within(ctx)
	defer func() { t.end() }()
	for {
		now, err := attempt(&t, m, send)
		switch {
		case err == nil && (now == 0 || !safeguard.LeftOvers):
			return nil
		case err == nil:
			if safeguard.Progress && now < left {
				left, t.used = now, 0
			}
			err = errLeftOver
		}
		if err = t.failed(err); err != nil {
			return err
		}
	}
}
