package projection

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/backoff"
	"github.com/dynajournal/dynajournal/internal/clock"
	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/projection/internal/engine"
	"github.com/dynajournal/dynajournal/projection/internal/stream"
)

// discoveries are the pauses between two descriptions of the stream. They restart with the shortest
// one when a shard has ended.
//
// DescribeStream is not consistent with reading shards: the children of a shard that has ended may
// be listed a minute later (awslabs/amazon-kinesis-client issue 164, apache/flink-connector-aws
// pull request 252). An account may describe streams 10 times a second.
var discoveries = backoff.Pauses{Shortest: 250 * time.Millisecond, Longest: 15 * time.Second}

// clocksApart is the largest difference between the clock that dates stream records and the clock
// of the table's endpoint. A record that is older by at most that much counts as new, because
// otherwise an event could be lost.
const clocksApart = time.Minute

// parentAwaited is how long the parent of a listed shard may be missing from the list. After that
// the parent counts as trimmed.
const parentAwaited = time.Hour

// forgotten is how long a shard that has ended and is not listed any more is remembered.
const forgotten = 48 * time.Hour

// follower reads all shards of a stream, and returns the events of their records.
type follower struct {
	*stream.Consumer

	journal *dynajournal.Journal
	clock   *clock.Clock
	// since is a minute before Follow started, in the time of the service. In a shard that is read
	// from its oldest record on, older records are not new. since is zero if that time is not
	// known: then all records are new.
	since time.Time
	// pages receives records of shards. failed receives the reason why the stream can't be read.
	pages  chan []types.Record
	failed chan error
	// started is closed when all shards that were open at the start are being read.
	started chan struct{}
	// positioned receives a value from each of these shards when its first response has arrived.
	// over receives each shard that was read to its end.
	positioned chan struct{}
	over       chan endOfShard
	wait       sync.WaitGroup
	// last is the last returned event of each persistence id.
	last map[string]engine.Offset

	// Only discover uses the fields below.

	// shards are the shards that are or were listed, nil before the first description.
	shards map[string]*followedShard
	// unpositioned counts the shards that were open at the start and have not been read yet.
	unpositioned int
}

// followedShard is a shard that was listed.
type followedShard struct {
	listed clock.Moment
	// started reports whether reading has started. over reports whether all records were read.
	started, over bool
	// end is when over was set. Records of the shard's children are not older.
	end clock.Moment
}

// finish records that the whole shard is read, or was written before Follow started.
func (s *followedShard) finish(at clock.Moment) { s.started, s.over, s.end = true, true, at }

// endOfShard reports that a shard was read to its end. The last request was sent at the moment at.
type endOfShard struct {
	name string
	at   clock.Moment
}

func newFollower(
	journal *dynajournal.Journal, client *dynamodbstreams.Client, arn string, opts FollowOptions,
) *follower {
	f := &follower{
		Consumer: &stream.Consumer{
			Streams: &stream.Streams{Client: client, Poll: opts.Poll},
			Group:   &engine.Group{Journal: journal, Table: engine.OpenTable(journal)}, Arn: arn,
		},
		journal: journal, clock: core.Of(journal).Clock,
		pages: make(chan []types.Record), failed: make(chan error), started: make(chan struct{}),
		positioned: make(chan struct{}), over: make(chan endOfShard), last: map[string]engine.Offset{},
	}
	if service, known := f.clock.Service(); known {
		f.since = service.Add(-clocksApart)
	}
	return f
}

// fail ends the loop with an error.
func (f *follower) fail(ctx context.Context, err error) {
	select {
	case f.failed <- err:
	case <-ctx.Done():
	}
}

// discover finds the shards of the stream and starts reading them, until ctx ends. It does this for
// as long as Follow runs, because a shard may be listed at any time after it was opened.
func (f *follower) discover(ctx context.Context) {
	for n := 0; ; n++ {
		first := f.shards == nil
		if err := f.describeOnce(ctx); err != nil && (first || lasting(err) || errors.Is(err, ErrNoStream)) {
			f.fail(ctx, err)
			return
		}
		if first && f.unpositioned == 0 {
			close(f.started)
		}
		next := time.NewTimer(discoveries.After(n))
		for waiting := true; waiting; {
			select {
			case end := <-f.over:
				f.shards[end.name].finish(end.at)
				n = 0
				next.Reset(discoveries.After(n))
			case <-f.positioned:
				if f.unpositioned--; f.unpositioned == 0 {
					close(f.started)
				}
			case <-next.C:
				waiting = false
			case <-ctx.Done():
				next.Stop()
				return
			}
		}
	}
}

// describeOnce describes the stream once, and starts reading the shards that can be read. The error
// is ErrNoStream if the stream was disabled and all its shards are read.
func (f *follower) describeOnce(ctx context.Context) error {
	now := f.clock.Now()
	shards, disabled, err := f.Describe(ctx)
	if errors.Is(err, stream.ErrStreamOver) {
		return ErrNoStream
	}
	if err != nil {
		return err
	}
	if f.shards == nil {
		err = f.startOpenShards(ctx, shards, now)
	} else {
		err = f.startNewShards(ctx, shards, now)
	}
	if err != nil || !disabled {
		return err
	}
	for _, s := range f.shards {
		if !s.over {
			return nil
		}
	}
	return ErrNoStream
}

// startOpenShards reads the shards that are open when Follow starts, from their end. The records of
// other shards were written before. A shard with a child is closed, even if its page of the
// description is older than the child.
func (f *follower) startOpenShards(ctx context.Context, shards []types.Shard, now clock.Moment) error {
	f.shards = map[string]*followedShard{}
	for _, shard := range shards {
		f.shards[aws.ToString(shard.ShardId)] = &followedShard{listed: now}
	}
	for _, shard := range shards {
		if shard.SequenceNumberRange != nil && shard.SequenceNumberRange.EndingSequenceNumber != nil {
			f.shards[aws.ToString(shard.ShardId)].finish(now)
		}
		if parent := f.shards[aws.ToString(shard.ParentShardId)]; parent != nil {
			parent.finish(now)
		}
	}
	for name, s := range f.shards {
		if s.started {
			continue
		}
		out, err := f.Client.GetShardIterator(ctx, &dynamodbstreams.GetShardIteratorInput{
			StreamArn: &f.Arn, ShardId: &name, ShardIteratorType: types.ShardIteratorTypeLatest,
		})
		if err != nil {
			return err
		}
		s.started = true
		f.unpositioned++
		f.read(ctx, &followedReader{follower: f, shard: name, iterator: out.ShardIterator, latest: true, fresh: now})
	}
	return nil
}

// startNewShards starts reading new shards from their beginning, once their parents were read to
// the end. So the records of a persistence id arrive in order.
func (f *follower) startNewShards(ctx context.Context, shards []types.Shard, now clock.Moment) error {
	listed := map[string]bool{}
	for _, shard := range shards {
		name := aws.ToString(shard.ShardId)
		listed[name] = true
		if f.shards[name] == nil {
			f.shards[name] = &followedShard{listed: now}
		}
	}
	maps.DeleteFunc(f.shards, func(name string, s *followedShard) bool {
		return s.over && !listed[name] && s.end.Until(now) > forgotten
	})
	for _, shard := range shards {
		name, of := aws.ToString(shard.ShardId), aws.ToString(shard.ParentShardId)
		s, parent := f.shards[name], f.shards[of]
		fresh := s.listed
		switch {
		case s.started:
			continue
		case of == "": // one of the first shards of the stream
		case parent == nil && s.listed.Until(now) > parentAwaited:
			return trimmed("the parent of shard %s is not listed: %s", name, of)
		case parent == nil || !parent.over:
			continue
		default:
			fresh = parent.end
		}
		s.started = true
		f.read(ctx, &followedReader{follower: f, shard: name, fresh: fresh})
	}
	return nil
}

// trimmed returns an error that reports lost records of the stream.
func trimmed(format string, args ...any) error {
	return &types.TrimmedDataAccessException{Message: aws.String(fmt.Sprintf(format, args...))}
}

// read reads a shard in a goroutine of its own.
func (f *follower) read(ctx context.Context, r *followedReader) {
	f.wait.Go(func() {
		if err := r.run(ctx); err != nil && ctx.Err() == nil {
			f.fail(ctx, err)
		}
	})
}

// followedReader reads one shard for a follower.
type followedReader struct {
	*follower

	shard string
	// iterator is nil if another one is needed.
	iterator *string
	// oldest is set once the shard is read from its oldest record on, which may be older than the
	// start of Follow.
	oldest bool
	// received is the sequence number of the last received record. It is empty if there is none.
	received string
	// latest is set until the first response for a shard that is read from its end.
	latest bool
	// fresh is a moment up to which all records of the shard were received.
	fresh clock.Moment
}

// run reads the shard to its end.
func (r *followedReader) run(ctx context.Context) error {
	for {
		asked := r.clock.Now()
		records, over, err := r.page(ctx)
		if err != nil && lasting(err) {
			return err
		}
		if err == nil {
			r.fresh = asked
			if err := r.deliver(ctx, records); err != nil {
				return err
			}
		}
		if over {
			return send(ctx, r.over, endOfShard{r.shard, asked})
		}
		if len(records) == 0 {
			if err := backoff.Wait(ctx, r.Poll); err != nil {
				return err
			}
		}
	}
}

// deliver passes the records of a response to the follower. For a shard that is read from its end,
// it first reports to the follower that the first response has arrived.
func (r *followedReader) deliver(ctx context.Context, records []types.Record) error {
	if r.latest {
		// LATEST may be determined by the first GetRecords: the API reference of GetShardIterator
		// does not exclude it.
		r.latest = false
		if err := send(ctx, r.positioned, struct{}{}); err != nil {
			return err
		}
	}
	if len(records) == 0 {
		return nil
	}
	return send(ctx, r.pages, records)
}

// page returns the next records, and whether the shard has ended after them.
func (r *followedReader) page(ctx context.Context) (records []types.Record, over bool, err error) {
	if r.iterator == nil {
		if r.iterator, err = r.next(ctx); err != nil {
			return nil, false, err
		}
	}
	out, err := r.Client.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: r.iterator})
	if _, expired := errors.AsType[*types.ExpiredIteratorException](err); expired {
		r.iterator = nil
	}
	if err != nil {
		return nil, false, err
	}
	if n := len(out.Records); n > 0 {
		r.received = aws.ToString(out.Records[n-1].Dynamodb.SequenceNumber)
	}
	r.iterator = out.NextShardIterator
	records = out.Records
	if r.oldest {
		records = slices.DeleteFunc(records, func(record types.Record) bool {
			created := record.Dynamodb.ApproximateCreationDateTime
			return created != nil && created.Before(r.since)
		})
	}
	return records, r.iterator == nil, nil
}

// next returns an iterator for the record after the last received one. If none was received, the
// iterator is for the oldest record of the shard, and page leaves out records from before Follow
// started. AT_SEQUENCE_NUMBER of the first number of the shard would be the same, but the number
// may be trimmed, or missing from the description. Records before the oldest one may have been
// missed: after 12 hours without a response the shard counts as trimmed.
func (r *followedReader) next(ctx context.Context) (*string, error) {
	in := &dynamodbstreams.GetShardIteratorInput{
		StreamArn: &r.Arn, ShardId: &r.shard, ShardIteratorType: types.ShardIteratorTypeTrimHorizon,
	}
	switch {
	case r.received != "":
		in.ShardIteratorType, in.SequenceNumber = types.ShardIteratorTypeAfterSequenceNumber, &r.received
	case r.clock.Since(r.fresh) > engine.TrustedFor:
		return nil, trimmed("shard %s could not be read for %v", r.shard, engine.TrustedFor)
	default:
		r.oldest = true
	}
	out, err := r.Client.GetShardIterator(ctx, in)
	if err != nil {
		return nil, err
	}
	return out.ShardIterator, nil
}

// send sends to a channel. The error is the cause of ctx.
func send[T any](ctx context.Context, to chan<- T, v T) error {
	select {
	case to <- v:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// lasting reports whether a shard can't be read any further without missing records.
func lasting(err error) bool {
	_, trimmed := errors.AsType[*types.TrimmedDataAccessException](err)
	_, gone := errors.AsType[*types.ResourceNotFoundException](err)
	return trimmed || gone || stream.Denied(err)
}
