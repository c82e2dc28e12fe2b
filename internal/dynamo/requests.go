package dynamo

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Attributes is an item, or a key.
type Attributes = map[string]types.AttributeValue

// Put is a conditional or plain put of one item.
type Put struct {
	Table string
	Item  Attributes
	// Condition is a condition expression, empty for none, with its names and values.
	Condition string
	Names     map[string]string
	Values    Attributes
	// Before is called before every attempt, after the wait for a connection, if set. After an
	// error the attempt is not sent, and the request ends with that error; what an earlier attempt
	// may have done stays unknown.
	Before func() error
}

// Put puts one item. A condition that fails is ErrConditionFailed with the item that stands there (OldItem), and may be the
// answer to a second try whose first was applied: MaybeApplied tells.
func (c *Client) Put(ctx context.Context, m *Meter, p Put) error {
	_, err := call(ctx, c, m, request{operation: "PutItem", table: p.Table, write: true, before: p.Before}, func(ctx context.Context) (struct{}, Cost, error) {
		cost, err := c.putItem(ctx, &p)
		return struct{}{}, cost, err
	})
	return err
}

// putItem sends one try.
func (c *Client) putItem(ctx context.Context, p *Put) (Cost, error) {
	in := &dynamodb.PutItemInput{
		TableName:                 &p.Table,
		Item:                      p.Item,
		ExpressionAttributeNames:  p.Names,
		ExpressionAttributeValues: p.Values,
		ReturnConsumedCapacity:    types.ReturnConsumedCapacityTotal,
	}
	if p.Condition != "" {
		in.ConditionExpression = &p.Condition
		in.ReturnValuesOnConditionCheckFailure = types.ReturnValuesOnConditionCheckFailureAllOld
	}
	out, err := ask(ctx, c, examined{"PutItem", p.Table}, in, c.api.PutItem)
	if err != nil {
		return Cost{}, err
	}
	return c.capacity("PutItem", true, out.ConsumedCapacity)
}

// Remove deletes the item whose key is p.Item, under p's condition. Errors are those of Put.
func (c *Client) Remove(ctx context.Context, m *Meter, p Put) error {
	in := &dynamodb.DeleteItemInput{
		TableName:                 &p.Table,
		Key:                       p.Item,
		ExpressionAttributeNames:  p.Names,
		ExpressionAttributeValues: p.Values,
		ReturnConsumedCapacity:    types.ReturnConsumedCapacityTotal,
	}
	if p.Condition != "" {
		in.ConditionExpression = &p.Condition
	}
	_, err := call(ctx, c, m, request{operation: "DeleteItem", table: p.Table, write: true, before: p.Before}, func(ctx context.Context) (struct{}, Cost, error) {
		out, err := c.api.DeleteItem(ctx, in)
		if err != nil {
			return struct{}{}, Cost{}, err //nolint:wrapcheck // judged and wrapped by call
		}
		cost, err := c.capacity("DeleteItem", true, out.ConsumedCapacity)
		return struct{}{}, cost, err
	})
	return err
}

// Update changes attributes of one item.
type Update struct {
	Table string
	Key   Attributes
	// Expression is an update expression, Condition a condition expression; Values are those of both.
	Expression, Condition string
	Values                Attributes
}

// Update changes one item, and returns the attributes that it has changed, as they are now. A condition that fails is
// ErrConditionFailed. The update must do the same when it is done twice.
func (c *Client) Update(ctx context.Context, m *Meter, u Update) (Attributes, error) {
	in := &dynamodb.UpdateItemInput{
		TableName:                 &u.Table,
		Key:                       u.Key,
		UpdateExpression:          &u.Expression,
		ConditionExpression:       &u.Condition,
		ExpressionAttributeValues: u.Values,
		ReturnValues:              types.ReturnValueUpdatedNew,
		ReturnConsumedCapacity:    types.ReturnConsumedCapacityTotal,
	}
	return call(ctx, c, m, request{operation: "UpdateItem", table: u.Table, write: true}, func(ctx context.Context) (Attributes, Cost, error) {
		out, err := c.api.UpdateItem(ctx, in)
		if err != nil {
			return nil, Cost{}, err //nolint:wrapcheck // judged and wrapped by call
		}
		cost, err := c.capacity("UpdateItem", true, out.ConsumedCapacity)
		return out.Attributes, cost, err
	})
}

// Replace puts one item, and returns the one it has replaced, nil if there was none.
func (c *Client) Replace(ctx context.Context, m *Meter, table string, item Attributes) (Attributes, error) {
	in := &dynamodb.PutItemInput{
		TableName:              &table,
		Item:                   item,
		ReturnValues:           types.ReturnValueAllOld,
		ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	}
	return call(ctx, c, m, request{operation: "PutItem", table: table, write: true}, func(ctx context.Context) (Attributes, Cost, error) {
		out, err := c.api.PutItem(ctx, in)
		if err != nil {
			return nil, Cost{}, err //nolint:wrapcheck // judged and wrapped by call
		}
		cost, err := c.capacity("PutItem", true, out.ConsumedCapacity)
		return out.Attributes, cost, err
	})
}

// Get reads one item, strongly consistent; nil if there is none.
func (c *Client) Get(ctx context.Context, m *Meter, table string, key Attributes) (Attributes, error) {
	in := &dynamodb.GetItemInput{
		TableName:              &table,
		Key:                    key,
		ConsistentRead:         aws.Bool(true),
		ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	}
	return call(ctx, c, m, request{operation: "GetItem", table: table, write: false}, func(ctx context.Context) (Attributes, Cost, error) {
		out, err := c.api.GetItem(ctx, in)
		if err != nil {
			return nil, Cost{}, err //nolint:wrapcheck // judged and wrapped by call
		}
		cost, err := c.capacity("GetItem", false, out.ConsumedCapacity)
		return out.Item, cost, err
	})
}

// Page is one page of a query or scan.
type Page struct {
	Items []Attributes
	// Next is where the next page begins; nil after the last.
	Next Attributes
}

// Query reads one page. The input's ReturnConsumedCapacity is set.
func (c *Client) Query(ctx context.Context, m *Meter, in *dynamodb.QueryInput) (Page, error) {
	return c.query(ctx, m, in, false)
}

func (c *Client) query(ctx context.Context, m *Meter, in *dynamodb.QueryInput, reserved bool) (Page, error) {
	in.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal
	r := request{operation: "Query", table: aws.ToString(in.TableName), write: false, reserved: reserved}
	return call(ctx, c, m, r, func(ctx context.Context) (Page, Cost, error) {
		out, err := ask(ctx, c, examined{"Query", aws.ToString(in.TableName)}, in, c.api.Query)
		if err != nil {
			return Page{}, Cost{}, err
		}
		cost, err := c.capacity("Query", false, out.ConsumedCapacity)
		if taking, _ := ctx.Value(takesItems{}).(*taking); err == nil && out.Items == nil && (taking == nil || !taking.given) {
			err = errNoItems
		}
		return Page{out.Items, out.LastEvaluatedKey}, cost, err
	})
}

// QueryItems reads one page as Query does, and gives its items to taker instead of making maps of them. next is where the next
// page begins, nil after the last. After an error, what was taken does not count. A reserved one has its place by Reserve.
func (c *Client) QueryItems(
	ctx context.Context, m *Meter, in *dynamodb.QueryInput, taker Taker, reserved bool,
) (next Attributes, err error) {
	page, err := c.query(context.WithValue(ctx, takesItems{}, &taking{Taker: taker}), m, in, reserved)
	if err != nil {
		return nil, err
	}
	if page.Items != nil { // the SDK has decoded the answer
		taker.Start()
	}
	for _, item := range page.Items {
		taker.Take(mapped(item))
	}
	return page.Next, nil
}

// Scan reads one page. The input's ReturnConsumedCapacity is set.
func (c *Client) Scan(ctx context.Context, m *Meter, in *dynamodb.ScanInput) (Page, error) {
	in.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal
	return call(ctx, c, m, request{operation: "Scan", table: aws.ToString(in.TableName), write: false}, func(ctx context.Context) (Page, Cost, error) {
		out, err := c.api.Scan(ctx, in)
		if err != nil {
			return Page{}, Cost{}, err //nolint:wrapcheck // judged and wrapped by call
		}
		cost, err := c.capacity("Scan", false, out.ConsumedCapacity)
		if err == nil && out.Items == nil {
			err = errNoItems
		}
		return Page{out.Items, out.LastEvaluatedKey}, cost, err
	})
}
