package bench

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"golang.org/x/sync/errgroup"

	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/projection"
)

// turnsOfRound is the number of turns of each candidate in a round. In each turn, a candidate
// handles the same new events.
const turnsOfRound = 3

// turn is one turn of a candidate: it handles the events that were just written.
type turn func(ctx context.Context) error

// takeTurns repeatedly writes n new events and lets both candidates handle them one after the
// other. The candidates alternate in being first. It reports the events per second and the
// processor time per event.
func (s *session) takeTurns(ctx context.Context, name string, n int, write, ours, base turn) error {
	var rates, cpu [2][]float64
	for i := range (warmUps + s.rounds) * turnsOfRound {
		if err := write(ctx); err != nil {
			return err
		}
		for j := range 2 {
			which := (i + j) % 2 //nolint:mnd // ours and the base
			used, start := processorTime(), time.Now()
			if err := []turn{ours, base}[which](ctx); err != nil {
				return err
			}
			if i < warmUps*turnsOfRound {
				continue
			}
			rates[which] = append(rates[which], float64(n)/time.Since(start).Seconds())
			cpu[which] = append(cpu[which], float64((processorTime()-used).Microseconds())/float64(n))
		}
		if (i+1)%turnsOfRound == 0 {
			s.step(2) //nolint:mnd // ours and the base
		}
	}
	return errors.Join(
		s.reportPairs(name+"/events", perSecond, rates[0], rates[1]),
		s.reportPairs(name+"/cpu", microsecond, cpu[0], cpu[1]))
}

// speed is the size of a turn: the number of persistence ids, and the number of new events of each.
type speed struct{ ids, events int }

// speeds returns the sizes for at-least-once handling.
func speeds(o Options) []speed {
	all := []speed{{1000, 1}, {200, 10}, {64, 50}, {16, 200}}
	if !o.Quick {
		return all
	}
	for i := range all {
		all[i].ids /= 4
	}
	return all
}

// handlingSpeed compares a projection whose handler does nothing with a bare loop of GetRecords
// over the same stream.
func handlingSpeed(ctx context.Context, s *session) (err error) {
	d, err := s.openStreamed(ctx, "speed", types.StreamViewTypeNewImage)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.close(ctx)) }()
	f, err := d.follow(ctx, d.following("speed"), func(f *following) projection.Projection {
		return projection.AtLeastOnce("nothing", projection.HandlerFunc(f.handle))
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.end()) }()
	loop := &recordLoop{client: dynamodbstreams.NewFromConfig(bareConfig(d.config))}
	for _, size := range speeds(s.options) {
		writers, err := recoverWriters(ctx, d.writer, fmt.Sprintf("%s-%d", s.workload, size.events), size.ids)
		if err != nil {
			return err
		}
		if err := errors.Join(appendEach(ctx, writers, 1), f.waitUntilIdle(ctx)); err != nil {
			return err
		}
		if err := loop.start(ctx, d.config.JournalTable); err != nil {
			return err
		}
		n := size.ids * size.events
		write := func(ctx context.Context) error {
			f.gate.shut()
			return appendEach(ctx, writers, size.events)
		}
		if err := s.takeTurns(ctx, strconv.Itoa(size.events), n, write, f.turn(n), func(ctx context.Context) error {
			return loop.read(ctx, n)
		}); err != nil {
			return err
		}
	}
	return nil
}

// turn returns a turn of the projections. It lasts from the opening of the gate to the stream until
// the offsets after n events are stored.
func (f *following) turn(n int) turn {
	return func(ctx context.Context) error {
		want := f.handled.Load() + int64(n)
		f.gate.open()
		err := f.waitUntilHandled(ctx, want)
		f.gate.shut()
		return err
	}
}

// recordLoop reads all shards of a stream with the bare SDK.
type recordLoop struct {
	client    *dynamodbstreams.Client
	iterators []*string
}

// start positions the loop at the current end of a table's stream.
func (l *recordLoop) start(ctx context.Context, table string) error {
	streams, err := l.client.ListStreams(ctx, &dynamodbstreams.ListStreamsInput{TableName: &table})
	if err != nil {
		return fmt.Errorf("ListStreams: %w", err)
	}
	if len(streams.Streams) == 0 {
		return fmt.Errorf("table %q has no stream", table)
	}
	arn := streams.Streams[0].StreamArn
	out, err := l.client.DescribeStream(ctx, &dynamodbstreams.DescribeStreamInput{StreamArn: arn})
	if err != nil {
		return fmt.Errorf("DescribeStream: %w", err)
	}
	l.iterators = nil
	for _, shard := range out.StreamDescription.Shards {
		got, err := l.client.GetShardIterator(ctx, &dynamodbstreams.GetShardIteratorInput{
			StreamArn: arn, ShardId: shard.ShardId, ShardIteratorType: streamtypes.ShardIteratorTypeLatest,
		})
		if err != nil {
			return fmt.Errorf("GetShardIterator: %w", err)
		}
		l.iterators = append(l.iterators, got.ShardIterator)
	}
	return nil
}

// read reads the records of n events.
func (l *recordLoop) read(ctx context.Context, n int) error {
	for found := 0; found < n; {
		for i, iterator := range l.iterators {
			if iterator == nil {
				continue
			}
			out, err := l.client.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: iterator})
			if err != nil {
				return fmt.Errorf("GetRecords: %w", err)
			}
			for j := range out.Records {
				if ofEvent(&out.Records[j]) {
					found++
				}
			}
			l.iterators[i] = out.NextShardIterator
		}
	}
	return nil
}

// ofEvent reports whether a record is the insertion of an event.
func ofEvent(record *streamtypes.Record) bool {
	par, ok := record.Dynamodb.Keys[layout.AttrPar].(*streamtypes.AttributeValueMemberS)
	return ok && record.EventName == streamtypes.OperationTypeInsert && strings.Contains(par.Value, "-P-")
}

// onceSpeed compares a transactional projection with bare transactions of the same items. Both run
// the same number of transactions concurrently.
func onceSpeed(ctx context.Context, s *session) (err error) {
	d, err := s.openStreamed(ctx, "once", types.StreamViewTypeNewImage)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.close(ctx)) }()
	config := d.following("once")
	config.Concurrency = transactions
	f, err := d.follow(ctx, config, func(f *following) projection.Projection {
		return projection.Transactional("effect", f.effect(s.tables.bare))
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.end()) }()
	size := speed{ids: 64, events: 10} //nolint:mnd // four ids for each caller
	writers, err := recoverWriters(ctx, d.writer, s.workload, size.ids)
	if err != nil {
		return err
	}
	if err := errors.Join(appendEach(ctx, writers, 1), f.waitUntilIdle(ctx)); err != nil {
		return err
	}
	n, from := size.ids*size.events, 0
	return s.takeTurns(ctx, "transactions", n, func(ctx context.Context) error {
		f.gate.shut()
		return appendEach(ctx, writers, size.events)
	}, f.turn(n), func(ctx context.Context) error {
		from += size.events
		return s.transact(ctx, names("bare-"+s.workload, size.ids), from-size.events, size.events)
	})
}

// transactions is the number of concurrent transactions. It equals the default number of concurrent
// handlers of a group.
const transactions = 16

// transact writes n effects of each id one after the other. Each transaction also moves the offset,
// which starts at from, as a projection does.
func (s *session) transact(ctx context.Context, pids []string, from, n int) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(transactions)
	for _, pid := range pids {
		group.Go(func() error {
			for seq := from + 1; seq <= from+n; seq++ {
				_, err := s.bare.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{
					TransactItems: []types.TransactWriteItem{
						offsetAfter(s.tables.bare, pid, seq-1), effectOf(s.tables.bare, pid, int64(seq)),
					},
				})
				if err != nil {
					return fmt.Errorf("TransactWriteItems: %w", err)
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// offsetAfter moves the offset of a persistence id from seq to the next number, on condition that
// it is seq.
func offsetAfter(table, pid string, seq int) types.TransactWriteItem {
	number := func(n int) types.AttributeValue { return &types.AttributeValueMemberN{Value: strconv.Itoa(n)} }
	condition := "seq = :oldseq AND writer = :oldwriter"
	values := layout.Attributes{
		":seq": number(seq + 1), ":oldseq": number(seq),
		":writer": &types.AttributeValueMemberS{Value: loader}, ":oldwriter": &types.AttributeValueMemberS{Value: loader},
	}
	if seq == 0 {
		condition = "attribute_not_exists(seq)"
		delete(values, ":oldseq")
		delete(values, ":oldwriter")
	}
	return types.TransactWriteItem{Update: &types.Update{
		TableName: &table, ConditionExpression: &condition, ExpressionAttributeValues: values,
		Key: layout.Attributes{
			layout.AttrPar: &types.AttributeValueMemberS{Value: "offset-" + pid}, layout.AttrNum: number(0),
		},
		UpdateExpression: aws.String("SET seq = :seq, writer = :writer"),
	}}
}
