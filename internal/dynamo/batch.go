package dynamo

import (
	"context"
	"errors"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"github.com/dynajournal/dynajournal/internal/dynamo/direct"
)

// errUnprocessed is the failure of a batch that was only partly processed.
var errUnprocessed = &types.ProvisionedThroughputExceededException{
	Message: aws.String("a part of the batch was not processed"),
}

// errOtherTable is the failure of a batch whose response names a table that was not in the request.
// Without this error, items under another table's name would count as missing.
var errOtherTable = errors.New("the response is about another table")

// onlyOf reports whether all parts of a response belong to the table.
func onlyOf[T any](table string, parts map[string]T) bool {
	_, has := parts[table]
	return len(parts) == 0 || len(parts) == 1 && has
}

// BatchGet reads items by their keys, strongly consistent, in concurrent requests of at most
// MaxBatchGet keys. Missing items are left out, and the order is undefined. Unprocessed keys are
// read again, within the retries of one request.
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
	r := request{operation: "BatchGetItem", table: table}
	err := c.drain(ctx, m, r, len(keys), func(ctx context.Context) (int, Cost, error) {
		in := &dynamodb.BatchGetItemInput{
			RequestItems:           pending,
			ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
		}
		op := direct.Operation{Name: "BatchGetItem", Table: table}
		out, err := direct.Call(ctx, c.sender, op, in, nil, c.api.BatchGetItem)
		if err != nil {
			return 0, Cost{}, err
		}
		left, cost := len(out.UnprocessedKeys[table].Keys), consumed(false, out.ConsumedCapacity...)
		if !onlyOf(table, out.Responses) || !onlyOf(table, out.UnprocessedKeys) {
			return 0, cost, errOtherTable
		}
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

// BatchWrite puts and deletes items without conditions, at most MaxBatchWrite of them. Unprocessed
// items are sent again, within the retries of one request. After an error any part of the writes
// may be done. before is called like [Put].Before.
func (c *Client) BatchWrite(
	ctx context.Context, m *Meter, table string, writes []types.WriteRequest, before func() error,
) error {
	pending := map[string][]types.WriteRequest{table: writes}
	r := request{operation: "BatchWriteItem", table: table, write: true, before: before}
	return c.drain(ctx, m, r, len(writes), func(ctx context.Context) (int, Cost, error) {
		out, err := c.api.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{
			RequestItems:           pending,
			ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
		})
		if err != nil {
			return 0, Cost{}, err
		}
		left, cost := len(out.UnprocessedItems[table]), consumed(true, out.ConsumedCapacity...)
		if !onlyOf(table, out.UnprocessedItems) {
			return 0, cost, errOtherTable
		}
		if left < len(pending[table]) {
			if err := c.endpoint.consumed("BatchWriteItem", len(out.ConsumedCapacity) > 0); err != nil {
				return 0, cost, err
			}
		}
		pending = out.UnprocessedItems
		return left, cost, nil
	})
}

// BatchDelete deletes items by their keys, in as many requests as needed, one after the other.
// before is called like [Put].Before.
func (c *Client) BatchDelete(
	ctx context.Context, m *Meter, table string, keys []Attributes, before func() error,
) error {
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

// drain sends a batch until no part of it is unprocessed. send returns the number of unprocessed
// parts. An attempt that leaves fewer than every attempt before resets the retries and their
// pauses. Any other attempt counts as throttled, so a batch always ends when its time is over.
func (c *Client) drain(
	ctx context.Context, m *Meter, r request, left int, send func(context.Context) (int, Cost, error),
) error {
	a := attempts{client: c, request: r, ctx: ctx}
	a.start(nil)
	for {
		now, err := attempt(&a, m, send)
		switch {
		case err == nil && now == 0:
			a.end(nil)
			return nil
		case err == nil:
			if now < left {
				left, a.used, a.pauses = now, 0, 0
			}
			err = errUnprocessed
		}
		if err = a.failed(err); err != nil {
			a.end(err)
			return err
		}
	}
}
