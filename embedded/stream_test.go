package embedded_test

import (
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/dynajournal/dynajournal/embedded"
)

var streamViews = []types.StreamViewType{
	types.StreamViewTypeKeysOnly, types.StreamViewTypeNewImage, types.StreamViewTypeOldImage, types.StreamViewTypeNewAndOldImages,
}

// TestRecordsOfEachView changes an item in every way, and reads the records of the changes.
func TestRecordsOfEachView(t *testing.T) {
	a1 := attributes{"pk": text("a"), "sk": number("1"), "x": number("1")}
	a2 := attributes{"pk": text("a"), "sk": number("1"), "x": number("2")}
	want := []struct {
		event    streamtypes.OperationType
		old, new attributes
	}{
		{streamtypes.OperationTypeInsert, nil, a1},
		{streamtypes.OperationTypeModify, a1, a2},
		{streamtypes.OperationTypeRemove, a2, nil},
	}
	for _, view := range streamViews {
		t.Run(string(view), func(t *testing.T) {
			engine := openMemory(t)
			client := clientOf(engine)
			arn := createStreamTable(t, client, "orders", view)
			put := func(item attributes) {
				must(client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("orders"), Item: item}))(t)
			}
			remove := func() {
				must(client.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{
					TableName: aws.String("orders"), Key: attributes{"pk": text("a"), "sk": number("1")},
				}))(t)
			}
			put(a1)
			put(a1) // changes nothing
			must(client.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
				TableName: aws.String("orders"), Key: attributes{"pk": text("a"), "sk": number("1")},
				UpdateExpression: aws.String("SET x = :x"), ExpressionAttributeValues: attributes{":x": number("2")},
			}))(t)
			remove()
			remove() // changes nothing

			records := readerOf(streamsOf(engine), arn).mustNext(t)
			if len(records) != len(want) {
				t.Fatalf("%d records, want %d", len(records), len(want))
			}
			seen := map[string]bool{}
			for i, r := range records {
				if r.EventName != want[i].event || aws.ToString(r.EventSource) != "aws:dynamodb" ||
					aws.ToString(r.AwsRegion) != embedded.Region || r.UserIdentity != nil || seen[*r.EventID] {
					t.Errorf("record %d: %+v", i, r)
				}
				seen[*r.EventID] = true
				checkImages(t, r.Dynamodb, view, want[i].old, want[i].new)
				if i > 0 && *r.Dynamodb.SequenceNumber <= *records[i-1].Dynamodb.SequenceNumber {
					t.Errorf("record %d has the sequence number %s after %s", i, *r.Dynamodb.SequenceNumber,
						*records[i-1].Dynamodb.SequenceNumber)
				}
			}
		})
	}
}

func checkImages(t *testing.T, r *streamtypes.StreamRecord, view types.StreamViewType, before, after attributes) {
	t.Helper()
	if view != types.StreamViewTypeNewAndOldImages && view != types.StreamViewTypeOldImage {
		before = nil
	}
	if view != types.StreamViewTypeNewAndOldImages && view != types.StreamViewTypeNewImage {
		after = nil
	}
	for name, images := range map[string]struct {
		got  map[string]streamtypes.AttributeValue
		want attributes
	}{
		"keys": {r.Keys, attributes{"pk": text("a"), "sk": number("1")}}, "old": {r.OldImage, before}, "new": {r.NewImage, after},
	} {
		if images.want == nil && images.got == nil {
			continue
		}
		if got := sdkItem(images.got); images.got == nil || !reflect.DeepEqual(got, images.want) {
			t.Errorf("%s: %v, want %v", name, got, images.want)
		}
	}
	size := int64(len("pk") + 1 + len("sk") + 2)
	for _, image := range []attributes{before, after} {
		if image != nil {
			size += int64(len("pk") + 1 + len("sk") + 2 + len("x") + 2)
		}
	}
	if *r.SizeBytes != size || string(r.StreamViewType) != string(view) || r.ApproximateCreationDateTime == nil {
		t.Errorf("%d bytes, view %s; want %d, %s", *r.SizeBytes, r.StreamViewType, size, view)
	}
}

// TestStreamSpecification_Errors has the specifications that CreateTable and
// UpdateTable refuse.
func TestStreamSpecification_Errors(t *testing.T) {
	engine := openMemory(t)
	const create = `{"TableName":"orders","AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"}],` +
		`"KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}],"BillingMode":"PAY_PER_REQUEST","StreamSpecification":%s}`
	const update = `{"TableName":"orders","StreamSpecification":%s}`
	const wrong = "ValidationException: One or more parameter values were invalid: "
	for _, step := range []struct{ operation, body, stream, want string }{
		{"CreateTable", create, `{"StreamEnabled":true}`, wrong + "Table is being created with a stream enabled, UpdateViewType is required"},
		{
			"CreateTable", create, `{"StreamEnabled":false,"StreamViewType":"NEW_IMAGE"}`,
			wrong + "Table is being created with a stream disabled, UpdateViewType should not be specified",
		},
		{
			"CreateTable", create, `{"StreamEnabled":true,"StreamViewType":"ALL"}`, "ValidationException: 1 validation error " +
				"detected: Value 'ALL' at 'streamSpecification.streamViewType' failed to satisfy constraint: Member must " +
				"satisfy enum value set: [NEW_IMAGE, OLD_IMAGE, NEW_AND_OLD_IMAGES, KEYS_ONLY]",
		},
		{"CreateTable", create, `{"StreamEnabled":false}`, ""},
		{"UpdateTable", update, `{"StreamEnabled":false}`, "ValidationException: Table has no stream to disable: TableName: orders"},
		{"UpdateTable", update, `{"StreamEnabled":true}`, wrong + "If stream is being enabled then UpdateViewType is required"},
		{"UpdateTable", update, `{"StreamEnabled":true,"StreamViewType":"KEYS_ONLY"}`, ""},
		{
			"UpdateTable", update, `{"StreamEnabled":true,"StreamViewType":"KEYS_ONLY"}`,
			"ValidationException: Table already has an enabled stream: TableName: orders",
		},
		{
			"UpdateTable", update, `{"StreamEnabled":false,"StreamViewType":"KEYS_ONLY"}`,
			wrong + "If stream is being disabled, then UpdateViewType must not be specified",
		},
		{
			"UpdateTable", `{"TableName":"orders","BillingMode":"PROVISIONED","ProvisionedThroughput":{"ReadCapacityUnits":1,` +
				`"WriteCapacityUnits":1},"StreamSpecification":%s}`, `{"StreamEnabled":false}`,
			wrong + "You cannot modify stream status while updating table IOPS",
		},
	} {
		got := ask(t, engine, step.operation, fmt.Sprintf(step.body, step.stream))
		if strings.HasPrefix(got, "{") {
			got = ""
		}
		if got != step.want {
			t.Errorf("%s %s: %s\nwant %s", step.operation, step.stream, got, step.want)
		}
	}
}

// TestDescriptionsNameTheStream follows a stream in the descriptions, from its creation to its
// removal.
func TestDescriptionsNameTheStream(t *testing.T) {
	clock := &testClock{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	engine := openMemory(t, embedded.WithClock(clock.time), embedded.WithSweepInterval(0))
	client, streams := clientOf(engine), streamsOf(engine)
	first := createStreamTable(t, client, "orders", types.StreamViewTypeNewImage)
	if !regexp.MustCompile(`^arn:aws:dynamodb:us-east-1:\d{12}:table/orders/stream/2026-01-01T00:00:00\.000$`).MatchString(first) {
		t.Errorf("the stream's ARN is %s", first)
	}
	describe := func() *types.TableDescription {
		out := must(client.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: aws.String("orders")}))(t)
		return out.Table
	}
	status := func(arn string) streamtypes.StreamStatus {
		out := must(streams.DescribeStream(t.Context(), &dynamodbstreams.DescribeStreamInput{StreamArn: &arn}))(t)
		return out.StreamDescription.StreamStatus
	}
	d := describe()
	if d.StreamSpecification == nil || !*d.StreamSpecification.StreamEnabled || *d.LatestStreamArn != first {
		t.Errorf("the table with a stream: %+v, %v", d.StreamSpecification, d.LatestStreamArn)
	}
	disableStream(t, client, "orders")
	if d = describe(); d.StreamSpecification != nil || *d.LatestStreamArn != first || status(first) != streamtypes.StreamStatusDisabled {
		t.Errorf("the table without a stream: %+v, %v, %s", d.StreamSpecification, d.LatestStreamArn, status(first))
	}
	second := enableStream(t, client, "orders", types.StreamViewTypeKeysOnly)
	if second == first || status(second) != streamtypes.StreamStatusEnabled {
		t.Errorf("the second stream is %s, %s", second, status(second))
	}
	list := func() (arns []string) {
		var start *string
		for {
			out := must(streams.ListStreams(t.Context(), &dynamodbstreams.ListStreamsInput{
				TableName: aws.String("orders"), Limit: aws.Int32(1), ExclusiveStartStreamArn: start,
			}))(t)
			for _, s := range out.Streams {
				arns = append(arns, *s.StreamArn)
			}
			if start = out.LastEvaluatedStreamArn; start == nil {
				return arns
			}
		}
	}
	if got := list(); !reflect.DeepEqual(got, []string{first, second}) {
		t.Errorf("ListStreams: %v", got)
	}
	must(client.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: aws.String("orders")}))(t)
	if status(second) != streamtypes.StreamStatusDisabled {
		t.Errorf("the stream of a deleted table is %s", status(second))
	}
	clock.add(25 * time.Hour)
	must(engine.SweepExpired())(t)
	if got := list(); len(got) != 0 {
		t.Errorf("a day later ListStreams has %v", got)
	}
	if _, err := streams.DescribeStream(t.Context(), &dynamodbstreams.DescribeStreamInput{StreamArn: &first}); !isAPIError("ResourceNotFoundException", http.StatusBadRequest)(err) {
		t.Errorf("a day later DescribeStream: %v", err)
	}
}

// TestShardsAreReplaced has shards that become old, shards that are split, and shards whose stream
// is disabled.
func TestShardsAreReplaced(t *testing.T) {
	clock := &testClock{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	engine := openMemory(t, embedded.WithClock(clock.time), embedded.WithSweepInterval(0), embedded.WithStreamShards(2))
	client, streams := clientOf(engine), streamsOf(engine)
	arn := createStreamTable(t, client, "orders", types.StreamViewTypeNewImage)
	reader := readerOf(streams, arn)
	reader.page = aws.Int32(2)
	write := func(round int) {
		for i := range 20 {
			must(client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("orders"), Item: attributes{
				"pk": text(fmt.Sprint(i)), "sk": number("1"), "round": number(fmt.Sprint(round)),
			}}))(t)
		}
	}
	open := func(want int) {
		t.Helper()
		shards, n := must(reader.shards(t.Context()))(t), 0
		for _, s := range shards {
			if s.SequenceNumberRange.EndingSequenceNumber == nil {
				n++
			}
		}
		if n != want {
			t.Errorf("%d of %d shards are open, want %d", n, len(shards), want)
		}
	}
	write(1)
	open(2)
	clock.add(4 * time.Hour)
	must(engine.SweepExpired())(t)
	write(2)
	open(2)
	if err := engine.SplitShards("orders"); err != nil {
		t.Fatal(err)
	}
	write(3)
	open(4)
	disableStream(t, client, "orders")
	write(4)
	open(0)
	rounds := map[string][]string{}
	for _, r := range reader.mustNext(t) {
		item := sdkItem(r.Dynamodb.NewImage)
		key := item["pk"].(*types.AttributeValueMemberS).Value
		rounds[key] = append(rounds[key], item["round"].(*types.AttributeValueMemberN).Value)
	}
	for i := range 20 {
		if got := rounds[fmt.Sprint(i)]; !reflect.DeepEqual(got, []string{"1", "2", "3"}) {
			t.Errorf("item %d has the rounds %v", i, got)
		}
	}
	shards := must(reader.shards(t.Context()))(t)
	children := must(streams.DescribeStream(t.Context(), &dynamodbstreams.DescribeStreamInput{
		StreamArn: &arn, ShardFilter: &streamtypes.ShardFilter{Type: streamtypes.ShardFilterTypeChildShards, ShardId: shards[2].ShardId},
	}))(t).StreamDescription.Shards
	if len(shards) != 8 || len(children) != 2 || *children[0].ParentShardId != *shards[2].ShardId {
		t.Errorf("%d shards, children of the third: %v", len(shards), children)
	}
	if err := engine.SplitShards("orders"); err == nil {
		t.Error("the shards of a disabled stream were split")
	}
}

// TestRecordsAreTrimmedAfterADay also uses iterators at records that have been trimmed.
func TestRecordsAreTrimmedAfterADay(t *testing.T) {
	clock := &testClock{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	engine := openMemory(t, embedded.WithClock(clock.time), embedded.WithSweepInterval(0))
	client, streams := clientOf(engine), streamsOf(engine)
	arn := createStreamTable(t, client, "orders", types.StreamViewTypeKeysOnly)
	put := func(n int) {
		must(client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("orders"), Item: attributes{
			"pk": text("a"), "sk": number(fmt.Sprint(n)),
		}}))(t)
	}
	iterator := func(kind streamtypes.ShardIteratorType, shard, number *string) (*string, error) {
		out, err := streams.GetShardIterator(t.Context(), &dynamodbstreams.GetShardIteratorInput{
			StreamArn: &arn, ShardId: shard, ShardIteratorType: kind, SequenceNumber: number,
		})
		if err != nil {
			return nil, err
		}
		return out.ShardIterator, nil
	}
	put(1)
	put(2)
	shard := must(readerOf(streams, arn).shards(t.Context()))(t)[0].ShardId
	records := readerOf(streams, arn).mustNext(t)
	clock.add(20 * time.Hour)
	put(3)
	clock.add(4*time.Hour - time.Minute)
	oldest := must(iterator(streamtypes.ShardIteratorTypeTrimHorizon, shard, nil))(t)
	clock.add(2 * time.Minute)
	must(engine.SweepExpired())(t)
	if _, err := streams.GetRecords(t.Context(), &dynamodbstreams.GetRecordsInput{ShardIterator: oldest}); !isAPIError("TrimmedDataAccessException", http.StatusBadRequest)(err) {
		t.Errorf("from an iterator whose records are trimmed: %v", err)
	}
	_, err := iterator(streamtypes.ShardIteratorTypeAtSequenceNumber, shard, records[0].Dynamodb.SequenceNumber)
	if !isAPIError("TrimmedDataAccessException", http.StatusBadRequest)(err) {
		t.Errorf("an iterator at a trimmed record: %v", err)
	}
	// The shard was replaced, but its last records are not a day old.
	left := readerOf(streams, arn).mustNext(t)
	if len(left) != 1 || sdkItem(left[0].Dynamodb.Keys)["sk"].(*types.AttributeValueMemberN).Value != "3" {
		t.Errorf("left: %v", left)
	}
	clock.add(14 * time.Minute)
	fresh := must(iterator(streamtypes.ShardIteratorTypeAfterSequenceNumber, shard, records[1].Dynamodb.SequenceNumber))(t)
	clock.add(15*time.Minute + time.Millisecond)
	if _, err := streams.GetRecords(t.Context(), &dynamodbstreams.GetRecordsInput{ShardIterator: fresh}); !isAPIError("ExpiredIteratorException", http.StatusBadRequest)(err) {
		t.Errorf("from an iterator of 15 minutes: %v", err)
	}
	clock.add(24 * time.Hour)
	must(engine.SweepExpired())(t)
	if got := readerOf(streams, arn).mustNext(t); len(got) != 0 {
		t.Errorf("left a day later: %v", got)
	}
	// The shard that replaced the first one has been closed by this sweep.
	shards := must(readerOf(streams, arn).shards(t.Context()))(t)
	if len(shards) != 2 || *shards[0].ShardId == *shard || *shards[1].ParentShardId != *shards[0].ShardId {
		t.Errorf("shards: %v", shards)
	}
}

// TestStream_ExpiredItemsAreRemovedByTheService checks the identity in the record of a deletion by
// time to live.
func TestStream_ExpiredItemsAreRemovedByTheService(t *testing.T) {
	clock := &testClock{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	engine := openMemory(t, embedded.WithClock(clock.time), embedded.WithSweepInterval(0))
	client := clientOf(engine)
	arn := createStreamTable(t, client, "orders", types.StreamViewTypeOldImage)
	must(client.UpdateTimeToLive(t.Context(), &dynamodb.UpdateTimeToLiveInput{
		TableName: aws.String("orders"), TimeToLiveSpecification: &types.TimeToLiveSpecification{
			AttributeName: aws.String("ttl"), Enabled: aws.Bool(true),
		},
	}))(t)
	must(client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("orders"), Item: attributes{
		"pk": text("a"), "sk": number("1"), "ttl": number(fmt.Sprint(clock.time().Unix() + 60)),
	}}))(t)
	clock.add(time.Hour)
	must(engine.SweepExpired())(t)
	records := readerOf(streamsOf(engine), arn).mustNext(t)
	if len(records) != 2 || records[1].EventName != streamtypes.OperationTypeRemove || records[1].UserIdentity == nil ||
		*records[1].UserIdentity.PrincipalId != "dynamodb.amazonaws.com" || *records[1].UserIdentity.Type != "Service" {
		t.Fatalf("records: %+v", records)
	}
}

// TestFault_EffectsOnGetRecords tests each effect that concerns GetRecords.
func TestFault_EffectsOnGetRecords(t *testing.T) {
	clock := &testClock{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	engine := openMemory(t, embedded.WithClock(clock.time), embedded.WithSweepInterval(0))
	client := clientOf(engine)
	arn := createStreamTable(t, client, "orders", types.StreamViewTypeKeysOnly)
	for i := range 4 {
		must(client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("orders"), Item: attributes{
			"pk": text("a"), "sk": number(fmt.Sprint(i)),
		}}))(t)
		clock.add(time.Second)
	}
	for _, test := range []struct {
		fault embedded.Fault
		code  string
		n     int
	}{
		{embedded.Fault{Effect: embedded.EffectExpiredIterator}, "ExpiredIteratorException", 0},
		{embedded.Fault{Effect: embedded.EffectTrimmed}, "TrimmedDataAccessException", 0},
		{embedded.Fault{Effect: embedded.EffectReaderLimit}, "LimitExceededException", 0},
		{embedded.Fault{Effect: embedded.EffectThrottling, Operation: "GetRecords"}, "ThrottlingException", 0},
		{embedded.Fault{Effect: embedded.EffectStreamLag, Delay: 2500 * time.Millisecond}, "", 2},
		{embedded.Fault{Effect: embedded.EffectHalfPage}, "", 4},
		{embedded.Fault{Effect: embedded.EffectExpiredIterator, Table: "others"}, "", 4},
		{embedded.Fault{Effect: embedded.EffectExpiredIterator, Table: "orders"}, "ExpiredIteratorException", 0},
	} {
		remove := must(engine.Inject(test.fault))(t)
		reader := readerOf(streamsOf(engine), arn)
		reader.limit = aws.Int32(3)
		records, err := reader.next(t.Context())
		if test.code == "" && (err != nil || len(records) != test.n) || test.code != "" && !isAPIError(test.code, http.StatusBadRequest)(err) {
			t.Errorf("%+v: %d records, %v", test.fault, len(records), err)
		}
		remove()
	}
	if _, err := engine.Inject(embedded.Fault{Effect: embedded.EffectStreamLag}); err == nil {
		t.Error("a stream-lag without a delay is accepted")
	}
}
