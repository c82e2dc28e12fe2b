package projection

import (
	"context"
	"errors"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/dynajournal/dynajournal"
)

// follower reads all shards of a stream, and returns the events that their records are of.
type follower struct {
	*reader

	journal *dynajournal.Journal
	// pages are the records of shards, failed what a shard can't be read for.
	pages  chan []types.Record
	failed chan error
	wait   sync.WaitGroup
	// last is the last event of each persistence id that was returned.
	last map[string]offset

	mu sync.Mutex
	// begun are the shards that are or were read, over those that were read to their end.
	begun, over map[string]bool
}

func newFollower(
	journal *dynajournal.Journal, client *dynamodbstreams.Client, arn string, opts FollowOptions,
) *follower {
	c := &consumer{
		streams: &streams{client: client, StreamsOptions: StreamsOptions{Poll: opts.Poll}},
		group:   &Group{journal: journal, table: openTable(journal)}, arn: arn,
	}
	return &follower{
		reader: &reader{consumer: c}, journal: journal,
		pages: make(chan []types.Record), failed: make(chan error),
		last: map[string]offset{}, begun: map[string]bool{}, over: map[string]bool{},
	}
}

// readAll begins to read all shards at their end. started is called then.
func (f *follower) readAll(ctx context.Context, started func()) {
	err := f.begin(ctx, types.ShardIteratorTypeLatest)
	if err != nil {
		f.fail(ctx, err)
		return
	}
	if started != nil {
		started()
	}
}

// fail ends the loop with an error.
func (f *follower) fail(ctx context.Context, err error) {
	select {
	case f.failed <- err:
	case <-ctx.Done():
	}
}

// begin reads the shards that are not read yet: those that exist when Follow begins at their end,
// and later ones from their beginning, when the shard that they follow on was read to its end. So
// the records of a persistence id come in their order.
func (f *follower) begin(ctx context.Context, from types.ShardIteratorType) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []types.Shard
	listed := map[string]bool{}
	in := &dynamodbstreams.DescribeStreamInput{StreamArn: &f.arn}
	for again := true; again; again = in.ExclusiveStartShardId != nil {
		out, err := f.client.DescribeStream(ctx, in)
		if err != nil {
			return err //nolint:wrapcheck // the SDK names the operation
		}
		all = append(all, out.StreamDescription.Shards...)
		in.ExclusiveStartShardId = out.StreamDescription.LastEvaluatedShardId
	}
	for _, shard := range all {
		listed[aws.ToString(shard.ShardId)] = true
	}
	for _, shard := range all {
		name, parent := aws.ToString(shard.ShardId), aws.ToString(shard.ParentShardId)
		later := listed[parent] && !f.over[parent] && from != types.ShardIteratorTypeLatest
		if f.begun[name] || later {
			continue
		}
		if err := f.open(ctx, name, from); err != nil {
			return err
		}
	}
	if len(f.begun) == len(f.over) {
		return ErrNoStream // it was disabled
	}
	return nil
}

// open begins to read a shard. The caller holds the lock.
func (f *follower) open(ctx context.Context, name string, from types.ShardIteratorType) error {
	out, err := f.client.GetShardIterator(ctx, &dynamodbstreams.GetShardIteratorInput{
		StreamArn: &f.arn, ShardId: &name, ShardIteratorType: from,
	})
	if err != nil {
		return err //nolint:wrapcheck // the SDK names the operation
	}
	f.begun[name] = true
	f.wait.Go(func() {
		if err := f.shard(ctx, name, out.ShardIterator); err != nil && ctx.Err() == nil {
			f.fail(ctx, err)
		}
	})
	return nil
}

// shard reads a shard to its end, and then those that follow on it.
func (f *follower) shard(ctx context.Context, name string, iterator *string) error {
	received := ""
	for iterator != nil {
		out, err := f.client.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: iterator})
		_, expired := errors.AsType[*types.ExpiredIteratorException](err)
		switch {
		case expired && received != "":
			again, err := f.client.GetShardIterator(ctx, &dynamodbstreams.GetShardIteratorInput{
				StreamArn: &f.arn, ShardId: &name,
				ShardIteratorType: types.ShardIteratorTypeAfterSequenceNumber, SequenceNumber: &received,
			})
			if err != nil {
				return err //nolint:wrapcheck // the SDK names the operation
			}
			iterator = again.ShardIterator
			continue
		case err != nil && lasting(err):
			return err //nolint:wrapcheck // the SDK names the operation
		case err != nil:
			if err := sleep(ctx, f.Poll); err != nil {
				return err
			}
			continue
		}
		if n := len(out.Records); n > 0 {
			received = aws.ToString(out.Records[n-1].Dynamodb.SequenceNumber)
			select {
			case f.pages <- out.Records:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		} else if err := sleep(ctx, f.Poll); err != nil {
			return err
		}
		iterator = out.NextShardIterator
	}
	f.mu.Lock()
	f.over[name] = true
	f.mu.Unlock()
	for {
		err := f.begin(ctx, types.ShardIteratorTypeTrimHorizon)
		if err == nil || errors.Is(err, ErrNoStream) || lasting(err) || sleep(ctx, f.Poll) != nil {
			return err
		}
	}
}

// lasting reports whether a shard can't be read on without missing records.
func lasting(err error) bool {
	_, trimmed := errors.AsType[*types.TrimmedDataAccessException](err)
	_, gone := errors.AsType[*types.ResourceNotFoundException](err)
	_, expired := errors.AsType[*types.ExpiredIteratorException](err)
	return trimmed || gone || expired || denied(err)
}
