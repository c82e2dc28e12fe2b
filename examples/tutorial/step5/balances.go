// Package step5 adds a read model to the accounts: a table with all balances, which entities can't
// list.
package step5

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/examples/tutorial/step1"
)

const (
	idPrefix      = "account|"
	balancesTable = "tutorial-balances"
)

// Balances is the read model: a table with an item for each account.
type Balances struct{ Client *dynamodb.Client }

// Handle returns the update of a balance. The projection writes it and its offset in one
// transaction, so each event is added once, even after a crash.
func (b *Balances) Handle(ctx context.Context, event dynajournal.Event) ([]types.TransactWriteItem, error) {
	changed, err := dynajournal.Decode[step1.Changed](ctx, event)
	if err != nil {
		return nil, err
	}
	return []types.TransactWriteItem{{Update: &types.Update{
		TableName: aws.String(balancesTable),
		Key: map[string]types.AttributeValue{
			"account": &types.AttributeValueMemberS{Value: strings.TrimPrefix(event.PersistenceID, idPrefix)},
		},
		UpdateExpression: aws.String("ADD balance :by"),
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":by": &types.AttributeValueMemberN{Value: strconv.FormatInt(changed.By, 10)},
		},
	}}}, nil
}

// List returns the balances by account. It reads one page of DynamoDB, up to 1 MB.
func (b *Balances) List(ctx context.Context) (map[string]int64, error) {
	page, err := b.Client.Scan(ctx, &dynamodb.ScanInput{
		TableName: aws.String(balancesTable), ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return nil, err
	}
	balances := map[string]int64{}
	for _, item := range page.Items {
		account, _ := item["account"].(*types.AttributeValueMemberS)
		balance, _ := item["balance"].(*types.AttributeValueMemberN)
		if account == nil || balance == nil {
			return nil, errors.New("an item of the balances table lacks its account or balance")
		}
		if balances[account.Value], err = strconv.ParseInt(balance.Value, 10, 64); err != nil {
			return nil, err
		}
	}
	return balances, nil
}

// Create creates the table if it does not exist.
func (b *Balances) Create(ctx context.Context) error {
	_, err := b.Client.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName: aws.String(balancesTable), BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String("account"), AttributeType: types.ScalarAttributeTypeS},
		},
		KeySchema: []types.KeySchemaElement{{AttributeName: aws.String("account"), KeyType: types.KeyTypeHash}},
	})
	if _, exists := errors.AsType[*types.ResourceInUseException](err); exists {
		return nil
	}
	return err
}
