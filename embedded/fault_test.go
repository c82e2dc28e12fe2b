package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/dynajournal/dynajournal/embedded"
)

// onBothTransports runs a test with a client within the process and one over HTTP.
func onBothTransports(t *testing.T, test func(t *testing.T, engine *embedded.Engine, client *dynamodb.Client), opts ...embedded.Option) {
	t.Helper()
	t.Run("in process", func(t *testing.T) {
		engine := openMemory(t, opts...)
		test(t, engine, clientOf(engine))
	})
	t.Run("HTTP", func(t *testing.T) {
		engine := openMemory(t, opts...)
		test(t, engine, overHTTP(t, engine))
	})
}

func inject(t *testing.T, engine *embedded.Engine, spec string) (remove func()) {
	t.Helper()
	fault := must(embedded.ParseFault(spec))(t)
	return must(engine.Inject(fault))(t)
}

func put(ctx context.Context, client *dynamodb.Client, table, pk string, sk int) error {
	_, err := client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &table, Item: attributes{"pk": text(pk), "sk": number(strconv.Itoa(sk))},
	})
	return err
}

// stored reports whether the item is stored, by a consistent read.
func stored(t *testing.T, client *dynamodb.Client, pk string, sk int) bool {
	t.Helper()
	got := must(client.GetItem(t.Context(), &dynamodb.GetItemInput{
		TableName: aws.String("orders"), ConsistentRead: aws.Bool(true),
		Key: attributes{"pk": text(pk), "sk": number(strconv.Itoa(sk))},
	}))(t)
	return got.Item != nil
}

func isAPIError(code string, status int) func(error) bool {
	return func(err error) bool {
		var api smithy.APIError
		var response *awshttp.ResponseError
		return errors.As(err, &api) && api.ErrorCode() == code &&
			errors.As(err, &response) && response.HTTPStatusCode() == status
	}
}

func isReset(err error) bool {
	var lost *net.OpError
	return errors.As(err, &lost) && errors.Is(err, syscall.ECONNRESET)
}

func isBroken(err error) bool {
	var broken *smithy.DeserializationError
	return errors.As(err, &broken)
}

func TestFaultsHitSingleRequestsOnBothTransports(t *testing.T) {
	cases := []struct {
		spec    string
		want    func(error) bool
		applied bool
	}{
		{"throughput-exceeded", isAPIError("ProvisionedThroughputExceededException", 400), false},
		{"throttling", isAPIError("ThrottlingException", 400), false},
		{"request-limit", isAPIError("RequestLimitExceeded", 400), false},
		{"expired-token", isAPIError("ExpiredTokenException", 400), false},
		{"access-denied", isAPIError("AccessDeniedException", 400), false},
		{"internal-error", isAPIError("InternalServerError", 500), false},
		{"internal-error,applied", isAPIError("InternalServerError", 500), true},
		{"unavailable", isAPIError("ServiceUnavailable", 503), false},
		{"unavailable,applied", isAPIError("ServiceUnavailable", 503), true},
		{"reset", isReset, false},
		{"reset,applied", isReset, true},
		{"truncated", func(err error) bool { return errors.Is(err, io.ErrUnexpectedEOF) }, true},
		{"garbage", isBroken, true},
		{"transaction-conflict", isAPIError("TransactionConflictException", 400), false},
	}
	for _, c := range cases {
		t.Run(c.spec, func(t *testing.T) {
			onBothTransports(t, func(t *testing.T, engine *embedded.Engine, client *dynamodb.Client) {
				createTable(t, client, "orders")
				remove := inject(t, engine, c.spec+",operation=PutItem,table=orders,key=a*,sort-key=1")
				if err := put(t.Context(), client, "orders", "b", 1); err != nil {
					t.Errorf("another key: %v", err)
				}
				if err := put(t.Context(), client, "orders", "account", 2); err != nil {
					t.Errorf("another sort key: %v", err)
				}
				if err := put(t.Context(), client, "orders", "account", 1); err == nil || !c.want(err) {
					t.Errorf("got %v", err)
				}
				if got := stored(t, client, "account", 1); got != c.applied {
					t.Errorf("item stored: %v, want %v", got, c.applied)
				}
				remove()
				remove()
				if err := put(t.Context(), client, "orders", "account", 1); err != nil {
					t.Errorf("without the fault: %v", err)
				}
				injected := engine.Injected()
				if len(injected) != 1 || injected[0].Key != "account" || injected[0].Table != "orders" ||
					injected[0].Operation != "PutItem" || injected[0].Number != 1 {
					t.Errorf("injected: %+v", injected)
				}
			})
		})
	}
}

func TestHangingRequestsEndWhenTheClientGivesUp(t *testing.T) {
	for _, applied := range []bool{false, true} {
		t.Run(fmt.Sprintf("applied %v", applied), func(t *testing.T) {
			onBothTransports(t, func(t *testing.T, engine *embedded.Engine, client *dynamodb.Client) {
				createTable(t, client, "orders")
				must(engine.Inject(embedded.Fault{Effect: embedded.EffectHang, Applied: applied, Operation: "PutItem"}))(t)
				ctx, giveUp := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- put(ctx, client, "orders", "a", 1) }()
				waitFor(t, func() bool { return len(engine.Injected()) == 1 })
				waitFor(t, func() bool { return stored(t, client, "a", 1) == applied })
				giveUp()
				if err := <-ended; !errors.Is(err, context.Canceled) {
					t.Errorf("got %v", err)
				}
			})
		})
	}
}

func TestHangingRequestsEndWhenTheEngineCloses(t *testing.T) {
	onBothTransports(t, func(t *testing.T, engine *embedded.Engine, client *dynamodb.Client) {
		createTable(t, client, "orders")
		inject(t, engine, "hang,operation=PutItem")
		ended := make(chan error, 1)
		go func() { ended <- put(t.Context(), client, "orders", "a", 1) }()
		waitFor(t, func() bool { return len(engine.Injected()) == 1 })
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
		if err := <-ended; !isReset(err) {
			t.Errorf("got %v", err)
		}
	})
}

// waitFor waits until the condition is true.
func waitFor(t *testing.T, condition func() bool) {
	t.Helper()
	for !condition() {
		select {
		case <-t.Context().Done():
			t.Fatal("the test ended while it was waiting")
		case <-time.After(time.Millisecond):
		}
	}
}

// sleeper is a sleep that ends when the test decides.
type sleeper struct {
	asked atomic.Int64
	wake  chan struct{}
}

func (s *sleeper) sleep(ctx context.Context, d time.Duration) error {
	s.asked.Store(int64(d))
	select {
	case <-s.wake:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func TestSlowRequestsArePerformedLate(t *testing.T) {
	for _, applied := range []bool{false, true} {
		t.Run(fmt.Sprintf("applied %v", applied), func(t *testing.T) {
			s := &sleeper{wake: make(chan struct{})}
			onBothTransports(t, func(t *testing.T, engine *embedded.Engine, client *dynamodb.Client) {
				createTable(t, client, "orders")
				must(engine.Inject(embedded.Fault{
					Effect: embedded.EffectSlow, Delay: time.Hour, Applied: applied, Operation: "PutItem",
				}))(t)
				s.asked.Store(0)
				ended := make(chan error, 1)
				go func() { ended <- put(t.Context(), client, "orders", "a", 1) }()
				waitFor(t, func() bool { return s.asked.Load() == int64(time.Hour) })
				if stored(t, client, "a", 1) != applied {
					t.Errorf("stored before the delay: %v", !applied)
				}
				s.wake <- struct{}{}
				if err := <-ended; err != nil {
					t.Error(err)
				}
				if !stored(t, client, "a", 1) {
					t.Error("not stored in the end")
				}
			}, embedded.WithSleep(s.sleep))
		})
	}
}

func TestFault_SlowRequestIsPerformedAfterClientGivesUp(t *testing.T) {
	s := &sleeper{wake: make(chan struct{})}
	onBothTransports(t, func(t *testing.T, engine *embedded.Engine, client *dynamodb.Client) {
		createTable(t, client, "orders")
		inject(t, engine, "slow,delay=1h,operation=PutItem")
		s.asked.Store(0)
		ctx, giveUp := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- put(ctx, client, "orders", "a", 1) }()
		waitFor(t, func() bool { return s.asked.Load() != 0 })
		giveUp()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		if stored(t, client, "a", 1) {
			t.Error("stored before the delay")
		}
		s.wake <- struct{}{}
		waitFor(t, func() bool { return stored(t, client, "a", 1) })
	}, embedded.WithSleep(s.sleep))
}

func TestFault_SlowRequestIsNotPerformedAfterClose(t *testing.T) {
	onBothTransports(t, func(t *testing.T, engine *embedded.Engine, client *dynamodb.Client) {
		createTable(t, client, "orders")
		inject(t, engine, "slow,delay=24h,operation=PutItem")
		ended := make(chan error, 1)
		go func() { ended <- put(t.Context(), client, "orders", "a", 1) }()
		waitFor(t, func() bool { return len(engine.Injected()) == 1 })
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
		if err := <-ended; !isReset(err) {
			t.Errorf("got %v", err)
		}
	})
}

// putRequests puts items a/0 to a/n-1.
func putRequests(n int) []types.WriteRequest {
	requests := make([]types.WriteRequest, n)
	for i := range requests {
		requests[i].PutRequest = &types.PutRequest{Item: attributes{"pk": text("a"), "sk": number(strconv.Itoa(i))}}
	}
	return requests
}

func keysOf(items []attributes) []string { return slices.Sorted(slices.Values(sortKeys(items))) }

func TestUnprocessedRequestsOfABatchWriteAreNotWritten(t *testing.T) {
	cases := []struct {
		spec string
		left func(n int) bool
	}{
		{"unprocessed", func(n int) bool { return n == 10 }},
		{"unprocessed,some", func(n int) bool { return n > 0 && n < 10 }},
		{"unprocessed,sort-key=3", func(n int) bool { return n == 1 }},
	}
	for _, c := range cases {
		t.Run(c.spec, func(t *testing.T) {
			onBothTransports(t, func(t *testing.T, engine *embedded.Engine, client *dynamodb.Client) {
				createTable(t, client, "orders")
				inject(t, engine, c.spec+",times=1")
				requests := append(putRequests(9), types.WriteRequest{
					DeleteRequest: &types.DeleteRequest{Key: attributes{"pk": text("b"), "sk": number("1")}},
				})
				if err := put(t.Context(), client, "orders", "b", 1); err != nil {
					t.Fatal(err)
				}
				response := must(client.BatchWriteItem(t.Context(), &dynamodb.BatchWriteItemInput{
					RequestItems: map[string][]types.WriteRequest{"orders": requests},
				}))(t)
				left := response.UnprocessedItems["orders"]
				if !c.left(len(left)) || len(engine.Injected()[0].Items) != len(left) {
					t.Errorf("unprocessed: %d, injected %v", len(left), engine.Injected())
				}
				written := map[string]bool{}
				for i := range 9 {
					written[strconv.Itoa(i)] = true
				}
				deleted := true
				for _, w := range left {
					if w.DeleteRequest != nil {
						deleted = false
						continue
					}
					delete(written, sortKeys([]map[string]types.AttributeValue{w.PutRequest.Item})[0])
				}
				all := must(client.Query(t.Context(), &dynamodb.QueryInput{
					TableName: aws.String("orders"), KeyConditionExpression: aws.String("pk = :p"),
					ExpressionAttributeValues: attributes{":p": text("a")},
				}))(t)
				if got := keysOf(all.Items); !slices.Equal(got, slices.Sorted(maps.Keys(written))) {
					t.Errorf("written: %v, want %v", got, written)
				}
				if stored(t, client, "b", 1) == deleted {
					t.Errorf("deleted: %v, want %v", !deleted, deleted)
				}
				// Unprocessed requests can be sent as they are.
				must(client.BatchWriteItem(t.Context(), &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{
					"orders": append(left, types.WriteRequest{DeleteRequest: &types.DeleteRequest{
						Key: attributes{"pk": text("c"), "sk": number("1")},
					}}),
				}}))(t)
				if !stored(t, client, "a", 3) || stored(t, client, "b", 1) {
					t.Error("the unprocessed requests are not performed when they are sent again")
				}
			})
		})
	}
}

func TestUnprocessedKeysOfABatchGetAreNotRead(t *testing.T) {
	for _, spec := range []string{"unprocessed", "unprocessed,some", "unprocessed,key=a,sort-key=2"} {
		t.Run(spec, func(t *testing.T) {
			onBothTransports(t, func(t *testing.T, engine *embedded.Engine, client *dynamodb.Client) {
				createTable(t, client, "orders")
				keys := make([]attributes, 5)
				for i := range keys {
					keys[i] = attributes{"pk": text("a"), "sk": number(strconv.Itoa(i))}
					if err := put(t.Context(), client, "orders", "a", i); err != nil {
						t.Fatal(err)
					}
				}
				inject(t, engine, spec)
				response := must(client.BatchGetItem(t.Context(), &dynamodb.BatchGetItemInput{
					RequestItems: map[string]types.KeysAndAttributes{"orders": {Keys: keys, ConsistentRead: aws.Bool(true)}},
				}))(t)
				left := response.UnprocessedKeys["orders"]
				read := keysOf(response.Responses["orders"])
				all := slices.Sorted(slices.Values(slices.Concat(read, sortKeys(left.Keys))))
				if !slices.Equal(all, []string{"0", "1", "2", "3", "4"}) || len(left.Keys) == 0 || !*left.ConsistentRead {
					t.Errorf("read %v, unprocessed %v", read, left)
				}
				if some := spec != "unprocessed"; some != (len(read) > 0) {
					t.Errorf("read %v", read)
				}
			})
		})
	}
}

func insert(pk string, sk int) types.BatchStatementRequest {
	return types.BatchStatementRequest{
		Statement:  aws.String("INSERT INTO orders VALUE {'pk': ?, 'sk': ?}"),
		Parameters: []types.AttributeValue{text(pk), number(strconv.Itoa(sk))},
	}
}

func TestStatementErrorsDoNotAffectOtherStatements(t *testing.T) {
	cases := []struct {
		spec    string
		code    types.BatchStatementErrorCodeEnum
		applied bool
	}{
		{"statement-errors,key=b", types.BatchStatementErrorCodeEnumThrottlingError, false},
		{"statement-errors,key=b,code=InternalServerError,applied", types.BatchStatementErrorCodeEnumInternalServerError, true},
		{"statement-errors,sort-key=2,code=ProvisionedThroughputExceeded",
			types.BatchStatementErrorCodeEnumProvisionedThroughputExceeded, false},
	}
	for _, c := range cases {
		t.Run(c.spec, func(t *testing.T) {
			onBothTransports(t, func(t *testing.T, engine *embedded.Engine, client *dynamodb.Client) {
				createTable(t, client, "orders")
				inject(t, engine, c.spec)
				response := must(client.BatchExecuteStatement(t.Context(), &dynamodb.BatchExecuteStatementInput{
					Statements: []types.BatchStatementRequest{insert("a", 1), insert("b", 2), insert("c", 3)},
				}))(t)
				for i, statement := range response.Responses {
					if failed := statement.Error != nil; failed != (i == 1) {
						t.Errorf("statement %d: %v", i, statement.Error)
					} else if failed && statement.Error.Code != c.code {
						t.Errorf("code %v", statement.Error.Code)
					}
				}
				if !stored(t, client, "a", 1) || !stored(t, client, "c", 3) || stored(t, client, "b", 2) != c.applied {
					t.Error("the wrong items are stored")
				}
			})
		})
	}
}

func TestFault_SomeStatementErrors(t *testing.T) {
	engine := openMemory(t)
	client := clientOf(engine)
	createTable(t, client, "orders")
	inject(t, engine, "statement-errors,some")
	statements := make([]types.BatchStatementRequest, 25)
	for i := range statements {
		statements[i] = insert("a", i)
	}
	response := must(client.BatchExecuteStatement(t.Context(), &dynamodb.BatchExecuteStatementInput{Statements: statements}))(t)
	failed := 0
	for i, statement := range response.Responses {
		if statement.Error != nil {
			failed++
		}
		if stored(t, client, "a", i) != (statement.Error == nil) {
			t.Errorf("item %d does not agree with its response", i)
		}
	}
	if failed == 0 || failed == 25 {
		t.Errorf("%d failed", failed)
	}
}

func TestFault_TransactionConflictReasons(t *testing.T) {
	onBothTransports(t, func(t *testing.T, engine *embedded.Engine, client *dynamodb.Client) {
		createTable(t, client, "orders")
		inject(t, engine, "transaction-conflict,key=b")
		item := func(pk string) types.TransactWriteItem {
			return types.TransactWriteItem{Put: &types.Put{
				TableName: aws.String("orders"), Item: attributes{"pk": text(pk), "sk": number("1")},
			}}
		}
		_, err := client.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{
			TransactItems: []types.TransactWriteItem{item("a"), item("b")},
		})
		checkConflict(t, err)
		_, err = client.TransactGetItems(t.Context(), &dynamodb.TransactGetItemsInput{TransactItems: []types.TransactGetItem{
			{Get: &types.Get{TableName: aws.String("orders"), Key: attributes{"pk": text("a"), "sk": number("1")}}},
			{Get: &types.Get{TableName: aws.String("orders"), Key: attributes{"pk": text("b"), "sk": number("1")}}},
		}})
		checkConflict(t, err)
		_, err = client.ExecuteTransaction(t.Context(), &dynamodb.ExecuteTransactionInput{
			TransactStatements: []types.ParameterizedStatement{
				{Statement: aws.String("INSERT INTO orders VALUE {'pk': 'a', 'sk': 1}")},
				{Statement: aws.String("DELETE FROM orders WHERE pk = 'b' AND sk = 1")},
			},
		})
		checkConflict(t, err)
		must(client.ExecuteStatement(t.Context(), &dynamodb.ExecuteStatementInput{
			Statement: aws.String("SELECT * FROM orders WHERE pk = 'b'"), // no conflict
		}))(t)
		if stored(t, client, "a", 1) {
			t.Error("a part of the transaction is stored")
		}
	})
}

func checkConflict(t *testing.T, err error) {
	t.Helper()
	var cancelled *types.TransactionCanceledException
	if !errors.As(err, &cancelled) || len(cancelled.CancellationReasons) != 2 ||
		*cancelled.CancellationReasons[0].Code != "None" || *cancelled.CancellationReasons[1].Code != "TransactionConflict" {
		t.Errorf("got %v", err)
	}
}

// tableWithIndex creates the table with a global secondary index on the attribute owner.
func tableWithIndex(t *testing.T, client *dynamodb.Client, name string) {
	t.Helper()
	must(client.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName:   aws.String(name),
		BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String("pk"), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String("sk"), AttributeType: types.ScalarAttributeTypeN},
			{AttributeName: aws.String("owner"), AttributeType: types.ScalarAttributeTypeS},
		},
		KeySchema: []types.KeySchemaElement{
			{AttributeName: aws.String("pk"), KeyType: types.KeyTypeHash},
			{AttributeName: aws.String("sk"), KeyType: types.KeyTypeRange},
		},
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{{
			IndexName:  aws.String("owners"),
			KeySchema:  []types.KeySchemaElement{{AttributeName: aws.String("owner"), KeyType: types.KeyTypeHash}},
			Projection: &types.Projection{ProjectionType: types.ProjectionTypeAll},
		}},
	}))(t)
}

// putOwned puts an item of the owner "o".
func putOwned(t *testing.T, client *dynamodb.Client, pk string) {
	t.Helper()
	must(client.PutItem(t.Context(), &dynamodb.PutItemInput{
		TableName: aws.String("orders"), Item: attributes{"pk": text(pk), "sk": number("1"), "owner": text("o")},
	}))(t)
}

// views returns the number of items that several kinds of reads find, by name. Names that start
// with "index" are reads of the index.
func views(t *testing.T, client *dynamodb.Client, pk string, consistent bool) map[string]int {
	t.Helper()
	ctx, key := t.Context(), attributes{"pk": text(pk), "sk": number("1")}
	count := map[string]int{}
	got := must(client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: aws.String("orders"), Key: key, ConsistentRead: &consistent,
	}))(t)
	count["get"] = min(1, len(got.Item))
	batch := must(client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{
		"orders": {Keys: []attributes{key}, ConsistentRead: &consistent},
	}}))(t)
	count["batch get"] = len(batch.Responses["orders"])
	query := must(client.Query(ctx, &dynamodb.QueryInput{
		TableName: aws.String("orders"), KeyConditionExpression: aws.String("pk = :p"),
		ExpressionAttributeValues: attributes{":p": text(pk)}, ConsistentRead: &consistent,
	}))(t)
	count["query"] = int(query.Count)
	scan := must(client.Scan(ctx, &dynamodb.ScanInput{TableName: aws.String("orders"), ConsistentRead: &consistent}))(t)
	count["scan"] = int(scan.Count)
	selected := must(client.ExecuteStatement(ctx, &dynamodb.ExecuteStatementInput{
		Statement: aws.String("SELECT * FROM orders WHERE pk = '" + pk + "'"), ConsistentRead: &consistent,
	}))(t)
	count["select"] = len(selected.Items)
	statements := must(client.BatchExecuteStatement(ctx, &dynamodb.BatchExecuteStatementInput{
		Statements: []types.BatchStatementRequest{{
			Statement: aws.String("SELECT * FROM orders WHERE pk = '" + pk + "' AND sk = 1"), ConsistentRead: &consistent,
		}},
	}))(t)
	count["batch select"] = min(1, len(statements.Responses[0].Item))
	if consistent {
		return count
	}
	query = must(client.Query(ctx, &dynamodb.QueryInput{
		TableName: aws.String("orders"), IndexName: aws.String("owners"), KeyConditionExpression: aws.String("#o = :o"),
		ExpressionAttributeNames: map[string]string{"#o": "owner"}, ExpressionAttributeValues: attributes{":o": text("o")},
	}))(t)
	count["index query"] = int(query.Count)
	scan = must(client.Scan(ctx, &dynamodb.ScanInput{TableName: aws.String("orders"), IndexName: aws.String("owners")}))(t)
	count["index scan"] = int(scan.Count)
	selected = must(client.ExecuteStatement(ctx, &dynamodb.ExecuteStatementInput{
		Statement: aws.String(`SELECT * FROM "orders"."owners" WHERE "owner" = 'o'`),
	}))(t)
	count["index select"] = len(selected.Items)
	return count
}

func TestStaleReadsReturnAPastStateUnlessConsistent(t *testing.T) {
	onBothTransports(t, func(t *testing.T, engine *embedded.Engine, client *dynamodb.Client) {
		tableWithIndex(t, client, "orders")
		remove := inject(t, engine, "stale-read,table=ord*")
		putOwned(t, client, "a")
		for name, n := range views(t, client, "a", false) {
			if n != 0 {
				t.Errorf("%s: %d items, want none", name, n)
			}
		}
		for name, n := range views(t, client, "a", true) {
			if n != 1 {
				t.Errorf("consistent %s: %d items", name, n)
			}
		}
		remove()
		for name, n := range views(t, client, "a", false) {
			if n != 1 {
				t.Errorf("%s without the fault: %d items", name, n)
			}
		}
	})
}

func TestFault_StaleReadsInABatch(t *testing.T) {
	engine := openMemory(t)
	client := clientOf(engine)
	for _, table := range []string{"orders", "consistent", "other"} {
		createTable(t, client, table)
	}
	inject(t, engine, "stale-read,table=*s*")
	read := map[string]types.KeysAndAttributes{}
	for _, table := range []string{"orders", "consistent", "other"} {
		if err := put(t.Context(), client, table, "a", 1); err != nil {
			t.Fatal(err)
		}
		read[table] = types.KeysAndAttributes{
			Keys: []attributes{{"pk": text("a"), "sk": number("1")}}, ConsistentRead: aws.Bool(table == "consistent"),
		}
	}
	response := must(client.BatchGetItem(t.Context(), &dynamodb.BatchGetItemInput{RequestItems: read}))(t)
	for table, want := range map[string]int{"orders": 0, "consistent": 1, "other": 1} {
		if got := len(response.Responses[table]); got != want {
			t.Errorf("%s: %d items, want %d", table, got, want)
		}
	}
}

func TestIndexLagAffectsOnlyGlobalIndexes(t *testing.T) {
	onBothTransports(t, func(t *testing.T, engine *embedded.Engine, client *dynamodb.Client) {
		tableWithIndex(t, client, "orders")
		inject(t, engine, "index-lag,index=other")
		remove := inject(t, engine, "index-lag,index=own*")
		putOwned(t, client, "a")
		for name, n := range views(t, client, "a", false) {
			if (n == 0) != strings.HasPrefix(name, "index") {
				t.Errorf("%s: %d items", name, n)
			}
		}
		remove()
		for name, n := range views(t, client, "a", false) {
			if n != 1 {
				t.Errorf("%s without the fault: %d items", name, n)
			}
		}
	})
}

func TestStaleReadsAreAsOldAsTheDelay(t *testing.T) {
	clock := &testClock{now: time.Unix(1_000_000, 0)}
	engine := openMemory(t, embedded.WithClock(clock.time), embedded.WithSweepInterval(0))
	client := clientOf(engine)
	tableWithIndex(t, client, "orders")
	inject(t, engine, "stale-read,delay=10s")
	visible := func() int { return views(t, client, "a", false)["scan"] }
	clock.add(time.Hour)
	putOwned(t, client, "a")
	clock.add(5 * time.Second)
	putOwned(t, client, "b")
	if n := visible(); n != 0 {
		t.Errorf("5 s after the first: %d items", n)
	}
	clock.add(6 * time.Second)
	if n := visible(); n != 1 {
		t.Errorf("11 s after the first, 6 s after the second: %d items", n)
	}
	clock.add(5 * time.Second)
	if n := visible(); n != 2 {
		t.Errorf("11 s after the second: %d items", n)
	}
}

// outcomes returns which of n requests are hit.
func outcomes(t *testing.T, n int, spec string, opts ...embedded.Option) string {
	t.Helper()
	engine := openMemory(t, opts...)
	client := clientOf(engine)
	createTable(t, client, "orders")
	inject(t, engine, spec)
	var hits strings.Builder
	for i := range n {
		if err := put(t.Context(), client, "orders", "a", i); err != nil {
			hits.WriteByte('x')
		} else {
			hits.WriteByte('.')
		}
	}
	return hits.String()
}

func TestFaultsHitTheRequestsThatTheirFieldsSelect(t *testing.T) {
	cases := []struct{ spec, want string }{
		{"throttling", "xxxxxxxxxx"},
		{"throttling,nth=3", "..x......."},
		{"throttling,every=3", "..x..x..x."},
		{"throttling,times=2", "xx........"},
		{"throttling,every=2,times=3", ".x.x.x...."},
		{"throttling,sort-key=4", "....x....."},
		{"throttling,operation=Get*", ".........."},
		{"throttling,table=other", ".........."},
		{"unprocessed", ".........."},
	}
	for _, c := range cases {
		if got := outcomes(t, 10, c.spec); got != c.want {
			t.Errorf("%s: %s, want %s", c.spec, got, c.want)
		}
	}
}

func TestFault_SeedDeterminesRandomChoices(t *testing.T) {
	const spec = "throttling,probability=0.5"
	first := outcomes(t, 100, spec, embedded.WithSeed(1))
	if again := outcomes(t, 100, spec, embedded.WithSeed(1)); again != first {
		t.Errorf("the same seed: %s and %s", first, again)
	}
	if other := outcomes(t, 100, spec, embedded.WithSeed(2)); other == first {
		t.Error("another seed makes the same choices")
	}
	if n := strings.Count(first, "x"); n < 30 || n > 70 {
		t.Errorf("%d of 100 hit", n)
	}
}

func TestFault_FirstDueFaultHitsRequest(t *testing.T) {
	engine := openMemory(t, embedded.WithFaults(
		embedded.Fault{Effect: embedded.EffectThrottling, Operation: "PutItem", Every: 2},
		embedded.Fault{Effect: embedded.EffectUnavailable, Operation: "PutItem", Nth: 2},
	))
	client := clientOf(engine)
	createTable(t, client, "orders")
	for range 4 {
		_ = put(t.Context(), client, "orders", "a", 1)
	}
	var effects []string
	for _, injection := range engine.Injected() {
		effects = append(effects, string(injection.Fault.Effect))
	}
	if got := strings.Join(effects, " "); got != "throttling unavailable throttling" {
		t.Errorf("got %s", got)
	}
}

func TestInvalidFaultsAreRefused(t *testing.T) {
	engine := openMemory(t)
	for _, fault := range []embedded.Fault{
		{},
		{Effect: "explode"},
		{Effect: embedded.EffectThrottling, Applied: true},
		{Effect: embedded.EffectReset, Some: true},
		{Effect: embedded.EffectReset, Delay: time.Second},
		{Effect: embedded.EffectSlow},
		{Effect: embedded.EffectSlow, Delay: -1},
		{Effect: embedded.EffectReset, Probability: 1.5},
		{Effect: embedded.EffectReset, Nth: -1},
		{Effect: embedded.EffectReset, Nth: 1, Every: 1},
		{Effect: embedded.EffectReset, Index: "i"},
		{Effect: embedded.EffectStatementErrors, Code: "Explosion"},
	} {
		if _, err := engine.Inject(fault); err == nil {
			t.Errorf("%+v is injected", fault)
		}
		if engine, err := embedded.OpenMemory(embedded.WithFaults(fault)); err == nil {
			t.Errorf("an engine opens with %+v", fault)
			_ = engine.Close()
		}
	}
}

func TestInject_ClosedEngine(t *testing.T) {
	engine := openMemory(t)
	remove := inject(t, engine, "stale-read")
	if err := engine.Close(); err != nil {
		t.Fatal(err)
	}
	remove()
	if _, err := engine.Inject(embedded.Fault{Effect: embedded.EffectReset}); !errors.Is(err, embedded.ErrClosed) {
		t.Errorf("got %v", err)
	}
}

func TestFaultsOnInvalidRequestsDoNoHarm(t *testing.T) {
	engine := openMemory(t)
	for _, effect := range []string{"unprocessed", "statement-errors", "stale-read", "index-lag", "stale-description"} {
		inject(t, engine, effect)
	}
	for _, operation := range []string{
		"BatchGetItem", "BatchWriteItem", "BatchExecuteStatement", "ExecuteStatement", "Query", "Scan", "GetItem", "PutItem",
		"TransactWriteItems", "TransactGetItems", "ExecuteTransaction", "UpdateItem", "DeleteItem", "ListTables", "CreateTable",
		"DescribeTable", "DescribeTimeToLive",
	} {
		for _, body := range []string{
			`{}`, `{"TableName": 5}`, `[]`, `{"Statements": [{}]}`, `{"Statements": [{"Statement": "SELECT"}]}`,
			`{"TableName": "nowhere", "Key": {}, "Item": {}}`, `{"RequestItems": {"nowhere": {"Keys": [{}]}}}`,
			`{"RequestItems": {"nowhere": [{}]}}`, `{"TransactItems": [{}]}`, `{"TransactItems": [{"Put": {}}]}`,
			`{"Statement": "SELECT * FROM \"nowhere\".\"i\" WHERE a = 1"}`,
		} {
			if response := ask(t, engine, operation, body); strings.Contains(response, "InternalServerError") {
				t.Errorf("%s %s: %s", operation, body, response)
			}
		}
	}
}

// A description is as old as the delay says: a younger stream or expiry is not shown, a younger
// table is not found, and a table that was deleted since is described.
func TestStaleDescriptionsAreAsOldAsTheDelay(t *testing.T) {
	clock := &testClock{now: time.Unix(1_000_000, 0)}
	engine := openMemory(t, embedded.WithClock(clock.time), embedded.WithSweepInterval(0))
	client := clientOf(engine)
	inject(t, engine, "stale-description,delay=10s,table=or*")
	describe := func() string {
		t.Helper()
		out, err := client.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: aws.String("orders")})
		if isAPIError("ResourceNotFoundException", 400)(err) {
			return "none"
		} else if err != nil {
			t.Fatal(err)
		}
		ttl, err := client.DescribeTimeToLive(t.Context(), &dynamodb.DescribeTimeToLiveInput{TableName: aws.String("orders")})
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(out.Table.TableStatus, " stream ", out.Table.LatestStreamArn != nil, " ttl ", ttl.TimeToLiveDescription.TimeToLiveStatus)
	}
	want := func(at, description string) {
		t.Helper()
		if got := describe(); got != description {
			t.Errorf("%s it is described as %q, want %q", at, got, description)
		}
	}
	createTable(t, client, "orders")
	createTable(t, client, "others")
	if _, err := client.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: aws.String("others")}); err != nil {
		t.Errorf("a table that the fault does not match: %v", err)
	}
	want("at once", "none")
	clock.add(5 * time.Second)
	_, err := client.UpdateTable(t.Context(), &dynamodb.UpdateTableInput{
		TableName: aws.String("orders"), StreamSpecification: &types.StreamSpecification{
			StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewImage,
		},
	})
	if err == nil {
		_, err = client.UpdateTimeToLive(t.Context(), &dynamodb.UpdateTimeToLiveInput{
			TableName:               aws.String("orders"),
			TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String("until"), Enabled: aws.Bool(true)},
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	want("5 s later", "none")
	clock.add(6 * time.Second)
	want("11 s later, 6 s after the changes", "ACTIVE stream false ttl DISABLED")
	clock.add(5 * time.Second)
	want("11 s after the changes", "ACTIVE stream true ttl ENABLED")
	if _, err := client.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: aws.String("orders")}); err != nil {
		t.Fatal(err)
	}
	want("after its deletion", "ACTIVE stream true ttl ENABLED")
	clock.add(11 * time.Second)
	want("11 s after its deletion", "none")
}

func TestDeniedRequestsSayWhatIsNotAllowed(t *testing.T) {
	engine := openMemory(t)
	client := clientOf(engine)
	createTable(t, client, "orders")
	inject(t, engine, "access-denied")
	const want = "User: arn:aws:iam::000000000000:user/denied is not authorized to perform: dynamodb:PutItem on resource: " +
		"arn:aws:dynamodb:us-east-1:000000000000:table/orders because"
	if err := put(t.Context(), client, "orders", "a", 1); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("PutItem: %v", err)
	}
	if _, err := client.ListTables(t.Context(), &dynamodb.ListTablesInput{}); err == nil ||
		!strings.Contains(err.Error(), "dynamodb:ListTables on resource: * because") {
		t.Errorf("ListTables: %v", err)
	}
}
