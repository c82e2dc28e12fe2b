package main

import (
	"context"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
)

// model is a version of the read model: a table with the balance of each account, and the number of
// its changes.
type model struct {
	client *dynamodb.Client
	table  string
}

func newModel(config dynajournal.Config, table string) *model {
	return &model{dynamodb.NewFromConfig(config.AWS), table}
}

// Handle returns the update of the balance. It is executed once, in one transaction with the
// offset.
func (m *model) Handle(ctx context.Context, event dynajournal.Event) ([]types.TransactWriteItem, error) {
	changed, err := dynajournal.Decode[Changed](ctx, event)
	if err != nil {
		return nil, err
	}
	return []types.TransactWriteItem{{Update: &types.Update{
		TableName: &m.table, Key: key(event.PersistenceID),
		UpdateExpression: aws.String("ADD balance :by, changes :one"),
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":by":  &types.AttributeValueMemberN{Value: strconv.Itoa(changed.By)},
			":one": &types.AttributeValueMemberN{Value: "1"},
		},
	}}}, nil
}

func key(account string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{"account": &types.AttributeValueMemberS{Value: account}}
}

// read returns the balance of an account, and the number of its changes.
func (m *model) read(ctx context.Context, account string) (balance, changes int, err error) {
	found, err := m.client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &m.table, Key: key(account), ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return 0, 0, err
	}
	number := func(name string) int {
		n, _ := found.Item[name].(*types.AttributeValueMemberN) // nil for an account without events
		if n == nil || err != nil {
			return 0
		}
		var value int
		value, err = strconv.Atoi(n.Value)
		return value
	}
	balance, changes = number("balance"), number("changes")
	return balance, changes, err
}

func (m *model) create(ctx context.Context) error {
	_, err := m.client.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName: &m.table, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String("account"), AttributeType: types.ScalarAttributeTypeS},
		},
		KeySchema: []types.KeySchemaElement{{AttributeName: aws.String("account"), KeyType: types.KeyTypeHash}},
	})
	return err
}

func (m *model) drop(ctx context.Context) error {
	_, err := m.client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &m.table})
	return err
}
