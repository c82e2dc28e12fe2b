package projection_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"hash/maphash"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// eventSource is an event source mapping of Lambda: it reads a stream, and invokes a function with
// its records, by the rules that AWS documents. Each shard is read from its oldest record, after
// its parent is done. The number of concurrent batches of a shard is lanes. The records of a
// partition key are in order in one of them. A batch is repeated from the lowest failure on, or as
// a whole if the function fails, or names something other than a record. Bisecting is off.
type eventSource struct {
	testing.TB

	client *dynamodbstreams.Client
	arn    string
	// invoke calls the function. It returns the function's response or error.
	invoke func(event json.RawMessage) (json.RawMessage, error)
	// batchSize and window are the settings of batches. lanes is the parallelization factor.
	batchSize, lanes int
	window           time.Duration
	// attempts is MaximumRetryAttempts + 1. age is MaximumRecordAge. 0 means no limit.
	attempts int
	age      time.Duration

	mu sync.Mutex
	// open counts records that were received and are not done. dropped counts records that were
	// given up.
	open, dropped int
	started, over map[string]bool
	work          sync.WaitGroup
}

// run reads the stream until ctx ends.
func (s *eventSource) run(ctx context.Context) {
	s.started, s.over = map[string]bool{}, map[string]bool{}
	defer s.work.Wait()
	for ctx.Err() == nil {
		shards := s.shards(ctx)
		listed := map[string]bool{}
		for _, shard := range shards {
			listed[aws.ToString(shard.ShardId)] = true
		}
		for _, shard := range shards {
			s.start(ctx, aws.ToString(shard.ShardId), aws.ToString(shard.ParentShardId), listed)
		}
		pause(ctx, time.Second)
	}
}

// shards returns the shards of the stream, none if one of the requests fails.
func (s *eventSource) shards(ctx context.Context) []types.Shard {
	var all []types.Shard
	in := &dynamodbstreams.DescribeStreamInput{StreamArn: &s.arn}
	for {
		out, err := s.client.DescribeStream(ctx, in)
		if err != nil {
			return nil
		}
		all = append(all, out.StreamDescription.Shards...)
		in.ExclusiveStartShardId = out.StreamDescription.LastEvaluatedShardId
		if in.ExclusiveStartShardId == nil {
			return all
		}
	}
}

func (s *eventSource) start(ctx context.Context, shard, parent string, listed map[string]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.started[shard] || listed[parent] && !s.over[parent] {
		return
	}
	s.started[shard] = true
	s.work.Go(func() {
		s.read(ctx, shard)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.over[shard] = true
	})
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// read reads a shard to its end, and waits until all its records are done.
func (s *eventSource) read(ctx context.Context, shard string) {
	lanes := make([]chan types.Record, s.lanes)
	var work sync.WaitGroup
	for i := range lanes {
		lanes[i] = make(chan types.Record, 10*s.batchSize)
		work.Go(func() { s.follow(ctx, lanes[i]) })
	}
	defer work.Wait()
	defer func() {
		for _, lane := range lanes {
			close(lane)
		}
	}()
	seed, received := maphash.MakeSeed(), ""
	var iterator *string
	for ctx.Err() == nil {
		if iterator == nil {
			iterator = s.iterator(ctx, shard, received)
		}
		out, err := s.client.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: iterator})
		if err != nil { // possibly an expired iterator
			iterator = nil
			pause(ctx, 100*time.Millisecond)
			continue
		}
		for _, r := range out.Records {
			received = aws.ToString(r.Dynamodb.SequenceNumber)
			s.count(1)
			key := r.Dynamodb.Keys["par"].(*types.AttributeValueMemberS).Value
			select {
			case lanes[maphash.String(seed, key)%uint64(len(lanes))] <- r:
			case <-ctx.Done():
				return
			}
		}
		if iterator = out.NextShardIterator; iterator == nil {
			return
		}
		if len(out.Records) == 0 {
			pause(ctx, 250*time.Millisecond)
		}
	}
}

func (s *eventSource) iterator(ctx context.Context, shard, received string) *string {
	in := &dynamodbstreams.GetShardIteratorInput{
		StreamArn: &s.arn, ShardId: &shard, ShardIteratorType: types.ShardIteratorTypeTrimHorizon,
	}
	if received != "" {
		in.ShardIteratorType, in.SequenceNumber = types.ShardIteratorTypeAfterSequenceNumber, &received
	}
	out, err := s.client.GetShardIterator(ctx, in)
	if err != nil {
		return aws.String("")
	}
	return out.ShardIterator
}

func (s *eventSource) count(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open += n
}

// idle reports whether all records that were received are done.
func (s *eventSource) idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open == 0
}

// follow makes batches of the records of a lane.
func (s *eventSource) follow(ctx context.Context, lane <-chan types.Record) {
	for r := range lane {
		batch := []types.Record{r}
		var full <-chan time.Time
		if s.window > 0 {
			full = time.After(s.window)
		}
		for more := true; more && len(batch) < s.batchSize; {
			if full == nil {
				select {
				case r, more = <-lane:
				default:
					more = false
				}
			} else {
				select {
				case r, more = <-lane:
				case <-full:
					more = false
				}
			}
			if more {
				batch = append(batch, r)
			}
		}
		s.handle(ctx, batch)
	}
}

// handle invokes the function until the records are done or given up.
func (s *eventSource) handle(ctx context.Context, batch []types.Record) {
	for attempt := 1; len(batch) > 0 && ctx.Err() == nil; attempt++ {
		drop := 0
		if s.attempts > 0 && attempt > s.attempts {
			drop = len(batch)
		}
		for s.age > 0 && drop < len(batch) && time.Since(*batch[drop].Dynamodb.ApproximateCreationDateTime) > s.age {
			drop++
		}
		batch = batch[drop:]
		s.mu.Lock()
		s.dropped += drop
		s.mu.Unlock()
		s.count(-drop)
		if len(batch) == 0 {
			return
		}
		done := 0
		if response, err := s.invoke(lambdaEvent(s, s.arn, batch...)); err == nil {
			done = doneBy(batch, response)
		}
		s.count(-done)
		if batch = batch[done:]; done == 0 {
			pause(ctx, 100*time.Millisecond)
		}
	}
}

// doneBy returns how many records of a batch a response reports as done.
func doneBy(batch []types.Record, response json.RawMessage) int {
	var of *struct {
		Failures []map[string]*string `json:"batchItemFailures"`
	}
	if len(bytes.TrimSpace(response)) == 0 {
		return len(batch)
	}
	if err := json.Unmarshal(response, &of); err != nil {
		return 0
	}
	done := len(batch)
	if of == nil {
		return done
	}
	for _, f := range of.Failures {
		id := aws.ToString(f["itemIdentifier"])
		i := slices.IndexFunc(batch, func(r types.Record) bool { return aws.ToString(r.Dynamodb.SequenceNumber) == id })
		if i < 0 {
			return 0
		}
		done = min(done, i)
	}
	return done
}

func TestEventSourceFollowsResponses(t *testing.T) {
	t.Parallel()
	record := func(sequence string) types.Record {
		return types.Record{Dynamodb: &types.StreamRecord{SequenceNumber: &sequence}}
	}
	batch := []types.Record{record("1"), record("2"), record("3")}
	for response, want := range map[string]int{
		``: 3, `null`: 3, `{}`: 3, `{"batchItemFailures":null}`: 3, `{"batchItemFailures":[]}`: 3,
		`{"batchItemFailures":[{"itemIdentifier":"3"},{"itemIdentifier":"2"}]}`: 1,
		`{"batchItemFailures":[{"itemIdentifier":"1"}]}`:                        0,
		`{"batchItemFailures":[{"itemIdentifier":""}]}`:                         0,
		`{"batchItemFailures":[{"itemIdentifier":null}]}`:                       0,
		`{"batchItemFailures":[{"id":"3"}]}`:                                    0,
		`{"batchItemFailures":[{"itemIdentifier":"4"}]}`:                        0,
		`{"batchItemFailures":`:                                                 0,
	} {
		if got := doneBy(batch, json.RawMessage(response)); got != want {
			t.Errorf("%s: %d, want %d", response, got, want)
		}
	}
}

var errLambda = errors.New("the function has failed")
