package dynamo

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/internal/dynamo/direct"
	"github.com/dynajournal/dynajournal/internal/dynamo/wire"
)

// Types of package [wire] that callers need.
type (
	// Attributes is an item, or a key.
	Attributes = wire.Attributes
	// Item is an item whose attributes can be read by name.
	Item = wire.Item
	// Taker receives the items of a page one by one.
	Taker = wire.Taker
)

// Put is a put of one item.
type Put struct {
	Table string
	Item  Attributes
	// Condition is a condition expression, or empty. Names and Values are its names and values.
	Condition string
	Names     map[string]string
	Values    Attributes
	// Before, if set, is called before every attempt, after the wait for a connection. If it
	// returns an error, the attempt is not sent and the request ends with that error. The outcome
	// of an earlier attempt can stay unknown.
	Before func() error
}

// Put puts one item. If the condition fails, the error is [ErrConditionFailed], and [OldItem]
// returns the stored item. An earlier attempt may have stored it: [MaybeApplied] reports whether
// that is possible.
func (c *Client) Put(ctx context.Context, m *Meter, p Put) error {
	r := request{operation: "PutItem", table: p.Table, write: true, before: p.Before}
	_, err := call(ctx, c, m, r, func(ctx context.Context) (struct{}, Cost, error) {
		cost, err := c.putItem(ctx, &p)
		return struct{}{}, cost, err
	})
	return err
}

// putItem makes one attempt.
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
	out, err := direct.Call(ctx, c.sender, direct.Operation{Name: "PutItem", Table: p.Table}, in, nil, c.api.PutItem)
	if err != nil {
		return Cost{}, err
	}
	return c.endpoint.cost("PutItem", true, out.ConsumedCapacity)
}

// Delete is a delete of one item.
type Delete struct {
	Table string
	Key   Attributes
	// Condition is a condition expression, or empty. Names and Values are its names and values.
	Condition string
	Names     map[string]string
	Values    Attributes
	// Before is called like [Put].Before.
	Before func() error
}

// Delete deletes one item. It returns the errors of [Client.Put], without the stored item.
func (c *Client) Delete(ctx context.Context, m *Meter, d Delete) error {
	in := &dynamodb.DeleteItemInput{
		TableName:                 &d.Table,
		Key:                       d.Key,
		ExpressionAttributeNames:  d.Names,
		ExpressionAttributeValues: d.Values,
		ReturnConsumedCapacity:    types.ReturnConsumedCapacityTotal,
	}
	if d.Condition != "" {
		in.ConditionExpression = &d.Condition
	}
	r := request{operation: "DeleteItem", table: d.Table, write: true, before: d.Before}
	_, err := call(ctx, c, m, r, func(ctx context.Context) (struct{}, Cost, error) {
		out, err := c.api.DeleteItem(ctx, in)
		if err != nil {
			return struct{}{}, Cost{}, err
		}
		cost, err := c.endpoint.cost("DeleteItem", true, out.ConsumedCapacity)
		return struct{}{}, cost, err
	})
	return err
}

// Update is a change of one item's attributes.
type Update struct {
	Table string
	Key   Attributes
	// Expression is an update expression. Condition is a condition expression. Values has the
	// values of both.
	Expression, Condition string
	Values                Attributes
}

// Update changes one item, and returns the new values of the changed attributes. If the condition
// fails, the error is ErrConditionFailed. The update must be idempotent, as an attempt whose
// response was lost is repeated.
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
	r := request{operation: "UpdateItem", table: u.Table, write: true}
	return call(ctx, c, m, r, func(ctx context.Context) (Attributes, Cost, error) {
		out, err := direct.Call(ctx, c.sender, direct.Operation{Name: "UpdateItem", Table: u.Table}, in, nil, c.api.UpdateItem)
		if err != nil {
			return nil, Cost{}, err
		}
		cost, err := c.endpoint.cost("UpdateItem", true, out.ConsumedCapacity)
		return out.Attributes, cost, err
	})
}

// Replace puts one item, and returns the item that it replaced, or nil. It calls before like
// [Put].Before.
func (c *Client) Replace(
	ctx context.Context, m *Meter, table string, item Attributes, before func() error,
) (Attributes, error) {
	in := &dynamodb.PutItemInput{
		TableName:              &table,
		Item:                   item,
		ReturnValues:           types.ReturnValueAllOld,
		ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	}
	r := request{operation: "PutItem", table: table, write: true, before: before}
	return call(ctx, c, m, r, func(ctx context.Context) (Attributes, Cost, error) {
		out, err := c.api.PutItem(ctx, in)
		if err != nil {
			return nil, Cost{}, err
		}
		cost, err := c.endpoint.cost("PutItem", true, out.ConsumedCapacity)
		return out.Attributes, cost, err
	})
}

// Get reads one item, strongly consistent. It returns nil if the item does not exist.
func (c *Client) Get(ctx context.Context, m *Meter, table string, key Attributes) (Attributes, error) {
	in := &dynamodb.GetItemInput{
		TableName:              &table,
		Key:                    key,
		ConsistentRead:         aws.Bool(true),
		ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	}
	r := request{operation: "GetItem", table: table}
	return call(ctx, c, m, r, func(ctx context.Context) (Attributes, Cost, error) {
		out, err := direct.Call(ctx, c.sender, direct.Operation{Name: "GetItem", Table: table}, in, nil, c.api.GetItem)
		if err != nil {
			return nil, Cost{}, err
		}
		cost, err := c.endpoint.cost("GetItem", false, out.ConsumedCapacity)
		return out.Item, cost, err
	})
}

// Page is one page of a query or scan.
type Page struct {
	Items []Attributes
	// Next is the exclusive start key of the next page, or nil after the last page.
	Next Attributes
}

// Query reads one page. It sets the input's ReturnConsumedCapacity.
func (c *Client) Query(ctx context.Context, m *Meter, in *dynamodb.QueryInput) (Page, error) {
	return c.query(ctx, m, in, nil, Slot{})
}

// QueryItems reads one page like [Client.Query], but passes the items to taker instead of making a
// map of each. It returns the exclusive start key of the next page, or nil after the last page.
// After an error, taker must discard the items. slot may come from [Client.Reserve].
func (c *Client) QueryItems(
	ctx context.Context, m *Meter, in *dynamodb.QueryInput, taker Taker, slot Slot,
) (next Attributes, err error) {
	page, err := c.query(ctx, m, in, wire.NewItems(taker), slot)
	if err != nil {
		return nil, err
	}
	if page.Items != nil { // the SDK decoded the response
		taker.Start()
	}
	for _, item := range page.Items {
		taker.Take(wire.Map(item))
	}
	return page.Next, nil
}

// query reads one page. If items is not nil and package wire decodes the response, items receives
// the items.
func (c *Client) query(
	ctx context.Context, m *Meter, in *dynamodb.QueryInput, items *wire.Items, slot Slot,
) (Page, error) {
	in.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal
	table := aws.ToString(in.TableName)
	r := request{operation: "Query", table: table, index: aws.ToString(in.IndexName), slot: slot}
	return call(ctx, c, m, r, func(ctx context.Context) (Page, Cost, error) {
		out, err := direct.Call(ctx, c.sender, direct.Operation{Name: "Query", Table: table}, in, items, c.api.Query)
		if err != nil {
			return Page{}, Cost{}, err
		}
		cost, err := c.endpoint.cost("Query", false, out.ConsumedCapacity)
		if err == nil && out.Items == nil && !items.Listed() {
			err = errNoItems
		}
		return Page{out.Items, out.LastEvaluatedKey}, cost, err
	})
}

// Scan reads one page. It sets the input's ReturnConsumedCapacity.
func (c *Client) Scan(ctx context.Context, m *Meter, in *dynamodb.ScanInput) (Page, error) {
	in.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal
	r := request{operation: "Scan", table: aws.ToString(in.TableName), index: aws.ToString(in.IndexName)}
	return call(ctx, c, m, r, func(ctx context.Context) (Page, Cost, error) {
		out, err := c.api.Scan(ctx, in)
		if err != nil {
			return Page{}, Cost{}, err
		}
		cost, err := c.endpoint.cost("Scan", false, out.ConsumedCapacity)
		if err == nil && out.Items == nil {
			err = errNoItems
		}
		return Page{out.Items, out.LastEvaluatedKey}, cost, err
	})
}
