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

// errNoTable is the failure of a response without a table description.
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

// DescribeExistingTable is DescribeTable for a table that exists. If DynamoDB does not describe the
// table yet, it asks again, for at most [DescriptionLag].
func (c *Client) DescribeExistingTable(ctx context.Context, table string) (*types.TableDescription, error) {
	var found *types.TableDescription
	start := time.Now()
	err := poll(ctx, table, func() (string, error) {
		var err error
		found, err = c.DescribeTable(ctx, table)
		if errors.Is(err, ErrTableNotFound) && time.Since(start) < DescriptionLag {
			return "which is not described yet", nil
		}
		return "", err
	})
	return found, err
}

// DescriptionLag is the longest time for which a table's description may be out of date.
// DescribeTable is eventually consistent, and DynamoDB's documentation advises to ask again after a
// few seconds:
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DescribeTable.html
const DescriptionLag = 10 * time.Second

// deletionTime is the longest time that CreateTable waits for the deletion of a table with the same
// name.
const deletionTime = 10 * time.Minute

// CreateTable creates a table, and waits until it is described as active or ctx ends. It reports
// whether it has created the table, or the table existed, and returns the description. While a
// table with the name is being deleted, CreateTable waits for up to 10 minutes, and then creates
// the new one.
func (c *Client) CreateTable(ctx context.Context, in *dynamodb.CreateTableInput) (bool, *types.TableDescription, error) {
	table := aws.ToString(in.TableName)
	var (
		found *types.TableDescription
		// id is the id of the created table. made is the time of its creation.
		id   string
		made time.Time
		// deleting is the time when a table with the name was first described as being deleted.
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
			// The table of another caller is not described yet, or it was deleted. The next
			// CreateTable request shows which.
			return "which is not described yet", nil
		case err != nil:
			return "", err
		case young && aws.ToString(d.TableId) != id:
			return "which is not described yet", nil // the description is of the deleted table
		case d.TableStatus == types.TableStatusDeleting:
			if deleting.IsZero() {
				deleting = time.Now()
			}
			if time.Since(deleting) > deletionTime {
				return "", fmt.Errorf("%w: the table with this name is still being deleted after %v: call again when it is gone",
					ErrInvalidRequest, deletionTime)
			}
			return "which is being deleted", nil
		case !isActive(d):
			return "which is being created", nil
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

// isInUse reports whether a request was refused because the table exists, or is being created,
// changed or deleted. LimitExceededException means that another index is being created or deleted,
// or that too many operations on tables are running:
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

// UpdateTable changes a table. It waits until the description shows the change and the table and
// its indexes are active, or ctx ends. It reports whether this call or another caller made the
// change, and returns the description. While the table is in use, UpdateTable waits and resends the
// request. If the request is refused and another caller does not make the change, the refusal is
// the error.
func (c *Client) UpdateTable(
	ctx context.Context, in *dynamodb.UpdateTableInput, shows func(*types.TableDescription) bool,
) (bool, *types.TableDescription, error) {
	table, start := aws.ToString(in.TableName), time.Now()
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
		case errors.Is(err, ErrTableNotFound) && time.Since(start) < DescriptionLag:
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

// refusal is a refused change of a table. It is not an error if another caller has just made the
// change, but the description may show that change only after DescriptionLag.
type refusal struct {
	err error
	at  time.Time
}

func newRefusal(err error) refusal { return refusal{err, time.Now()} }

// past returns the refusal after DescriptionLag, when the description would show another caller's
// change.
func (r refusal) past() error {
	if time.Since(r.at) < DescriptionLag {
		return nil
	}
	return r.err
}

// TTL returns the name of a table's TTL attribute, or empty if the items do not expire.
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

// DescribeTTL returns the TTL settings of a table.
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

// DescribeRecovery returns the status of a table's point-in-time recovery, such as ENABLED.
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

// EnableTTL sets the TTL attribute of a table, a number of seconds since 1970, unless the table
// already has one. It reports whether it has set the attribute. While the table is in use,
// EnableTTL waits and resends the request, until ctx ends.
func (c *Client) EnableTTL(ctx context.Context, table, attribute string) (bool, error) {
	start := time.Now()
	var changed bool
	var refused refusal
	err := poll(ctx, table, func() (string, error) {
		name, err := c.TTL(ctx, table)
		switch {
		case errors.Is(err, ErrTableNotFound) && time.Since(start) < DescriptionLag:
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

// poll calls step until it returns "" or an error, or ctx ends. Otherwise step returns a relative
// clause about the table, which says why poll waits. The pauses grow to a second.
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
