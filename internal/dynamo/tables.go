package dynamo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// errNoTable is an answer that is none.
var errNoTable = errors.New("the answer has no description of a table")

// Describe describes a table.
func (c *Client) Describe(ctx context.Context, table string) (*types.TableDescription, error) {
	return call(ctx, c, &Meter{}, request{operation: "DescribeTable", table: table, write: false}, func(ctx context.Context) (*types.TableDescription, Cost, error) {
		out, err := c.api.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &table})
		if err != nil {
			return nil, Cost{}, err //nolint:wrapcheck // judged and wrapped by call
		}
		if out.Table == nil {
			return nil, Cost{}, errNoTable
		}
		return out.Table, Cost{}, nil
	})
}

// Create asks for a table, and waits until it is active or ctx ends. It reports whether it made the table: false if there
// was one already.
func (c *Client) Create(ctx context.Context, in *dynamodb.CreateTableInput) (bool, error) {
	table := aws.ToString(in.TableName)
	made, err := call(ctx, c, &Meter{}, request{operation: "CreateTable", table: table, write: false}, func(ctx context.Context) (bool, Cost, error) {
		_, err := c.api.CreateTable(ctx, in)
		if _, ok := errors.AsType[*types.ResourceInUseException](err); ok {
			return false, Cost{}, nil
		}
		return err == nil, Cost{}, err //nolint:wrapcheck // judged and wrapped by call
	})
	if err != nil {
		return false, err
	}
	return made, c.awaitActive(ctx, table)
}

// Delete deletes a table, and waits until it is gone or ctx ends. Deleting a table that does not exist is ErrTableNotFound.
func (c *Client) Delete(ctx context.Context, table string) error {
	_, err := call(ctx, c, &Meter{}, request{operation: "DeleteTable", table: table, write: false}, func(ctx context.Context) (struct{}, Cost, error) {
		_, err := c.api.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &table})
		return struct{}{}, Cost{}, err //nolint:wrapcheck // judged and wrapped by call
	})
	if err != nil {
		return err
	}
	return poll(ctx, func() (bool, error) {
		_, err := c.Describe(ctx, table)
		if errors.Is(err, ErrTableNotFound) {
			return true, nil
		}
		return false, err
	})
}

// UpdateTable changes a table, and waits until it and its indexes are active or ctx ends.
func (c *Client) UpdateTable(ctx context.Context, in *dynamodb.UpdateTableInput) error {
	table := aws.ToString(in.TableName)
	_, err := call(ctx, c, &Meter{}, request{operation: "UpdateTable", table: table, write: false}, func(ctx context.Context) (struct{}, Cost, error) {
		_, err := c.api.UpdateTable(ctx, in)
		return struct{}{}, Cost{}, err //nolint:wrapcheck // judged and wrapped by call
	})
	if err != nil {
		return err
	}
	return c.awaitActive(ctx, table)
}

// TTL is the name of the attribute by which items of a table expire, empty if they don't.
func (c *Client) TTL(ctx context.Context, table string) (string, error) {
	d, err := c.DescribeTTL(ctx, table)
	if err != nil || d.TimeToLiveStatus != types.TimeToLiveStatusEnabled && d.TimeToLiveStatus != types.TimeToLiveStatusEnabling {
		return "", err
	}
	return aws.ToString(d.AttributeName), nil
}

// DescribeTTL describes how items of a table expire.
func (c *Client) DescribeTTL(ctx context.Context, table string) (types.TimeToLiveDescription, error) {
	req := request{operation: "DescribeTimeToLive", table: table, write: false}
	return call(ctx, c, &Meter{}, req, func(ctx context.Context) (types.TimeToLiveDescription, Cost, error) {
		out, err := c.api.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &table})
		if err != nil {
			return types.TimeToLiveDescription{}, Cost{}, err //nolint:wrapcheck // judged and wrapped by call
		}
		if out.TimeToLiveDescription == nil {
			return types.TimeToLiveDescription{}, Cost{}, nil
		}
		return *out.TimeToLiveDescription, Cost{}, nil
	})
}

// EnableTTL lets items expire by a numeric attribute that holds seconds since 1970.
func (c *Client) EnableTTL(ctx context.Context, table, attribute string) error {
	_, err := call(ctx, c, &Meter{}, request{operation: "UpdateTimeToLive", table: table, write: false}, func(ctx context.Context) (struct{}, Cost, error) {
		_, err := c.api.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
			TableName:               &table,
			TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: &attribute, Enabled: aws.Bool(true)},
		})
		return struct{}{}, Cost{}, err //nolint:wrapcheck // judged and wrapped by call
	})
	return err
}

// awaitActive waits until a table and all its indexes are active.
func (c *Client) awaitActive(ctx context.Context, table string) error {
	return poll(ctx, func() (bool, error) {
		d, err := c.Describe(ctx, table)
		if err != nil {
			if errors.Is(err, ErrTableNotFound) { // not yet visible everywhere
				return false, nil
			}
			return false, err
		}
		for i := range d.GlobalSecondaryIndexes {
			if d.GlobalSecondaryIndexes[i].IndexStatus != types.IndexStatusActive {
				return false, nil
			}
		}
		return d.TableStatus == types.TableStatusActive, nil
	})
}

// poll asks until done, with pauses that grow to a second, or until ctx ends.
func poll(ctx context.Context, done func() (bool, error)) error {
	const first, longest = 20 * time.Millisecond, time.Second
	for pause := first; ; pause = min(2*pause, longest) {
		ok, err := done()
		if ok || err != nil {
			return err
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("wait for the table: %w", contextReason(ctx))
		}
	}
}
