package dynamo_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/internal/dynamo"
)

func TestDeleteSendsItsConditionAndMayBeApplied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(reset, refuse(400, "ConditionalCheckFailedException"))
		err := client(t, s).Delete(t.Context(), &dynamo.Meter{}, dynamo.Delete{
			Table: table, Key: key(1), Condition: "seq = :v", Values: dynamo.Attributes{":v": &types.AttributeValueMemberN{Value: "7"}},
		})
		if !errors.Is(err, dynamo.ErrConditionFailed) || !dynamo.MaybeApplied(err) {
			t.Errorf("error %v", err)
		}
		sent := s.attempts()[1].body
		if sent["ConditionExpression"] != "seq = :v" || fmt.Sprint(sent["ExpressionAttributeValues"]) != "map[:v:map[N:7]]" {
			t.Errorf("sent %v", sent)
		}
	})
}

func TestReplaceReturnsTheReplacedItem(t *testing.T) {
	s := newScript(ok(`{"Attributes":{"num":{"N":"7"}}}`), ok(`{}`))
	c := client(t, s)
	if old, err := c.Replace(t.Context(), &dynamo.Meter{}, table, key(1), nil); err != nil || old["num"] == nil {
		t.Errorf("%v, %v", old, err)
	}
	if old, err := c.Replace(t.Context(), &dynamo.Meter{}, table, key(1), nil); err != nil || old != nil {
		t.Errorf("without a stored item: %v, %v", old, err)
	}
}

func TestEveryRequestNamesOperationAndTableInItsError(t *testing.T) {
	fails := newScript(refuse(400, "ValidationException"))
	for operation, send := range map[string]func(context.Context, *dynamo.Client) error{
		"DeleteItem": func(ctx context.Context, c *dynamo.Client) error {
			return c.Delete(ctx, &dynamo.Meter{}, dynamo.Delete{Table: table, Key: key(1)})
		},
		"UpdateItem": func(ctx context.Context, c *dynamo.Client) error {
			_, err := c.Update(ctx, &dynamo.Meter{}, dynamo.Update{Table: table, Key: key(1), Expression: "REMOVE a"})
			return err
		},
		"GetItem": func(ctx context.Context, c *dynamo.Client) error {
			_, err := c.Get(ctx, &dynamo.Meter{}, table, key(1))
			return err
		},
		"BatchGetItem": func(ctx context.Context, c *dynamo.Client) error {
			_, err := c.BatchGet(ctx, &dynamo.Meter{}, table, keys(1))
			return err
		},
		"BatchWriteItem": func(ctx context.Context, c *dynamo.Client) error {
			return c.BatchWrite(ctx, &dynamo.Meter{}, table, writes(1), nil)
		},
		"DescribeTable": func(ctx context.Context, c *dynamo.Client) error {
			_, err := c.DescribeTable(ctx, table)
			return err
		},
		"CreateTable": func(ctx context.Context, c *dynamo.Client) error {
			_, err := create(ctx, c)
			return err
		},
		"DescribeTimeToLive": func(ctx context.Context, c *dynamo.Client) error {
			_, err := c.TTL(ctx, table)
			return err
		},
		"DeleteTable": func(ctx context.Context, c *dynamo.Client) error { return c.DeleteTable(ctx, table) },
	} {
		err := send(t.Context(), client(t, fails))
		var request *dynamo.RequestError
		if !errors.As(err, &request) || request.Operation != operation || request.Table != table || !errors.Is(err, dynamo.ErrInvalidRequest) {
			t.Errorf("%s: error %v", operation, err)
		}
	}
}
