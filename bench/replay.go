package bench

import (
	"context"
	"fmt"
	"strconv"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// replays measure one long entity alone, and 64 shorter entities at the same time.
func replays() []workload {
	const two, three = 2, 3
	return []workload{
		{"replay-10000", two, func(ctx context.Context, s *session) error { return s.replay(ctx, 1, 10_000) }},
		{"replay-64x1000", three, func(ctx context.Context, s *session) error { return s.replay(ctx, 64, 1000) }},
	}
}

// replay compares reading all events with the Queries of the same partitions, one after the other
// for each entity. With several entities there are two bases: the same number of callers of the
// bare SDK, and a single caller, which queries one entity after the other.
func (s *session) replay(ctx context.Context, entities int, events int64) error {
	pids := names(s.workload, entities)
	if err := s.load(ctx, pids, events); err != nil {
		return fmt.Errorf("store the events: %w", err)
	}
	ours := &candidate{name: "journal", do: func(ctx context.Context, caller int) (int, error) {
		n := 0
		for _, err := range s.journal.Events(ctx, pids[caller], dynajournal.Range{}) {
			if err != nil {
				return n, err
			}
			n++
		}
		return n, expectEvents(n, int(events))
	}}
	base := &candidate{name: "Query", do: func(ctx context.Context, caller int) (int, error) {
		n, _, err := s.query(ctx, pids[caller], 1, events)
		if err != nil {
			return n, err
		}
		return n, expectEvents(n, int(events))
	}}
	var one sync.Mutex
	sequential := &candidate{name: "sequential Query", do: func(ctx context.Context, caller int) (int, error) {
		one.Lock()
		defer one.Unlock()
		return base.do(ctx, caller)
	}}
	candidates := []*candidate{ours, base}
	if entities > 1 {
		candidates = append(candidates, sequential)
	}
	if err := s.compare(ctx, entities, 0, candidates...); err != nil {
		return err
	}
	if err := s.reportRates(ours, base); err != nil {
		return err
	}
	if entities > 1 {
		if err := s.report("events-sequential", perSecond, median(ours.rates), median(sequential.rates)); err != nil {
			return err
		}
	}
	return s.reportCPU(ours, base)
}

func expectEvents(got, want int) error {
	if got != want {
		return fmt.Errorf("%d events were read, %d are stored", got, want)
	}
	return nil
}

// query reads events of an entity with the bare SDK, partition by partition, one after the other.
// It returns the number of items, and the cost that DynamoDB reports.
func (s *session) query(ctx context.Context, pid string, from, to int64) (items int, cost dynajournal.Cost, err error) {
	for p := from / layout.PartitionSize; p <= to/layout.PartitionSize; p++ {
		number := max(from-p*layout.PartitionSize, 0)
		n, c, err := s.queryKey(ctx, s.tables.config.JournalTable, s.tables.keys.Partition(pid, p), layout.AttrNum,
			number)
		items, cost = items+n, cost.Add(c)
		if err != nil {
			return items, cost, err
		}
	}
	return items, cost, nil
}

// queryKey reads all items of a key for which the named attribute is at least number.
func (s *session) queryKey(
	ctx context.Context, table, key, attribute string, number int64,
) (items int, cost dynajournal.Cost, err error) {
	pages := dynamodb.NewQueryPaginator(s.bare, &dynamodb.QueryInput{
		TableName: &table, ConsistentRead: aws.Bool(true),
		KeyConditionExpression: aws.String(layout.AttrPar + " = :p AND " + attribute + " >= :n"),
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":p": &types.AttributeValueMemberS{Value: key},
			":n": &types.AttributeValueMemberN{Value: strconv.FormatInt(number, 10)},
		},
		ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return items, cost, fmt.Errorf("query: %w", err)
		}
		items += len(page.Items)
		cost.Requests++
		if page.ConsumedCapacity != nil {
			cost.ReadUnits += aws.ToFloat64(page.ConsumedCapacity.CapacityUnits)
		}
	}
	return items, cost, nil
}
