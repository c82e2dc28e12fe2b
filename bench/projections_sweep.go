package bench

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/projection"
)

// sweeps measures a new projection's sweep over persistence ids with one event each, and a second
// sweep that finds nothing new. The base is a consistent Query of each id by the bare SDK, with the
// same concurrency.
func sweeps(ctx context.Context, s *session, n int) (err error) {
	d, err := s.openStreamed(ctx, "sweep", types.StreamViewTypeNewImage)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.close(ctx)) }()
	pids := names("swept", n)
	if err := s.loadFirst(ctx, d.config.JournalTable, pids); err != nil {
		return fmt.Errorf("store %d persistence ids: %w", n, err)
	}
	start := time.Now()
	base, err := s.queryEach(ctx, d.config.JournalTable, pids)
	if err != nil {
		return err
	}
	queried := time.Since(start).Seconds()
	var handled atomic.Int64
	for _, name := range []string{"new", "again"} {
		cost, took, err := d.sweep(ctx, &handled, n)
		if err != nil {
			return err
		}
		if got := handled.Load(); got != int64(n) {
			return fmt.Errorf("%d events were handled, %d are stored", got, n)
		}
		if err := errors.Join(s.report(name+"/time", second, took.Seconds(), queried), s.reportCost(name, cost, base, n)); err != nil {
			return err
		}
	}
	return nil
}

// sweep runs a sweep of n ids, and returns its cost and duration.
func (d *streamed) sweep(
	ctx context.Context, handled *atomic.Int64, n int,
) (cost dynajournal.Cost, took time.Duration, err error) {
	before, start := d.cost(), time.Now()
	config := projection.Config{Name: "sweep", Source: projection.Sweep(projection.SweepOptions{Every: longLease, PerSecond: -1})}
	f, err := d.follow(ctx, config, func(*following) projection.Projection {
		return projection.AtLeastOnce("nothing", projection.HandlerFunc(func(context.Context, dynajournal.Event) error {
			handled.Add(1)
			return nil
		}))
	})
	if err != nil {
		return cost, 0, err
	}
	if err = f.until(ctx, func() bool { return d.cost().Sub(before).Requests >= n }); err == nil {
		err = f.waitUntilIdle(ctx)
	}
	took = time.Unix(0, d.last.Load()).Sub(start)
	return d.cost().Sub(before), took, errors.Join(err, f.end())
}

// idsShards is the number of shards of a new journal's ids index.
const idsShards = 8

// loadFirst stores the first event of each id, which adds the id to the ids index. It is faster
// than a journal.
func (s *session) loadFirst(ctx context.Context, table string, pids []string) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(preparing)
	for start := 0; start < len(pids); start += loadBatch {
		group.Go(func() error {
			var puts []types.WriteRequest
			for _, pid := range pids[start:min(start+loadBatch, len(pids))] {
				event := layout.Event{PersistenceID: pid, SequenceNr: 1, Bytes: payload,
					SerializerID: bytesSerializer, WriterUUID: loader}
				item := s.tables.keys.EncodeEvent(&event)
				maps.Copy(item, s.tables.keys.IDsAttributes(pid, idsShards))
				puts = append(puts, types.WriteRequest{PutRequest: &types.PutRequest{Item: item}})
			}
			return s.putAll(ctx, table, puts)
		})
	}
	return group.Wait()
}

// queryEach queries the first partition of each id consistently, and returns the mean cost of a
// query.
func (s *session) queryEach(ctx context.Context, table string, pids []string) (dynajournal.Cost, error) {
	var halves atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(transactions)
	for _, pid := range pids {
		group.Go(func() error {
			key := s.tables.keys.Event(pid, 1)
			out, err := s.bare.Query(ctx, &dynamodb.QueryInput{
				TableName: &table, ConsistentRead: aws.Bool(true), ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
				KeyConditionExpression:    aws.String(layout.AttrPar + " = :par"),
				ExpressionAttributeValues: layout.Attributes{":par": key.Attributes()[layout.AttrPar]},
			})
			if err != nil {
				return fmt.Errorf("query %q: %w", pid, err)
			}
			halves.Add(int64(2 * aws.ToFloat64(out.ConsumedCapacity.CapacityUnits)))
			return nil
		})
	}
	err := group.Wait()
	return dynajournal.Cost{Requests: 1, ReadUnits: float64(halves.Load()) / 2 / float64(len(pids))}, err
}
