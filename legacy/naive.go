package legacy

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// naive is the layout with one item for each event. Writers in Go maintain these invariants:
//
//   - The highest number is the number of the last item, and is stored nowhere else. So the last
//     item is never removed: it is marked if the layout has marks, otherwise its removal is
//     refused.
//   - An event is put on the condition that no item has its number. A removed number is free again.
//     So a writer first checks that no item has its number or a higher one: a number is removed
//     only while there is such an item. Between the check and the put another writer could write
//     that number and later ones, and remove that number. The layout can't prevent that.
type naive struct {
	client      *dynamo.Client
	table       string
	hash        string // the name of the hash key
	storesMarks bool   // the layout has an attribute for marks
	parallelism int
}

func (s *naive) eventKey(pid string, seq int64) dynamo.Attributes {
	return dynamo.Attributes{s.hash: text(pid), attrSequence: number(seq)}
}

// query returns a query for the items from lo to hi.
func (s *naive) query(pid string, lo, hi int64) *dynamodb.QueryInput {
	return &dynamodb.QueryInput{
		TableName:                 &s.table,
		ConsistentRead:            aws.Bool(true),
		KeyConditionExpression:    aws.String(s.hash + " = :id AND " + attrSequence + " BETWEEN :lo AND :hi"),
		ExpressionAttributeValues: dynamo.Attributes{":id": text(pid), ":lo": number(lo), ":hi": number(hi)},
	}
}

// end returns the number of the first or the last item of an id at or after from, or 0 without such
// an item.
func (s *naive) end(ctx context.Context, m *dynamo.Meter, pid string, from int64, last bool) (int64, error) {
	in := s.query(pid, from, unlimited)
	in.Limit, in.ScanIndexForward = aws.Int32(1), aws.Bool(!last)
	page, err := s.client.Query(ctx, m, in)
	if err != nil || len(page.Items) == 0 {
		return 0, err
	}
	return sequenceOf(pid, page.Items[0])
}

func (s *naive) highest(ctx context.Context, m *dynamo.Meter, pid string) (int64, error) {
	n, err := s.end(ctx, m, pid, 1, true)
	if err != nil {
		return 0, fmt.Errorf("read the last event: %w", err)
	}
	return n, nil
}

func (s *naive) bounds(ctx context.Context, m *dynamo.Meter, pid string) (dynajournal.Bounds, error) {
	highest, err := s.highest(ctx, m, pid)
	if err != nil || highest <= 1 {
		return dynajournal.Bounds{Highest: highest}, err
	}
	lowest, err := s.end(ctx, m, pid, 1, false)
	if err != nil {
		return dynajournal.Bounds{}, fmt.Errorf("read the first event: %w", err)
	}
	if lowest == 1 {
		lowest = 0
	}
	return dynajournal.Bounds{Lowest: lowest, Highest: highest}, nil
}

// takeOver continues after the snapshot. The number of the snapshot takes effect with the first
// event that is written.
func (s *naive) takeOver(ctx context.Context, m *dynamo.Meter, pid string, snapshot int64) (int64, error) {
	highest, err := s.highest(ctx, m, pid)
	return max(highest, snapshot), err
}

func (s *naive) put(ctx context.Context, m *dynamo.Meter, e *newEvent) error {
	beyond, err := s.end(ctx, m, e.pid, e.seq, false)
	switch {
	case err != nil:
		return fmt.Errorf("check for items after %d: %w", e.seq, err)
	case beyond != 0:
		return errTaken
	}
	_, err = putEvent(ctx, m, s.client, s.table, s.hash, e)
	return err
}

func (s *naive) items(
	ctx context.Context, m *dynamo.Meter, pid string, from, to, wanted int64, emit func(int64, dynamo.Attributes) error,
) error {
	if from > to {
		return nil
	}
	in := s.query(pid, from, to)
	if wanted < maxPage {
		in.Limit = aws.Int32(int32(wanted))
	}
	for {
		page, err := s.client.Query(ctx, m, in)
		if err != nil {
			return fmt.Errorf("read from %d to %d: %w", from, to, err)
		}
		for _, item := range page.Items {
			seq, err := sequenceOf(pid, item)
			if err == nil {
				err = emit(seq, item)
			}
			if err != nil {
				return err
			}
		}
		if page.Next == nil {
			return nil
		}
		in.ExclusiveStartKey = page.Next
	}
}

// maxPage is larger than the number of items in a usual page of 1 MB.
const maxPage = 1000

func (s *naive) deleteTo(
	ctx context.Context, m *dynamo.Meter, pid string, to, highest int64, mark bool,
) (int64, error) {
	last := false
	if !mark && to == highest && highest > 0 {
		if !s.storesMarks {
			return 0, ErrLastEvent
		}
		to, last = to-1, true
	}
	deleted, err := s.deleteItems(ctx, m, pid, 1, to, mark)
	if err == nil && last {
		var n int64
		n, err = s.deleteItems(ctx, m, pid, highest, highest, true)
		deleted += n
	}
	return deleted, err
}

// deleteItems removes or marks the events from lo to hi, page by page.
func (s *naive) deleteItems(ctx context.Context, m *dynamo.Meter, pid string, lo, hi int64, mark bool) (int64, error) {
	if lo > hi {
		return 0, nil
	}
	deleted, in := int64(0), s.query(pid, lo, hi)
	for {
		page, err := s.client.Query(ctx, m, in)
		if err != nil {
			return deleted, fmt.Errorf("read from %d to %d: %w", lo, hi, err)
		}
		var keys []dynamo.Attributes
		for _, item := range page.Items {
			if !mark || !marked(item) {
				keys = append(keys, dynamo.Attributes{s.hash: item[s.hash], attrSequence: item[attrSequence]})
			}
		}
		n := int64(len(keys))
		if mark {
			n, err = markDeleted(ctx, m, s.client, s.table, keys, s.parallelism)
		} else {
			err = s.client.BatchDelete(ctx, m, s.table, keys, nil)
		}
		if err != nil {
			return deleted, fmt.Errorf("delete events from %d to %d: %w", lo, hi, err)
		}
		deleted += n
		if page.Next == nil {
			return deleted, nil
		}
		in.ExclusiveStartKey = page.Next
	}
}

func (s *naive) marks(context.Context, *dynamo.Meter, string) (low, high []int64, err error) {
	return nil, nil, nil
}

func (s *naive) scan() *dynamodb.ScanInput {
	return &dynamodb.ScanInput{ProjectionExpression: aws.String(s.hash)}
}

func (s *naive) idOf(item dynamo.Attributes) string {
	if id, ok := item[s.hash].(*types.AttributeValueMemberS); ok {
		return id.Value
	}
	return ""
}
