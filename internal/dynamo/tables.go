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

// errNoTable is the failure of a response without a table.
var errNoTable = errors.New("the response has no description of a table")

// DescribeTable returns the description of a table.
func (c *Client) DescribeTable(ctx context.Context, table string) (*types.TableDescription, error) {
	r := request{operation: "DescribeTable", table: table}
	return call(ctx, c, &Meter{}, r, func(ctx context.Context) (*types.TableDescription, Cost, error) {
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

// CreateTable creates a table, and waits until it is active or ctx ends. It reports whether it has
// created the table; false if there was one.
func (c *Client) CreateTable(ctx context.Context, in *dynamodb.CreateTableInput) (bool, error) {
	table := aws.ToString(in.TableName)
	r := request{operation: "CreateTable", table: table}
	created, err := call(ctx, c, &Meter{}, r, func(ctx context.Context) (bool, Cost, error) {
		_, err := c.api.CreateTable(ctx, in)
		if _, ok := errors.AsType[*types.ResourceInUseException](err); ok {
			return false, Cost{}, nil
		}
		c.note(nil, err)
		return err == nil, Cost{}, err //nolint:wrapcheck // judged and wrapped by call
	})
	if err != nil {
		return false, err
	}
	return created, c.awaitActive(ctx, table)
}

// DeleteTable deletes a table, and waits until it is gone or ctx ends. The error is
// ErrTableNotFound if the table does not exist.
func (c *Client) DeleteTable(ctx context.Context, table string) error {
	r := request{operation: "DeleteTable", table: table, write: true}
	_, err := call(ctx, c, &Meter{}, r, func(ctx context.Context) (struct{}, Cost, error) {
		_, err := c.api.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &table})
		return struct{}{}, Cost{}, err //nolint:wrapcheck // judged and wrapped by call
	})
	if err != nil {
		return err
	}
	return poll(ctx, func() (bool, error) {
		_, err := c.DescribeTable(ctx, table)
		if errors.Is(err, ErrTableNotFound) {
			return true, nil
		}
		return false, err
	})
}

// UpdateTable changes a table, and waits until it and its indexes are active or ctx ends.
func (c *Client) UpdateTable(ctx context.Context, in *dynamodb.UpdateTableInput) error {
	table := aws.ToString(in.TableName)
	r := request{operation: "UpdateTable", table: table, write: true}
	_, err := call(ctx, c, &Meter{}, r, func(ctx context.Context) (struct{}, Cost, error) {
		_, err := c.api.UpdateTable(ctx, in)
		return struct{}{}, Cost{}, err //nolint:wrapcheck // judged and wrapped by call
	})
	if err != nil {
		return err
	}
	return c.awaitActive(ctx, table)
}

// TTL returns the name of the attribute by which items of a table expire, empty if they do not.
func (c *Client) TTL(ctx context.Context, table string) (string, error) {
	d, err := c.DescribeTTL(ctx, table)
	if err != nil {
		return "", err
	}
	switch d.TimeToLiveStatus {
	case types.TimeToLiveStatusEnabled, types.TimeToLiveStatusEnabling:
		return aws.ToString(d.AttributeName), nil
	}
	return "", nil
}

// DescribeTTL returns how items of a table expire.
func (c *Client) DescribeTTL(ctx context.Context, table string) (types.TimeToLiveDescription, error) {
	r := request{operation: "DescribeTimeToLive", table: table}
	var description types.TimeToLiveDescription
	_, err := call(ctx, c, &Meter{}, r, func(ctx context.Context) (struct{}, Cost, error) {
		out, err := c.api.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &table})
		if err == nil && out.TimeToLiveDescription != nil {
			description = *out.TimeToLiveDescription
		}
		return struct{}{}, Cost{}, err //nolint:wrapcheck // judged and wrapped by call
	})
	return description, err
}

// DescribeRecovery returns whether a table can be restored to an earlier time, such as ENABLED.
func (c *Client) DescribeRecovery(ctx context.Context, table string) (types.PointInTimeRecoveryStatus, error) {
	r := request{operation: "DescribeContinuousBackups", table: table}
	var status types.PointInTimeRecoveryStatus
	_, err := call(ctx, c, &Meter{}, r, func(ctx context.Context) (struct{}, Cost, error) {
		out, err := c.api.DescribeContinuousBackups(ctx, &dynamodb.DescribeContinuousBackupsInput{TableName: &table})
		if err == nil && out.ContinuousBackupsDescription != nil &&
			out.ContinuousBackupsDescription.PointInTimeRecoveryDescription != nil {
			status = out.ContinuousBackupsDescription.PointInTimeRecoveryDescription.PointInTimeRecoveryStatus
		}
		return struct{}{}, Cost{}, err //nolint:wrapcheck // judged and wrapped by call
	})
	return status, err
}

// EnableTTL makes items expire by a numeric attribute in seconds since 1970.
func (c *Client) EnableTTL(ctx context.Context, table, attribute string) error {
	r := request{operation: "UpdateTimeToLive", table: table, write: true}
	_, err := call(ctx, c, &Meter{}, r, func(ctx context.Context) (struct{}, Cost, error) {
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
		d, err := c.DescribeTable(ctx, table)
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

// poll calls done until it returns true or an error, or ctx ends. The pauses grow to a second.
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
