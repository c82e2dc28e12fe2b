package embedded_test

import (
	"flag"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/dynajournal/dynajournal/embedded"
)

var streamRecords = flag.Int("stream.records", 4_000, "how many records the stream has that an engine is opened with")

// TestALongStreamOpens opens a folder with many records, logs how long that takes, and reads the
// stream's end. Opening reads a record of each shard, so it takes no longer with more of them.
func TestALongStreamOpens(t *testing.T) {
	const writers, batch = 16, 25
	dir := t.TempDir()
	engine, err := embedded.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	client := clientOf(engine)
	arn := createStreamTable(t, client, "orders", types.StreamViewTypeKeysOnly)
	rounds := max(*streamRecords/(writers*batch), 1)
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for round := range rounds {
				requests := make([]types.WriteRequest, batch)
				for i := range requests {
					requests[i].PutRequest = &types.PutRequest{Item: attributes{
						"pk": text(strconv.Itoa(w)), "sk": number(strconv.Itoa(i)), "round": number(strconv.Itoa(round)),
					}}
				}
				_, err := client.BatchWriteItem(t.Context(), &dynamodb.BatchWriteItemInput{
					RequestItems: map[string][]types.WriteRequest{"orders": requests},
				})
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	closeEngine(t, engine)

	start := time.Now()
	if engine, err = embedded.Open(dir); err != nil {
		t.Fatal(err)
	}
	took := time.Since(start)
	defer closeEngine(t, engine)
	t.Logf("a folder with %d records opens in %v", rounds*writers*batch, took)
	streams := streamsOf(engine)
	shard := must(readerOf(streams, arn).shards(t.Context()))(t)[0].ShardId
	latest := must(streams.GetShardIterator(t.Context(), &dynamodbstreams.GetShardIteratorInput{
		StreamArn: &arn, ShardId: shard, ShardIteratorType: streamtypes.ShardIteratorTypeLatest,
	}))(t)
	must(clientOf(engine).DeleteItem(t.Context(), &dynamodb.DeleteItemInput{
		TableName: aws.String("orders"), Key: attributes{"pk": text("0"), "sk": number("0")},
	}))(t)
	page := must(streams.GetRecords(t.Context(), &dynamodbstreams.GetRecordsInput{ShardIterator: latest.ShardIterator}))(t)
	if len(page.Records) != 1 || page.Records[0].EventName != streamtypes.OperationTypeRemove {
		t.Errorf("the end of the stream: %v", page.Records)
	}
}
