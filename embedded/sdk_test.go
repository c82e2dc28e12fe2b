package embedded_test

import (
	"errors"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"go.uber.org/goleak"

	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/internal/testsize"
)

func TestMain(m *testing.M) {
	testsize.RelaxCollector()
	if dir := os.Getenv(crashFolder); dir != "" {
		writeUntilKilled(dir)
		return
	}
	if dir := os.Getenv(loadFolder); dir != "" {
		loadUntilKilled(dir)
		return
	}
	if dir := os.Getenv(heavyFolder); dir != "" {
		heavyUntilKilled(dir)
		return
	}
	if given := os.Getenv(faultRun); given != "" {
		tryAll(given)
		return
	}
	if given := os.Getenv(damageRun); given != "" {
		if err := damageAll(given); err != nil {
			panic(err)
		}
		return
	}
	if os.Getenv(servedEngine) != "" {
		if err := serveUntilInputEnds(); err != nil {
			panic(err)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// attributes is an item in the SDK's form.
type attributes = map[string]types.AttributeValue

func text(s string) types.AttributeValue   { return &types.AttributeValueMemberS{Value: s} }
func number(s string) types.AttributeValue { return &types.AttributeValueMemberN{Value: s} }
func binary(s string) types.AttributeValue { return &types.AttributeValueMemberB{Value: []byte(s)} }

func openMemory(t *testing.T, opts ...embedded.Option) *embedded.Engine {
	t.Helper()
	engine, err := embedded.OpenMemory(opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	})
	return engine
}

func clientOf(engine *embedded.Engine) *dynamodb.Client {
	return dynamodb.NewFromConfig(engine.AWSConfig(), func(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} })
}

// overHTTP returns a client that uses the engine through a listening server.
func overHTTP(t *testing.T, engine *embedded.Engine) *dynamodb.Client {
	t.Helper()
	server := httptest.NewServer(engine)
	t.Cleanup(server.Close)
	config := engine.AWSConfig()
	config.HTTPClient = server.Client()
	config.BaseEndpoint = aws.String(server.URL)
	return dynamodb.NewFromConfig(config, func(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} })
}

// must fails the test on an error.
func must[T any](value T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

// createTable creates a table with the key pk (S) and sk (N).
func createTable(t *testing.T, client *dynamodb.Client, name string) {
	t.Helper()
	must(client.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName:   aws.String(name),
		BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String("pk"), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String("sk"), AttributeType: types.ScalarAttributeTypeN},
		},
		KeySchema: []types.KeySchemaElement{
			{AttributeName: aws.String("pk"), KeyType: types.KeyTypeHash},
			{AttributeName: aws.String("sk"), KeyType: types.KeyTypeRange},
		},
	}))(t)
}

func TestItemsThroughTheSDKOnBothTransports(t *testing.T) {
	transports := map[string]func(*testing.T, *embedded.Engine) *dynamodb.Client{
		"in process": func(_ *testing.T, e *embedded.Engine) *dynamodb.Client { return clientOf(e) },
		"HTTP":       overHTTP,
	}
	for name, connect := range transports {
		t.Run(name, func(t *testing.T) {
			client := connect(t, openMemory(t))
			createTable(t, client, "orders")
			checkItems(t, client)
		})
	}
}

func checkItems(t *testing.T, client *dynamodb.Client) {
	t.Helper()
	ctx := t.Context()
	item := attributes{"pk": text("a"), "sk": number("1"), "data": binary("\x00\xff"), "n": number("1.50")}
	must(client.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String("orders"), Item: item}))(t)

	_, err := client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: aws.String("orders"), Item: item,
		ConditionExpression:                 aws.String("attribute_not_exists(pk)"),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	var failed *types.ConditionalCheckFailedException
	if !errors.As(err, &failed) || failed.Item["n"].(*types.AttributeValueMemberN).Value != "1.5" {
		t.Fatalf("second conditional put: got %v, want the condition to fail with the old item", err)
	}

	got := must(client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: aws.String("orders"), Key: attributes{"pk": text("a"), "sk": number("1.0")},
		ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal, ConsistentRead: aws.Bool(true),
	}))(t)
	if len(got.Item) != 4 || *got.ConsumedCapacity.CapacityUnits != 1 {
		t.Fatalf("got %v, %v", got.Item, got.ConsumedCapacity)
	}

	updated := must(client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: aws.String("orders"), Key: attributes{"pk": text("a"), "sk": number("2")},
		UpdateExpression:          aws.String("SET #n = :one ADD sum_ :one"),
		ExpressionAttributeNames:  map[string]string{"#n": "n"},
		ExpressionAttributeValues: attributes{":one": number("1")},
		ReturnValues:              types.ReturnValueAllNew,
	}))(t)
	if len(updated.Attributes) != 4 {
		t.Fatalf("updated: %v", updated.Attributes)
	}

	must(client.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{"orders": {
		{PutRequest: &types.PutRequest{Item: attributes{"pk": text("a"), "sk": number("10")}}},
		{PutRequest: &types.PutRequest{Item: attributes{"pk": text("a"), "sk": number("-3")}}},
		{DeleteRequest: &types.DeleteRequest{Key: attributes{"pk": text("a"), "sk": number("7")}}},
	}}}))(t)

	page := must(client.Query(ctx, &dynamodb.QueryInput{
		TableName: aws.String("orders"), KeyConditionExpression: aws.String("pk = :p AND sk > :low"),
		ExpressionAttributeValues: attributes{":p": text("a"), ":low": number("-3")},
		ScanIndexForward:          aws.Bool(false), Limit: aws.Int32(2),
	}))(t)
	if sorts := sortKeys(page.Items); len(sorts) != 2 || sorts[0] != "10" || sorts[1] != "2" || page.LastEvaluatedKey == nil {
		t.Fatalf("first page: %v, last %v", sorts, page.LastEvaluatedKey)
	}

	all := must(client.Scan(ctx, &dynamodb.ScanInput{TableName: aws.String("orders")}))(t)
	if sorts := sortKeys(all.Items); len(sorts) != 4 || sorts[0] != "-3" || sorts[3] != "10" {
		t.Fatalf("scan: %v", sorts)
	}

	batch := must(client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{
		"orders": {Keys: []attributes{
			{"pk": text("a"), "sk": number("10")}, {"pk": text("b"), "sk": number("1")},
		}},
	}}))(t)
	if len(batch.Responses["orders"]) != 1 || len(batch.UnprocessedKeys) != 0 {
		t.Fatalf("batch: %v", batch)
	}

	deleted := must(client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName: aws.String("orders"), Key: attributes{"pk": text("a"), "sk": number("10")},
		ReturnValues: types.ReturnValueAllOld,
	}))(t)
	if len(deleted.Attributes) != 2 {
		t.Fatalf("deleted: %v", deleted.Attributes)
	}
}

func sortKeys(items []map[string]types.AttributeValue) []string {
	var sorts []string
	for _, item := range items {
		sorts = append(sorts, item["sk"].(*types.AttributeValueMemberN).Value)
	}
	return sorts
}
