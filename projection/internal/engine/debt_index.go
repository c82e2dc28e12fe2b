package engine

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/provision"
)

// debtsPage is how many debts of a projection are read at once.
const debtsPage = 100

// OwedRun is an entry of the index of debts. Due is when the run is to be made, Since when the debt
// was stored.
type OwedRun struct {
	PersistenceID string
	Due, Since    time.Time
}

// Debts reads a page of the debts of a projection, in the order in which they are due. It returns
// where the next page begins, nil after the last. The index follows the table late.
func (t *Table) Debts(ctx context.Context, projection string, from dynamo.Attributes) ([]OwedRun, dynamo.Attributes, error) {
	var page dynamo.Page
	err := core.Of(t.Journal).Requests(ctx, func(ctx context.Context, client *dynamo.Client) error {
		var err error
		page, err = client.Query(ctx, &dynamo.Meter{}, &dynamodb.QueryInput{
			TableName: &t.Name, IndexName: aws.String(provision.DebtsIndex), ExclusiveStartKey: from,
			KeyConditionExpression:    aws.String(attrDebt + " = :debt"),
			ExpressionAttributeValues: dynamo.Attributes{":debt": Text(t.debtsOf(projection))},
			Limit:                     aws.Int32(debtsPage),
		})
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	runs := make([]OwedRun, len(page.Items))
	for i, item := range page.Items {
		d := Decoder{Table: t.Name, Item: item}
		debt := d.debt()
		runs[i] = OwedRun{strings.TrimPrefix(d.Text(AttrPar), t.debtsOf(projection)+"\x00"), debt.Due, debt.Since}
	}
	return runs, page.Next, nil
}

// IsNoIndex reports whether the table has no index of debts that can be read: an earlier version
// has made the table, the index is being filled, or a policy does not allow to read it.
func IsNoIndex(err error) bool {
	return errors.Is(err, dynajournal.ErrInvalidRequest) || errors.Is(err, dynajournal.ErrDenied) ||
		errors.Is(err, dynajournal.ErrTableNotFound)
}
