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

var streamRecords = flag.Int("stream.records", 4_000, "the number of records of the stream with which an engine is opened")

// TestOpen_LongStream opens a folder with many records, logs the time that this takes, and reads
// the ends of its shards. Opening reads one record of each shard, so it does not take longer with
// more records.
func TestOpen_LongStream(t *testing.T) {
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
	// Every open shard is read from its end: the writes have split shards.
	var latest []*string
	for _, shard := range must(readerOf(streams, arn).shards(t.Context()))(t) {
		latest = append(latest, must(streams.GetShardIterator(t.Context(), &dynamodbstreams.GetShardIteratorInput{
			StreamArn: &arn, ShardId: shard.ShardId, ShardIteratorType: streamtypes.ShardIteratorTypeLatest,
		}))(t).ShardIterator)
	}
	must(clientOf(engine).DeleteItem(t.Context(), &dynamodb.DeleteItemInput{
		TableName: aws.String("orders"), Key: attributes{"pk": text("0"), "sk": number("0")},
	}))(t)
	var names []streamtypes.OperationType
	for _, iterator := range latest {
		page := must(streams.GetRecords(t.Context(), &dynamodbstreams.GetRecordsInput{ShardIterator: iterator}))(t)
		for _, record := range page.Records {
			names = append(names, record.EventName)
		}
	}
	if len(names) != 1 || names[0] != streamtypes.OperationTypeRemove {
		t.Errorf("the ends of the shards have the records %v, want the deletion", names)
	}
}
