package embedded_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/internal/testsize"
)

var (
	streamOperations = flag.Int("stream.operations", testsize.Of(500, 1_500), "the number of random operations with which each view of a stream is tested")
	streamSeed       = flag.Uint64("stream.seed", 1, "the seed of the random operations on a table with a stream")
)

// TestStream_ReplayGivesTheTable makes random changes of every kind, including some that are
// refused, while shards are replaced and split, and rebuilds the table from the stream: completely
// if the view has new images, otherwise as far as the view allows.
func TestStream_ReplayGivesTheTable(t *testing.T) {
	for _, view := range streamViews {
		t.Run(string(view), func(t *testing.T) {
			t.Logf("repeat with -stream.operations=%d -stream.seed=%d", *streamOperations, *streamSeed)
			clock := &testClock{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
			engine := openMemory(t, embedded.WithClock(clock.time), embedded.WithSweepInterval(0), embedded.WithStreamShards(3))
			client := clientOf(engine)
			arn := createStreamTable(t, client, "rich", view)
			w := &randomWriter{client: client, random: rand.New(rand.NewPCG(*streamSeed, uint64(len(view))))}
			r := &replayedTable{view: view, items: map[string]attributes{}}
			reader := readerOf(streamsOf(engine), arn)
			reader.renews = true
			for i := range *streamOperations {
				w.change(t.Context())
				switch {
				case i%397 == 0:
					r.replay(t, reader.mustNext(t))
				case i%509 == 0 && i < 1_600: // it doubles the number of shards
					if err := engine.SplitShards("rich"); err != nil {
						t.Fatal(err)
					}
				case i%701 == 0:
					clock.add(4 * time.Hour)
					r.replay(t, reader.mustNext(t)) // before they are trimmed
					must(engine.SweepExpired())(t)
				}
			}
			r.replay(t, reader.mustNext(t))
			r.compare(t, itemsOf(t, client))
			if w.failed == 0 || w.done == 0 {
				t.Errorf("%d requests were done, %d refused", w.done, w.failed)
			}
		})
	}
}

// itemsOf scans the table.
func itemsOf(t *testing.T, client *dynamodb.Client) map[string]attributes {
	t.Helper()
	items := map[string]attributes{}
	pages := dynamodb.NewScanPaginator(client, &dynamodb.ScanInput{TableName: aws.String("rich"), ConsistentRead: aws.Bool(true)})
	for pages.HasMorePages() {
		for _, item := range must(pages.NextPage(t.Context()))(t).Items {
			items[itemKey(item)] = item
		}
	}
	return items
}

func itemKey(item attributes) string {
	return item["pk"].(*types.AttributeValueMemberS).Value + "/" + item["sk"].(*types.AttributeValueMemberN).Value
}

// randomWriter changes a few items with all kinds of writes.
type randomWriter struct {
	client       *dynamodb.Client
	random       *rand.Rand
	done, failed int
}

func (w *randomWriter) key() attributes {
	return attributes{"pk": text("p" + strconv.Itoa(w.random.IntN(8))), "sk": number(strconv.Itoa(w.random.IntN(4)))}
}

func (w *randomWriter) item() attributes {
	item := w.key()
	item["x"] = number(strconv.Itoa(w.random.IntN(3))) // often the stored value
	return item
}

// keys returns n different keys.
func (w *randomWriter) keys(n int) []attributes {
	different := map[string]attributes{}
	for len(different) < n {
		key := w.key()
		different[itemKey(key)] = key
	}
	keys := make([]attributes, 0, n)
	for key := range maps.Values(different) {
		keys = append(keys, key)
	}
	return keys
}

func (w *randomWriter) with(key attributes) attributes {
	item := maps.Clone(key)
	item["x"] = number(strconv.Itoa(w.random.IntN(3)))
	return item
}

func (w *randomWriter) change(ctx context.Context) {
	table := aws.String("rich")
	var err error
	switch w.random.IntN(7) {
	case 0:
		_, err = w.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: table, Item: w.item()})
	case 1:
		_, err = w.client.PutItem(ctx, &dynamodb.PutItemInput{
			TableName: table, Item: w.item(), ConditionExpression: aws.String("attribute_not_exists(pk)"),
		})
	case 2:
		_, err = w.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName: table, Key: w.key(), UpdateExpression: aws.String("SET x = :x"),
			ExpressionAttributeValues: attributes{":x": number(strconv.Itoa(w.random.IntN(3)))},
		})
	case 3:
		_, err = w.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: table, Key: w.key()})
	case 4:
		var requests []types.WriteRequest
		for i, key := range w.keys(3) {
			if i == 0 {
				requests = append(requests, types.WriteRequest{DeleteRequest: &types.DeleteRequest{Key: key}})
			} else {
				requests = append(requests, types.WriteRequest{PutRequest: &types.PutRequest{Item: w.with(key)}})
			}
		}
		_, err = w.client.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{"rich": requests}})
	case 5:
		keys := w.keys(3)
		_, err = w.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
			{Put: &types.Put{TableName: table, Item: w.with(keys[0])}},
			{Delete: &types.Delete{TableName: table, Key: keys[1]}},
			{Update: &types.Update{
				TableName: table, Key: keys[2], UpdateExpression: aws.String("SET x = :x"),
				ConditionExpression:       aws.String("attribute_exists(pk)"),
				ExpressionAttributeValues: attributes{":x": number(strconv.Itoa(w.random.IntN(3)))},
			}},
		}})
	case 6:
		var statements []types.BatchStatementRequest
		for i, key := range w.keys(2) {
			statement, parameters := "DELETE FROM rich WHERE pk = ? AND sk = ?", []types.AttributeValue{key["pk"], key["sk"]}
			if i == 0 {
				statement = "INSERT INTO rich VALUE {'pk': ?, 'sk': ?, 'x': 7}"
			}
			statements = append(statements, types.BatchStatementRequest{Statement: aws.String(statement), Parameters: parameters})
		}
		_, err = w.client.BatchExecuteStatement(ctx, &dynamodb.BatchExecuteStatementInput{Statements: statements})
	}
	if err != nil {
		w.failed++
	} else {
		w.done++
	}
}

// replayedTable is a table that is rebuilt from its stream. If the view does not have new images,
// the rebuilt table only has the keys of the items.
type replayedTable struct {
	view  types.StreamViewType
	items map[string]attributes
}

func (r *replayedTable) replay(t *testing.T, records []streamtypes.Record) {
	t.Helper()
	for _, record := range records {
		change := record.Dynamodb
		key := itemKey(sdkItem(change.Keys))
		before, existed := r.items[key]
		switch record.EventName {
		case streamtypes.OperationTypeInsert:
			if existed {
				t.Fatalf("%s is inserted twice", key)
			}
		default:
			if !existed {
				t.Fatalf("%s of %s, which does not exist", record.EventName, key)
			}
		}
		if r.view == types.StreamViewTypeNewAndOldImages && existed && !reflect.DeepEqual(sdkItem(change.OldImage), before) {
			t.Fatalf("%s was %v, but the record has the old image %v", key, before, sdkItem(change.OldImage))
		}
		if record.EventName == streamtypes.OperationTypeRemove {
			delete(r.items, key)
			continue
		}
		r.items[key] = sdkItem(change.NewImage)
		if change.NewImage != nil && reflect.DeepEqual(r.items[key], before) {
			t.Fatalf("a record says that %s has changed, but it is still %v", key, before)
		}
	}
}

func (r *replayedTable) compare(t *testing.T, table map[string]attributes) {
	t.Helper()
	if len(r.items) != len(table) {
		t.Errorf("the stream gives %d items, but the table has %d", len(r.items), len(table))
	}
	for key, item := range table {
		replayed, exists := r.items[key]
		hasImage := r.view == types.StreamViewTypeNewImage || r.view == types.StreamViewTypeNewAndOldImages
		if !exists || hasImage && !reflect.DeepEqual(replayed, item) {
			t.Errorf("%s: the stream gives %v, but the table has %v", key, fmt.Sprint(replayed), fmt.Sprint(item))
		}
	}
}
