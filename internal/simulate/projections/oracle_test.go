package projections_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// tellingOf is the kind of a report to a projection.
type tellingOf int

const (
	event tellingOf = iota
	gap
	purged
)

// report is a report to a projection: an event, a gap, or a purge. For a purge, last is the offset
// before it, and first is the last purged number.
type report struct {
	what        tellingOf
	text        string
	first, last int64
}

// chronicle has the reports to a projection about a persistence id, in order, and the progress of
// their check.
type chronicle struct {
	entries []report
	// checked is the number of checked entries. After them, life is the current life, and reached
	// has the last number of each life.
	checked, life int
	reached       map[int]int64
	// purged reports whether a purge was reported, and no event after it. purgedTo is its number.
	// gapped is the end of the purge and of the gaps after it, whose life is not known yet.
	purged           bool
	purgedTo, gapped int64
	// failures counts failures of the handler.
	failures int
}

// oracle knows what was handled, and checks it.
//
//   - An event that is handled is stored, with that text and number.
//   - No number is skipped: an event or a gap follows the one before, or repeats an earlier one.
//     With transactions nothing is repeated.
//   - The events of a gap were deleted. A purge is reported if there was one, before the events
//     after it.
//   - In the end everything is handled, the offsets are at the last events, and no claim is left.
//   - A persistence id is stuck only if its handler has failed often enough.
type oracle struct {
	*simulation

	mu         sync.Mutex
	err        error
	chronicles map[string]*chronicle
	// read has the last record that was read of each shard of the stream of effects.
	read map[string]string
}

func newOracle(s *simulation) *oracle {
	return &oracle{simulation: s, chronicles: map[string]*chronicle{}, read: map[string]string{}}
}

func (o *oracle) fail(format string, args ...any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failLocked(format, args...)
}

func (o *oracle) failLocked(format string, args ...any) {
	if o.err == nil {
		o.err = fmt.Errorf(format, args...)
	}
}

func (o *oracle) failed() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// of returns a chronicle. The caller holds the lock.
func (o *oracle) of(key string) *chronicle {
	c := o.chronicles[key]
	if c == nil {
		c = &chronicle{reached: map[int]int64{}}
		o.chronicles[key] = c
	}
	return c
}

// record records a report to a projection.
func (o *oracle) record(g int, k kind, pid string, what report) {
	o.mu.Lock()
	defer o.mu.Unlock()
	c := o.of(effectKey(g, k, pid))
	c.entries = append(c.entries, what)
}

// failure records that a handler fails.
func (o *oracle) failure(g int, k kind, pid string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.of(effectKey(g, k, pid)).failures++
	o.sum.failures++
}

// stuck checks that a persistence id may be stuck.
func (o *oracle) stuck(g int, k kind, id *stored, reason string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.sum.stuck++
	if c := o.of(effectKey(g, k, id.pid)); c.failures < o.groups[g].attempts {
		o.failLocked("%s is stuck, but its handler has failed %d times: %s", effectKey(g, k, id.pid), c.failures, reason)
	}
}

// row is the row of a projection and a persistence id.
type row struct {
	seq            int64
	writer, reason string
	stuck, claimed bool
}

func (s *simulation) row(name, pid string) row {
	out, err := s.table.GetItem(context.Background(), &dynamodb.GetItemInput{
		TableName: aws.String(projectionsTable), ConsistentRead: aws.Bool(true),
		Key: map[string]types.AttributeValue{"par": text("journal\x00" + name + "\x00" + pid)},
	})
	if err != nil {
		s.oracle.fail("%v", err)
		return row{}
	}
	r := row{seq: numberOf(out.Item["seq"])}
	if writer, ok := out.Item["writer"].(*types.AttributeValueMemberS); ok {
		r.writer = writer.Value
	}
	if reason, ok := out.Item["reason"].(*types.AttributeValueMemberS); ok {
		r.reason = reason.Value
	}
	due, ok := out.Item["due"].(*types.AttributeValueMemberN)
	r.stuck = ok && due.Value == "9007199254740991" // it is never due
	_, r.claimed = out.Item["claim"]
	return r
}

// collect reads the effects that were written since its last call.
func (o *oracle) collect() {
	ctx := context.Background()
	description, err := o.table.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(effectsTable)})
	if err != nil {
		o.fail("%v", err)
		return
	}
	in := &dynamodbstreams.DescribeStreamInput{StreamArn: description.Table.LatestStreamArn}
	for {
		out, err := o.records.DescribeStream(ctx, in)
		if err != nil {
			o.fail("%v", err)
			return
		}
		for _, shard := range out.StreamDescription.Shards { // parents before their children
			if err := o.collectShard(ctx, in.StreamArn, *shard.ShardId); err != nil {
				o.fail("%v", err)
				return
			}
		}
		in.ExclusiveStartShardId = out.StreamDescription.LastEvaluatedShardId
		if in.ExclusiveStartShardId == nil {
			return
		}
	}
}

func (o *oracle) collectShard(ctx context.Context, arn *string, shard string) error {
	in := &dynamodbstreams.GetShardIteratorInput{
		StreamArn: arn, ShardId: &shard, ShardIteratorType: streamtypes.ShardIteratorTypeTrimHorizon,
	}
	if last := o.read[shard]; last != "" {
		in.ShardIteratorType, in.SequenceNumber = streamtypes.ShardIteratorTypeAfterSequenceNumber, &last
	}
	out, err := o.records.GetShardIterator(ctx, in)
	if trimmed := new(streamtypes.TrimmedDataAccessException); errors.As(err, &trimmed) {
		// Its records were all read.
		in.ShardIteratorType, in.SequenceNumber = streamtypes.ShardIteratorTypeTrimHorizon, nil
		out, err = o.records.GetShardIterator(ctx, in)
	}
	if err != nil {
		return err
	}
	for iterator := out.ShardIterator; iterator != nil; {
		out, err := o.records.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: iterator})
		if err != nil {
			return err
		}
		for i := range out.Records {
			o.effect(&out.Records[i])
			o.read[shard] = *out.Records[i].Dynamodb.SequenceNumber
		}
		if len(out.Records) == 0 {
			return nil
		}
		iterator = out.NextShardIterator
	}
	return nil
}

func (o *oracle) effect(r *streamtypes.Record) {
	image := r.Dynamodb.NewImage
	number := func(name string) int64 {
		n := int64(0)
		if _, err := fmt.Sscan(image[name].(*streamtypes.AttributeValueMemberN).Value, &n); err != nil {
			panic(err)
		}
		return n
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	c := o.of(image["id"].(*streamtypes.AttributeValueMemberS).Value)
	c.entries = append(c.entries, report{
		tellingOf(number("what")), image["told"].(*streamtypes.AttributeValueMemberS).Value, number("first"), number("last"),
	})
}

// describe returns the last entries of a chronicle.
func (c *chronicle) describe() string {
	var b strings.Builder
	for _, e := range c.entries[max(0, len(c.entries)-50):] {
		fmt.Fprintf(&b, "%s %q %d-%d, ", []string{"event", "gap", "purge"}[e.what], e.text, e.first, e.last)
	}
	return b.String()
}
