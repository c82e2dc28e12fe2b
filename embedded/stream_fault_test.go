package embedded_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/dynajournal/dynajournal/embedded"
)

// The children of shards are listed late, all of them or some. Their parents are not.
func TestFault_LateShards(t *testing.T) {
	t.Parallel()
	clock := &testClock{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	engine := openMemory(t, embedded.WithClock(clock.time), embedded.WithSweepInterval(0), embedded.WithStreamShards(2))
	client := clientOf(engine)
	arn := createStreamTable(t, client, "orders", types.StreamViewTypeKeysOnly)
	count := func() int {
		t.Helper()
		return len(must(readerOf(streamsOf(engine), arn).shards(t.Context()))(t))
	}
	inject := func(f embedded.Fault) func() { return must(engine.Inject(f))(t) }
	late := embedded.Fault{Effect: embedded.EffectLateShards, Delay: time.Minute}
	remove := inject(late)
	if n := count(); n != 2 {
		t.Errorf("the first shards of a stream: %d, want 2", n)
	}
	if err := engine.SplitShards("orders"); err != nil {
		t.Fatal(err)
	}
	if n := count(); n != 2 {
		t.Errorf("all children are late: %d shards, want 2", n)
	}
	remove()
	late.Some, late.Times = true, 1
	defer inject(late)()
	if n := count(); n <= 2 || n >= 6 {
		t.Errorf("some children are late: %d shards of 6, and 2 are first ones", n)
	}
	if n := count(); n != 6 {
		t.Errorf("after one request: %d shards, want 6", n)
	}
	late.Some, late.Times = false, 0
	defer inject(late)()
	clock.add(time.Minute)
	if n := count(); n != 6 {
		t.Errorf("after a minute: %d shards, want 6", n)
	}
	if _, err := engine.Inject(embedded.Fault{Effect: embedded.EffectLateShards}); err == nil {
		t.Error("late-shards without a delay is accepted")
	}
}

// The first GetRecords with an iterator determines the position of LATEST.
func TestFault_LateLatest(t *testing.T) {
	t.Parallel()
	engine := openMemory(t, embedded.WithFaults(embedded.Fault{Effect: embedded.EffectLateLatest}))
	client := clientOf(engine)
	arn := createStreamTable(t, client, "orders", types.StreamViewTypeKeysOnly)
	reader := readerOf(streamsOf(engine), arn)
	shard := must(reader.shards(t.Context()))(t)[0].ShardId
	put := func(n string) {
		t.Helper()
		must(client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("orders"), Item: attributes{
			"pk": text("a"), "sk": number(n),
		}}))(t)
	}
	put("1")
	reader.iterators[*shard] = must(reader.client.GetShardIterator(t.Context(), &dynamodbstreams.GetShardIteratorInput{
		StreamArn: &arn, ShardId: shard, ShardIteratorType: streamtypes.ShardIteratorTypeLatest,
	}))(t).ShardIterator
	put("2")
	if records := must(reader.nextOf(t.Context(), *shard))(t); len(records) != 0 {
		t.Errorf("written before the first GetRecords: %d records", len(records))
	}
	put("3")
	if records := must(reader.nextOf(t.Context(), *shard))(t); len(records) != 1 {
		t.Errorf("written after it: %d records, want 1", len(records))
	}
}
