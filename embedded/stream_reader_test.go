package embedded_test

import (
	"context"
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/dynajournal/dynajournal/embedded"
)

func streamsOf(engine *embedded.Engine) *dynamodbstreams.Client {
	return dynamodbstreams.NewFromConfig(engine.AWSConfig(), func(o *dynamodbstreams.Options) { o.Retryer = aws.NopRetryer{} })
}

// createStreamTable creates a table with the key pk (S) and sk (N), and a stream, and returns the
// stream's ARN.
func createStreamTable(t *testing.T, client *dynamodb.Client, name string, view types.StreamViewType) string {
	t.Helper()
	createTable(t, client, name)
	return enableStream(t, client, name, view)
}

func enableStream(t *testing.T, client *dynamodb.Client, name string, view types.StreamViewType) string {
	t.Helper()
	out := must(client.UpdateTable(t.Context(), &dynamodb.UpdateTableInput{
		TableName:           aws.String(name),
		StreamSpecification: &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: view},
	}))(t)
	return aws.ToString(out.TableDescription.LatestStreamArn)
}

func disableStream(t *testing.T, client *dynamodb.Client, name string) {
	t.Helper()
	must(client.UpdateTable(t.Context(), &dynamodb.UpdateTableInput{
		TableName:           aws.String(name),
		StreamSpecification: &types.StreamSpecification{StreamEnabled: aws.Bool(false)},
	}))(t)
}

// streamReader reads a stream from its oldest record on, each shard after its parent.
type streamReader struct {
	client *dynamodbstreams.Client
	arn    string
	limit  *int32
	// page is the maximum number of shards on a page, or nil for the service's 100.
	page *int32
	// renews makes the reader replace an iterator that has expired.
	renews    bool
	iterators map[string]*string
	// last has the sequence number of the last record that was read, by shard.
	last map[string]*string
	// ended has the shards that have been read to their end.
	ended map[string]bool
}

func readerOf(client *dynamodbstreams.Client, arn string) *streamReader {
	return &streamReader{client: client, arn: arn, iterators: map[string]*string{}, last: map[string]*string{}, ended: map[string]bool{}}
}

// shards returns the stream's shards.
func (s *streamReader) shards(ctx context.Context) ([]streamtypes.Shard, error) {
	var shards []streamtypes.Shard
	var start *string
	for {
		out, err := s.client.DescribeStream(ctx, &dynamodbstreams.DescribeStreamInput{
			StreamArn: &s.arn, ExclusiveStartShardId: start, Limit: s.page,
		})
		if err != nil {
			return nil, err
		}
		shards = append(shards, out.StreamDescription.Shards...)
		if start = out.StreamDescription.LastEvaluatedShardId; start == nil {
			return shards, nil
		}
	}
}

// next returns the records that have come since the last call.
func (s *streamReader) next(ctx context.Context) ([]streamtypes.Record, error) {
	var records []streamtypes.Record
	for more := true; more; {
		more = false
		shards, err := s.shards(ctx)
		if err != nil {
			return nil, err
		}
		listed := map[string]bool{}
		for _, shard := range shards {
			listed[*shard.ShardId] = true
		}
		for _, shard := range shards {
			id, parent := *shard.ShardId, aws.ToString(shard.ParentShardId)
			if s.ended[id] || parent != "" && listed[parent] && !s.ended[parent] {
				continue
			}
			got, err := s.nextOf(ctx, id)
			if err != nil {
				return nil, err
			}
			records = append(records, got...)
			more = more || s.ended[id] // its children may be read now
		}
	}
	return records, nil
}

// nextOf returns the records of a shard up to an empty page, or its end.
func (s *streamReader) nextOf(ctx context.Context, shard string) ([]streamtypes.Record, error) {
	var records []streamtypes.Record
	for {
		if s.iterators[shard] == nil {
			if err := s.position(ctx, shard); err != nil {
				return nil, err
			}
		}
		out, err := s.client.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{
			ShardIterator: s.iterators[shard], Limit: s.limit,
		})
		var expired *streamtypes.ExpiredIteratorException
		if errors.As(err, &expired) && s.renews {
			s.iterators[shard] = nil
			continue
		}
		if err != nil {
			return nil, err
		}
		records = append(records, out.Records...)
		if n := len(out.Records); n > 0 {
			s.last[shard] = out.Records[n-1].Dynamodb.SequenceNumber
		}
		s.iterators[shard] = out.NextShardIterator
		switch {
		case out.NextShardIterator == nil:
			s.ended[shard] = true
			return records, nil
		case len(out.Records) == 0:
			return records, nil
		}
	}
}

// position gets an iterator after the records of a shard that were read.
func (s *streamReader) position(ctx context.Context, shard string) error {
	in := &dynamodbstreams.GetShardIteratorInput{
		StreamArn: &s.arn, ShardId: &shard, ShardIteratorType: streamtypes.ShardIteratorTypeTrimHorizon,
	}
	if last := s.last[shard]; last != nil {
		in.ShardIteratorType, in.SequenceNumber = streamtypes.ShardIteratorTypeAfterSequenceNumber, last
	}
	out, err := s.client.GetShardIterator(ctx, in)
	if err != nil {
		return err
	}
	s.iterators[shard] = out.ShardIterator
	return nil
}

func (s *streamReader) mustNext(t *testing.T) []streamtypes.Record {
	t.Helper()
	return must(s.next(t.Context()))(t)
}
