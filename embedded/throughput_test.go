package embedded_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/dynajournal/dynajournal/embedded"
)

func limitedEngine(t *testing.T) (*embedded.Engine, *dynamodb.Client, *testClock) {
	t.Helper()
	clock := &testClock{now: time.Unix(1_000_000, 0)}
	engine := openMemory(t, embedded.WithThroughput(), embedded.WithClock(clock.time), embedded.WithSweepInterval(0))
	return engine, clientOf(engine), clock
}

// createProvisioned creates a table with the key pk and an index on the attribute owner.
func createProvisioned(t *testing.T, client *dynamodb.Client, read, write, indexWrite int64) {
	t.Helper()
	must(client.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: aws.String("orders"),
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String("pk"), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String("owner"), AttributeType: types.ScalarAttributeTypeS},
		},
		KeySchema:             []types.KeySchemaElement{{AttributeName: aws.String("pk"), KeyType: types.KeyTypeHash}},
		ProvisionedThroughput: &types.ProvisionedThroughput{ReadCapacityUnits: &read, WriteCapacityUnits: &write},
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{{
			IndexName:             aws.String("owners"),
			KeySchema:             []types.KeySchemaElement{{AttributeName: aws.String("owner"), KeyType: types.KeyTypeHash}},
			Projection:            &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly},
			ProvisionedThroughput: &types.ProvisionedThroughput{ReadCapacityUnits: &read, WriteCapacityUnits: &indexWrite},
		}},
	}))(t)
}

func errorCode(err error) string {
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		return api.ErrorCode()
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// admitted sends requests until one is throttled with the code, and returns the number of accepted
// ones.
func admitted(t *testing.T, code string, send func(n int) error) int {
	t.Helper()
	for n := range 100_000 {
		if err := send(n); err != nil {
			if errorCode(err) != code {
				t.Fatalf("request %d: %v, want %s", n, err, code)
			}
			return n
		}
	}
	t.Fatal("nothing is throttled")
	return 0
}

// kilobytes puts an item that costs the write units.
func kilobytes(t *testing.T, client *dynamodb.Client, pk string, sk, units int) error {
	t.Helper()
	_, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("orders"), Item: attributes{
		"pk": text(pk), "sk": number(strconv.Itoa(sk)), "data": text(strings.Repeat("x", units*1024-100)),
	}})
	return err
}

func TestThroughput_PartitionKeyWrites(t *testing.T) {
	_, client, clock := limitedEngine(t)
	createTable(t, client, "orders")
	write := func(pk string) func(int) error {
		return func(n int) error { return kilobytes(t, client, pk, n, 100) }
	}
	if n := admitted(t, "ThrottlingException", write("a")); n != 10 {
		t.Errorf("%d writes of 100 units at once, want 10", n)
	}
	if n := admitted(t, "ThrottlingException", write("b")); n != 10 {
		t.Errorf("%d writes of 100 units of another key, want 10", n)
	}
	clock.add(500 * time.Millisecond)
	if n := admitted(t, "ThrottlingException", write("a")); n != 5 {
		t.Errorf("%d writes of 100 units after half a second, want 5", n)
	}
	clock.add(time.Hour)
	if n := admitted(t, "ThrottlingException", write("a")); n != 10 {
		t.Errorf("%d writes of 100 units after a rest, want 10", n)
	}
}

func TestThroughput_RequestBeyondUnitsDelaysNext(t *testing.T) {
	_, client, clock := limitedEngine(t)
	createTable(t, client, "orders")
	for n := range 3 { // 1,050 units
		if err := kilobytes(t, client, "a", n, 350); err != nil {
			t.Fatal(err)
		}
	}
	clock.add(50 * time.Millisecond)
	if err := kilobytes(t, client, "a", 3, 1); errorCode(err) != "ThrottlingException" {
		t.Errorf("with all units taken: %v", err)
	}
	clock.add(time.Millisecond)
	if err := kilobytes(t, client, "a", 3, 1); err != nil {
		t.Errorf("with a unit left: %v", err)
	}
}

func TestThroughput_PartitionKeyReads(t *testing.T) {
	_, client, clock := limitedEngine(t)
	createTable(t, client, "orders")
	if err := kilobytes(t, client, "a", 1, 400); err != nil {
		t.Fatal(err)
	}
	key := attributes{"pk": text("a"), "sk": number("1")}
	reads := map[string]func(int) error{
		"get": func(int) error {
			_, err := client.GetItem(t.Context(), &dynamodb.GetItemInput{
				TableName: aws.String("orders"), Key: key, ConsistentRead: aws.Bool(true),
			})
			return err
		},
		"query": func(int) error {
			_, err := client.Query(t.Context(), &dynamodb.QueryInput{
				TableName: aws.String("orders"), KeyConditionExpression: aws.String("pk = :p"),
				ExpressionAttributeValues: attributes{":p": text("a")}, ConsistentRead: aws.Bool(true),
			})
			return err
		},
		"batch get": func(int) error {
			_, err := client.BatchGetItem(t.Context(), &dynamodb.BatchGetItemInput{
				RequestItems: map[string]types.KeysAndAttributes{"orders": {Keys: []attributes{key}, ConsistentRead: aws.Bool(true)}},
			})
			return err
		},
		"select": func(int) error {
			_, err := client.ExecuteStatement(t.Context(), &dynamodb.ExecuteStatementInput{
				Statement: aws.String("SELECT * FROM orders WHERE pk = 'a'"), ConsistentRead: aws.Bool(true),
			})
			return err
		},
	}
	for name, read := range reads {
		clock.add(time.Hour)
		if n := admitted(t, "ThrottlingException", read); n != 30 {
			t.Errorf("%s: %d reads of 100 units, want 30", name, n)
		}
	}
}

func TestThroughput_UnusedUnitsAccumulate(t *testing.T) {
	_, client, clock := limitedEngine(t)
	createProvisioned(t, client, 10, 5, 100)
	write := func(n int) error {
		_, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{
			TableName: aws.String("orders"), Item: attributes{"pk": text(strconv.Itoa(n))},
		})
		return err
	}
	read := func(n int) error {
		_, err := client.GetItem(t.Context(), &dynamodb.GetItemInput{
			TableName: aws.String("orders"), Key: attributes{"pk": text(strconv.Itoa(n))}, ConsistentRead: aws.Bool(true),
		})
		return err
	}
	scan := func(int) error {
		_, err := client.Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String("orders"), ConsistentRead: aws.Bool(true)})
		return err
	}
	const code = "ProvisionedThroughputExceededException"
	if n := admitted(t, code, write); n != 5 {
		t.Errorf("%d writes at first, want 5", n)
	}
	if n := admitted(t, code, read); n != 10 {
		t.Errorf("%d reads at first, want 10", n)
	}
	clock.add(2 * time.Second)
	if n := admitted(t, code, write); n != 10 {
		t.Errorf("%d writes after 2 s, want 10", n)
	}
	if n := admitted(t, code, scan); n != 20 {
		t.Errorf("%d scans after 2 s, want 20", n)
	}
	clock.add(time.Hour)
	if n := admitted(t, code, write); n != 300*5 {
		t.Errorf("%d writes after an hour, want the writes of 300 s", n)
	}
}

func TestThroughput_ThrottledIndexThrottlesWrites(t *testing.T) {
	_, client, _ := limitedEngine(t)
	createProvisioned(t, client, 10, 100, 3)
	write := func(owner string) func(n int) error {
		return func(n int) error {
			item := attributes{"pk": text(owner + strconv.Itoa(n))}
			if owner != "" {
				item["owner"] = text(owner)
			}
			_, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("orders"), Item: item})
			return err
		}
	}
	if n := admitted(t, "ProvisionedThroughputExceededException", write("o")); n != 3 {
		t.Errorf("%d writes to the index, want 3", n)
	}
	if err := write("")(0); err != nil {
		t.Errorf("a write that is not to the index: %v", err)
	}
}

func TestThroughput_HotKeyOfIndex(t *testing.T) {
	_, client, _ := limitedEngine(t)
	tableWithIndex(t, client, "orders")
	write := func(n int) error {
		_, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("orders"), Item: attributes{
			"pk": text(strconv.Itoa(n)), "sk": number("1"), "owner": text("o"), "data": text(strings.Repeat("x", 99_000)),
		}})
		return err
	}
	if n := admitted(t, "ThrottlingException", write); n != 11 {
		t.Errorf("%d writes of 97 units with one owner, want 11", n)
	}
}

func TestThrottledItemsOfABatchAreUnprocessed(t *testing.T) {
	_, client, clock := limitedEngine(t)
	createProvisioned(t, client, 2, 3, 100)
	write := func() (*dynamodb.BatchWriteItemOutput, error) {
		var requests []types.WriteRequest
		for n := range 5 {
			requests = append(requests, types.WriteRequest{PutRequest: &types.PutRequest{
				Item: attributes{"pk": text(strconv.Itoa(n))},
			}})
		}
		return client.BatchWriteItem(t.Context(), &dynamodb.BatchWriteItemInput{
			RequestItems: map[string][]types.WriteRequest{"orders": requests},
		})
	}
	if response := must(write())(t); len(response.UnprocessedItems["orders"]) != 2 {
		t.Errorf("left unprocessed: %v", response.UnprocessedItems)
	}
	if _, err := write(); errorCode(err) != "ProvisionedThroughputExceededException" {
		t.Errorf("a batch that is throttled as a whole: %v", err)
	}
	clock.add(time.Second)
	var keys []attributes
	for n := range 3 {
		keys = append(keys, attributes{"pk": text(strconv.Itoa(n))})
	}
	response := must(client.BatchGetItem(t.Context(), &dynamodb.BatchGetItemInput{
		RequestItems: map[string]types.KeysAndAttributes{"orders": {Keys: keys, ConsistentRead: aws.Bool(true)}},
	}))(t)
	if len(response.Responses["orders"]) != 3 {
		t.Errorf("read %v after a rest, with 4 units", response.Responses)
	}
	response = must(client.BatchGetItem(t.Context(), &dynamodb.BatchGetItemInput{
		RequestItems: map[string]types.KeysAndAttributes{"orders": {Keys: keys, ConsistentRead: aws.Bool(true)}},
	}))(t)
	if len(response.Responses["orders"]) != 1 || len(response.UnprocessedKeys["orders"].Keys) != 2 {
		t.Errorf("read %v with 1 unit", response.Responses)
	}
}

func TestThrottledStatementsFailIndividuallyAndTransactionsAsAWhole(t *testing.T) {
	_, client, clock := limitedEngine(t)
	createProvisioned(t, client, 2, 2, 100)
	var statements []types.BatchStatementRequest
	for n := range 3 {
		statements = append(statements, types.BatchStatementRequest{
			Statement: aws.String("INSERT INTO orders VALUE {'pk': ?}"), Parameters: []types.AttributeValue{text(strconv.Itoa(n))},
		})
	}
	response := must(client.BatchExecuteStatement(t.Context(), &dynamodb.BatchExecuteStatementInput{Statements: statements}))(t)
	if last := response.Responses[2].Error; response.Responses[1].Error != nil || last == nil ||
		last.Code != types.BatchStatementErrorCodeEnumProvisionedThroughputExceeded {
		t.Errorf("got %+v", response.Responses)
	}
	clock.add(time.Second)
	var actions []types.TransactWriteItem
	for n := range 3 {
		actions = append(actions, types.TransactWriteItem{Put: &types.Put{
			TableName: aws.String("orders"), Item: attributes{"pk": text("t" + strconv.Itoa(n))},
		}})
	}
	_, err := client.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: actions})
	var cancelled *types.TransactionCanceledException
	if !errors.As(err, &cancelled) || *cancelled.CancellationReasons[2].Code != "ProvisionedThroughputExceeded" {
		t.Errorf("got %v", err)
	}
}

func TestThroughput_ExpiredItemsAreDeletedWithoutUnits(t *testing.T) {
	engine, client, clock := limitedEngine(t)
	createProvisioned(t, client, 10, 1, 100)
	must(client.UpdateTimeToLive(t.Context(), &dynamodb.UpdateTimeToLiveInput{
		TableName: aws.String("orders"),
		TimeToLiveSpecification: &types.TimeToLiveSpecification{
			AttributeName: aws.String("expires"), Enabled: aws.Bool(true),
		},
	}))(t)
	for n := range 3 {
		must(client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("orders"), Item: attributes{
			"pk": text(strconv.Itoa(n)), "expires": number(strconv.FormatInt(clock.time().Unix(), 10)),
		}}))(t)
		clock.add(time.Second)
	}
	must(client.PutItem(t.Context(), &dynamodb.PutItemInput{
		TableName: aws.String("orders"), Item: attributes{"pk": text("stays")},
	}))(t)
	if n := must(engine.SweepExpired())(t); n != 3 {
		t.Errorf("%d items deleted, want 3", n)
	}
}

func TestThroughput_OffByDefault(t *testing.T) {
	engine := openMemory(t)
	client := clientOf(engine)
	createProvisioned(t, client, 1, 1, 1)
	for n := range 50 {
		must(client.PutItem(t.Context(), &dynamodb.PutItemInput{
			TableName: aws.String("orders"), Item: attributes{"pk": text(strconv.Itoa(n)), "owner": text("o")},
		}))(t)
	}
}
