package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
)

// movementsTable has an item for each movement of each account. Its key is the account and the
// number of the event.
const movementsTable = "bank-movements"

// movements is the read model. Putting an item twice changes nothing, so a handler that is called
// at least once is enough.
type movements struct {
	client *dynamodb.Client
	seen   *observer
}

// Movement is an entry of the read model. A withdrawal has a negative amount.
type Movement struct {
	Version int64 `json:"version"`
	Amount  int64 `json:"amount"`
}

// Handle stores the movement of an event, within the trace of the command that has recorded it.
func (m *movements) Handle(ctx context.Context, event dynajournal.Event) error {
	ctx, span := m.seen.tracer.Start(m.seen.Extract(ctx, event), "store movement")
	defer span.End()
	value, err := event.Payload(ctx)
	if err != nil {
		return err
	}
	var amount int64
	switch e := value.(type) {
	case Deposited:
		amount = e.Amount
	case Withdrawn:
		amount = -e.Amount
	default:
		return fmt.Errorf("there is no movement for %T", value)
	}
	_, err = m.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String(movementsTable), Item: map[string]types.AttributeValue{
		"account": &types.AttributeValueMemberS{Value: event.PersistenceID},
		"version": number(event.SequenceNumber), "amount": number(amount),
	}})
	return err
}

// latest returns the latest movements of an account.
func (m *movements) latest(ctx context.Context, id string) ([]Movement, error) {
	const most = 20
	out, err := m.client.Query(ctx, &dynamodb.QueryInput{
		TableName: aws.String(movementsTable), KeyConditionExpression: aws.String("account = :account"),
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":account": &types.AttributeValueMemberS{Value: accountType.PersistenceID(id)},
		},
		ScanIndexForward: aws.Bool(false), Limit: aws.Int32(most),
	})
	if err != nil {
		return nil, err
	}
	all := []Movement{}
	for _, item := range out.Items {
		all = append(all, Movement{valueOf(item["version"]), valueOf(item["amount"])})
	}
	return all, nil
}

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

func valueOf(v types.AttributeValue) int64 {
	text, _ := v.(*types.AttributeValueMemberN)
	n, _ := strconv.ParseInt(text.Value, 10, 64) //nolint:errcheck // DynamoDB stores only numbers
	return n
}

// createMovements creates the table of the read model, unless it exists.
func createMovements(ctx context.Context, client *dynamodb.Client) error {
	_, err := client.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName: aws.String(movementsTable), BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String("account"), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String("version"), AttributeType: types.ScalarAttributeTypeN},
		},
		KeySchema: []types.KeySchemaElement{
			{AttributeName: aws.String("account"), KeyType: types.KeyTypeHash},
			{AttributeName: aws.String("version"), KeyType: types.KeyTypeRange},
		},
	})
	if _, exists := errors.AsType[*types.ResourceInUseException](err); err != nil && !exists {
		return err
	}
	return dynamodb.NewTableExistsWaiter(client).Wait(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(movementsTable)}, time.Minute)
}
