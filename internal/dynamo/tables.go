package dynamo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/internal/backoff"
)

// errNoTable is the failure of a response without a table.
var errNoTable = errors.New("the response has no description of a table")

// DescribeTable returns the description of a table.
func (c *Client) DescribeTable(ctx context.Context, table string) (*types.TableDescription, error) {
	r := request{operation: "DescribeTable", table: table}
	return call(ctx, c, &Meter{}, r, func(ctx context.Context) (*types.TableDescription, Cost, error) {
		out, err := c.api.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &table})
		if err != nil {
			return nil, Cost{}, err
		}
		if out.Table == nil {
			return nil, Cost{}, errNoTable
		}
		return out.Table, Cost{}, nil
	})
}

// DescribeExistingTable is DescribeTable for a table that exists: a description that is out of date
// is asked for again, for DescriptionLag at most.
func (c *Client) DescribeExistingTable(ctx context.Context, table string) (*types.TableDescription, error) {
	var found *types.TableDescription
	began := time.Now()
	err := poll(ctx, table, func() (string, error) {
		var err error
		found, err = c.DescribeTable(ctx, table)
		if errors.Is(err, ErrTableNotFound) && time.Since(began) < DescriptionLag {
			return "which is not described yet", nil
		}
		return "", err
	})
	return found, err
}

// DescriptionLag is how long a description of a table may be out of date. DescribeTable is
// eventually consistent, and the service advises to ask again after a few seconds:
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DescribeTable.html
const DescriptionLag = 10 * time.Second

// deletionTime is how long CreateTable waits for the deletion of a table with the same name.
const deletionTime = 10 * time.Minute

// CreateTable creates a table, and waits until it is described as active or ctx ends. It returns
// the description, and whether it has created the table; false if the table existed. While a table
// with the name is being deleted, CreateTable waits, and then creates the new one. After 10 minutes
// that is an error.
func (c *Client) CreateTable(ctx context.Context, in *dynamodb.CreateTableInput) (bool, *types.TableDescription, error) {
	table := aws.ToString(in.TableName)
	var (
		found *types.TableDescription
		// id and made are the id of the created table, and when it was created.
		id   string
		made time.Time
		// deleting is when the deletion of a table with the name was first described.
		deleting time.Time
		send     = true
	)
	err := poll(ctx, table, func() (string, error) {
		if send {
			var err error
			id, err = c.createTable(ctx, in)
			switch {
			case err == nil:
				made = time.Now()
			case !isInUse(err):
				return "", err
			}
		}
		d, err := c.DescribeTable(ctx, table)
		young := time.Since(made) < DescriptionLag
		send = errors.Is(err, ErrTableNotFound) && !young
		switch {
		case errors.Is(err, ErrTableNotFound):
			// A table that this call has not created is not described yet, or it was deleted: the
			// next CreateTable shows which.
			return "which is not described yet", nil
		case err != nil:
			return "", err
		case young && aws.ToString(d.TableId) != id:
			return "which is not described yet", nil // the description is the deleted table's
		case d.TableStatus == types.TableStatusDeleting:
			if deleting.IsZero() {
				deleting = time.Now()
			}
			if time.Since(deleting) > deletionTime {
				return "", fmt.Errorf("%w: the table with the name is still being deleted after %v: call again when it is gone",
					ErrInvalidRequest, deletionTime)
			}
			return "which is being deleted", nil
		case !isActive(d):
			return "which is being made", nil
		}
		found = d
		return "", nil
	})
	return !made.IsZero(), found, err
}

// createTable sends CreateTable, and returns the id of the created table.
func (c *Client) createTable(ctx context.Context, in *dynamodb.CreateTableInput) (string, error) {
	r := request{operation: "CreateTable", table: aws.ToString(in.TableName), write: true}
	return call(ctx, c, &Meter{}, r, func(ctx context.Context) (string, Cost, error) {
		out, err := c.api.CreateTable(ctx, in)
		if err != nil || out.TableDescription == nil {
			return "", Cost{}, err
		}
		return aws.ToString(out.TableDescription.TableId), Cost{}, nil
	})
}

// isInUse reports whether a request was refused because the table exists, or is being made, changed
// or deleted. LimitExceededException reports another index that is being made or deleted, or too
// many operations on tables:
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateTable.html
func isInUse(err error) bool {
	_, inUse := errors.AsType[*types.ResourceInUseException](err)
	_, limited := errors.AsType[*types.LimitExceededException](err)
	return inUse || limited
}

// DeleteTable deletes a table, and waits until it is gone or ctx ends. The error is
// ErrTableNotFound if the table does not exist.
func (c *Client) DeleteTable(ctx context.Context, table string) error {
	r := request{operation: "DeleteTable", table: table, write: true}
	_, err := call(ctx, c, &Meter{}, r, func(ctx context.Context) (struct{}, Cost, error) {
		_, err := c.api.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &table})
		return struct{}{}, Cost{}, err
	})
	if err != nil {
		return err
	}
	return poll(ctx, table, func() (string, error) {
		_, err := c.DescribeTable(ctx, table)
		if errors.Is(err, ErrTableNotFound) {
			return "", nil
		}
		return "which is being deleted", err
	})
}

// UpdateTable changes a table, and waits until its description shows the change, and it and its
// indexes are active, or ctx ends. It returns the description, and whether it has made the change;
// false if another caller has. While the table is in use, UpdateTable waits and sends the request
// again. If the request is refused and another caller does not make the change either, the refusal
// is the error.
func (c *Client) UpdateTable(
	ctx context.Context, in *dynamodb.UpdateTableInput, shows func(*types.TableDescription) bool,
) (bool, *types.TableDescription, error) {
	table, began := aws.ToString(in.TableName), time.Now()
	var (
		found   *types.TableDescription
		changed bool
		refused refusal
		send    = true
	)
	err := poll(ctx, table, func() (string, error) {
		inUse := false
		if send {
			err := c.updateTable(ctx, in)
			inUse = isInUse(err)
			switch {
			case err == nil, inUse:
			case errors.Is(err, ErrInvalidRequest):
				refused = newRefusal(err)
			default:
				return "", err
			}
			changed = changed || err == nil || MaybeApplied(err)
			send = false
		}
		d, err := c.DescribeTable(ctx, table)
		switch {
		case errors.Is(err, ErrTableNotFound) && time.Since(began) < DescriptionLag:
			return "which is not described yet", nil
		case err != nil:
			return "", err
		case !shows(d):
			send = inUse // unless another caller makes the change
			return "whose change is not described yet", refused.past()
		case !isActive(d):
			return "which is being changed", nil
		}
		found = d
		return "", nil
	})
	return changed, found, err
}

func (c *Client) updateTable(ctx context.Context, in *dynamodb.UpdateTableInput) error {
	r := request{operation: "UpdateTable", table: aws.ToString(in.TableName), write: true}
	_, err := call(ctx, c, &Meter{}, r, func(ctx context.Context) (struct{}, Cost, error) {
		_, err := c.api.UpdateTable(ctx, in)
		return struct{}{}, Cost{}, err
	})
	return err
}

// refusal is a refused change of a table. If another caller has just made the change, the refusal
// is no error, but the description may not show the change before DescriptionLag has passed.
type refusal struct {
	err error
	at  time.Time
}

func newRefusal(err error) refusal { return refusal{err, time.Now()} }

// past returns the refusal if the description has had the time to show another caller's change.
func (r refusal) past() error {
	if time.Since(r.at) < DescriptionLag {
		return nil
	}
	return r.err
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
		return struct{}{}, Cost{}, err
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
		return struct{}{}, Cost{}, err
	})
	return status, err
}

// EnableTTL makes items of a table expire by a numeric attribute in seconds since 1970, unless they
// expire by one. It reports whether it has changed that. While the table is in use, EnableTTL waits
// and sends the request again, until ctx ends.
func (c *Client) EnableTTL(ctx context.Context, table, attribute string) (bool, error) {
	began := time.Now()
	var changed bool
	var refused refusal
	err := poll(ctx, table, func() (string, error) {
		name, err := c.TTL(ctx, table)
		switch {
		case errors.Is(err, ErrTableNotFound) && time.Since(began) < DescriptionLag:
			return "which is not described yet", nil
		case err != nil || name != "":
			return "", err
		case refused.err != nil:
			return "whose time to live is not described yet", refused.past()
		}
		err = c.enableTTL(ctx, table, attribute)
		switch {
		case isInUse(err):
			return "which is being changed", nil
		case errors.Is(err, ErrInvalidRequest):
			changed = MaybeApplied(err)
			// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateTimeToLive.html
			refused = newRefusal(fmt.Errorf("%w (DynamoDB changes the time to live of a table once an hour: "+
				"if it was switched off within the last hour, call again later)", err))
			return "whose time to live is not described yet", nil
		}
		changed = err == nil
		return "", err
	})
	return changed, err
}

func (c *Client) enableTTL(ctx context.Context, table, attribute string) error {
	r := request{operation: "UpdateTimeToLive", table: table, write: true}
	_, err := call(ctx, c, &Meter{}, r, func(ctx context.Context) (struct{}, Cost, error) {
		_, err := c.api.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
			TableName:               &table,
			TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: &attribute, Enabled: aws.Bool(true)},
		})
		return struct{}{}, Cost{}, err
	})
	return err
}

// isActive reports whether a table and all its indexes are active.
func isActive(d *types.TableDescription) bool {
	return d.TableStatus == types.TableStatusActive &&
		!slices.ContainsFunc(d.GlobalSecondaryIndexes, func(i types.GlobalSecondaryIndexDescription) bool {
			return i.IndexStatus != types.IndexStatusActive
		})
}

// poll calls step until it returns "" or an error, or ctx ends. Otherwise step returns a clause
// about the table that says what is waited for. The pauses grow to a second.
func poll(ctx context.Context, table string, step func() (string, error)) error {
	pauses := backoff.Pauses{Shortest: 20 * time.Millisecond, Longest: time.Second}
	for n := 0; ; n++ {
		state, err := step()
		if state == "" || err != nil {
			return err
		}
		if backoff.Wait(ctx, pauses.After(n)) != nil {
			return fmt.Errorf("wait for table %q, %s: %w", table, state, contextReason(ctx))
		}
	}
}
