package projection_test

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/projection/awslambda"
)

// onLambda returns a configuration of a group on Lambda.
func onLambda() projection.Config {
	config := fast()
	config.Source = awslambda.Source(awslambda.Options{PerSecond: -1})
	return config
}

// lambdaEvent returns records in the form in which Lambda sends them.
func lambdaEvent(t testing.TB, arn string, records ...types.Record) json.RawMessage {
	t.Helper()
	all := make([]map[string]any, len(records))
	for i, r := range records {
		change := map[string]any{
			"ApproximateCreationDateTime": r.Dynamodb.ApproximateCreationDateTime.Unix(),
			"Keys":                        lambdaItem(r.Dynamodb.Keys),
			"SequenceNumber":              aws.ToString(r.Dynamodb.SequenceNumber),
			"SizeBytes":                   aws.ToInt64(r.Dynamodb.SizeBytes),
			"StreamViewType":              string(r.Dynamodb.StreamViewType),
		}
		if r.Dynamodb.NewImage != nil {
			change["NewImage"] = lambdaItem(r.Dynamodb.NewImage)
		}
		if r.Dynamodb.OldImage != nil {
			change["OldImage"] = lambdaItem(r.Dynamodb.OldImage)
		}
		all[i] = map[string]any{
			"eventID": aws.ToString(r.EventID), "eventName": string(r.EventName), "eventVersion": "1.1",
			"eventSource": "aws:dynamodb", "awsRegion": "eu-west-1", "dynamodb": change, "eventSourceARN": arn,
		}
	}
	event, err := json.Marshal(map[string]any{"Records": all})
	if err != nil {
		t.Fatal(err)
	}
	return event
}

func lambdaItem(of map[string]types.AttributeValue) map[string]any {
	item := map[string]any{}
	for name, v := range of {
		item[name] = lambdaValue(v)
	}
	return item
}

func lambdaValue(of types.AttributeValue) map[string]any {
	switch v := of.(type) {
	case *types.AttributeValueMemberS:
		return map[string]any{"S": v.Value}
	case *types.AttributeValueMemberN:
		return map[string]any{"N": v.Value}
	case *types.AttributeValueMemberB:
		return map[string]any{"B": base64.StdEncoding.EncodeToString(v.Value)}
	case *types.AttributeValueMemberBOOL:
		return map[string]any{"BOOL": v.Value}
	case *types.AttributeValueMemberSS:
		return map[string]any{"SS": v.Value}
	case *types.AttributeValueMemberNS:
		return map[string]any{"NS": v.Value}
	case *types.AttributeValueMemberBS:
		return map[string]any{"BS": v.Value}
	case *types.AttributeValueMemberM:
		return map[string]any{"M": lambdaItem(v.Value)}
	case *types.AttributeValueMemberL:
		list := make([]any, len(v.Value))
		for i := range v.Value {
			list[i] = lambdaValue(v.Value[i])
		}
		return map[string]any{"L": list}
	}
	return map[string]any{"NULL": true}
}

// streamARN returns the ARN of the stream of the journal table.
func (b *bundle) streamARN() string {
	b.Helper()
	table := cmp.Or(b.Config.JournalTable, dynajournal.DefaultJournalTable)
	out, err := b.table.DescribeTable(b.Context(), &dynamodb.DescribeTableInput{TableName: &table})
	if err != nil {
		b.Fatal(err)
	}
	return aws.ToString(out.Table.LatestStreamArn)
}

// shards returns the shards that the stream lists, the oldest first.
func (b *bundle) shards() []types.Shard {
	b.Helper()
	client := dynamodbstreams.NewFromConfig(b.Engine.AWSConfig())
	out, err := client.DescribeStream(b.Context(), &dynamodbstreams.DescribeStreamInput{StreamArn: aws.String(b.streamARN())})
	if err != nil {
		b.Fatal(err)
	}
	return out.StreamDescription.Shards
}

// streamRecords reads all records of the stream, which has one shard.
func (b *bundle) streamRecords() []types.Record {
	b.Helper()
	client, arn := dynamodbstreams.NewFromConfig(b.Engine.AWSConfig()), b.streamARN()
	described, err := client.DescribeStream(b.Context(), &dynamodbstreams.DescribeStreamInput{StreamArn: &arn})
	if err != nil {
		b.Fatal(err)
	}
	var all []types.Record
	for _, shard := range described.StreamDescription.Shards {
		at, err := client.GetShardIterator(b.Context(), &dynamodbstreams.GetShardIteratorInput{
			StreamArn: &arn, ShardId: shard.ShardId, ShardIteratorType: types.ShardIteratorTypeTrimHorizon,
		})
		if err != nil {
			b.Fatal(err)
		}
		for next := at.ShardIterator; next != nil; {
			page, err := client.GetRecords(b.Context(), &dynamodbstreams.GetRecordsInput{ShardIterator: next})
			if err != nil {
				b.Fatal(err)
			}
			if all = append(all, page.Records...); len(page.Records) == 0 {
				break
			}
			next = page.NextShardIterator
		}
	}
	return all
}

// events returns an event with all records from an index on.
func (b *bundle) events(from int) json.RawMessage {
	b.Helper()
	return lambdaEvent(b, b.streamARN(), b.streamRecords()[from:]...)
}

// invoke calls the group with an event and a deadline, and returns the lowest failure.
func (b *bundle) invoke(g *projection.Group, event json.RawMessage, within time.Duration) string {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), within)
	defer cancel()
	response, err := awslambda.Handler(g)(ctx, event)
	if err != nil {
		b.Fatal(err)
	}
	if ctx.Err() != nil {
		b.Error("the answer came after the deadline")
	}
	if len(response.BatchItemFailures) == 0 {
		return ""
	}
	return response.BatchItemFailures[0].ItemIdentifier
}

// firstOf returns the sequence number of the first record of a persistence id.
func firstOf(records []types.Record, pid string) string {
	i := slices.IndexFunc(records, func(r types.Record) bool {
		par := r.Dynamodb.Keys["par"].(*types.AttributeValueMemberS).Value
		return par == "journal-P-"+pid+"-0"
	})
	return aws.ToString(records[i].Dynamodb.SequenceNumber)
}
