package dynamo

import (
	"context"
	"errors"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// transient lists the cancellation reasons after which a resent transaction may succeed: other
// requests used an item, or its table had no capacity left.
var transient = []string{"TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"}

// noReason is the code of an item that did not cancel its transaction.
const noReason = "None"

// Transaction is an atomic write of several items.
type Transaction struct {
	// Table is the table that errors name.
	Table string
	Items []types.TransactWriteItem
	// Token identifies the transaction. An attempt succeeds if an earlier one, whose response was
	// lost, was done. A transaction with other items needs another token.
	Token string
}

// Transact writes the items of a transaction. It resends a transaction that was cancelled for
// transient reasons. If the transaction was cancelled for another reason, the error is
// ErrInvalidRequest, and [CancellationReasons] returns the codes.
func (c *Client) Transact(ctx context.Context, m *Meter, t Transaction) error {
	in := &dynamodb.TransactWriteItemsInput{
		TransactItems:          t.Items,
		ClientRequestToken:     &t.Token,
		ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	}
	const operation = "TransactWriteItems"
	r := request{operation: operation, table: t.Table, write: true}
	_, err := call(ctx, c, m, r, func(ctx context.Context) (struct{}, Cost, error) {
		out, err := c.api.TransactWriteItems(ctx, in)
		if err != nil {
			return struct{}{}, Cost{}, retryable(err)
		}
		return struct{}{}, consumed(true, out.ConsumedCapacity...),
			c.endpoint.consumed(operation, len(out.ConsumedCapacity) > 0)
	})
	return err
}

// CancellationReasons returns, for each item of a cancelled transaction, the code of its
// cancellation reason, which is "None" for an item that did not cancel it. It returns nil for any
// other error.
func CancellationReasons(err error) []string {
	cancelled, ok := errors.AsType[*types.TransactionCanceledException](err)
	if !ok {
		return nil
	}
	codes := make([]string, len(cancelled.CancellationReasons))
	for i, reason := range cancelled.CancellationReasons {
		codes[i] = aws.ToString(reason.Code)
	}
	return codes
}

// retryable converts the error of a transaction to one with a retryable code, if all its reasons
// are transient.
func retryable(err error) error {
	conflict, throttled := false, false
	for _, code := range CancellationReasons(err) {
		if code != noReason && !slices.Contains(transient, code) {
			return err
		}
		conflict = conflict || code != noReason
		throttled = throttled || judgeCode(code).patient
	}
	message := err.Error()
	switch {
	case throttled:
		return &types.ThrottlingException{Message: &message}
	case conflict:
		return &types.TransactionConflictException{Message: &message}
	}
	return err
}
