package jvm

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Marks are the numbers of all existing low marks and high marks of a persistence id, in ascending
// order.
type Marks struct{ Low, High []int64 }

// ReadMarks reads the marks of all shards.
func (p *Plugin) ReadMarks(ctx context.Context, pid string) (Marks, error) {
	low, err := p.marks(ctx, lowMark, pid)
	if err != nil {
		return Marks{}, err
	}
	high, err := p.marks(ctx, highMark, pid)
	return Marks{Low: low, High: high}, err
}

func (p *Plugin) marks(ctx context.Context, kind markKind, pid string) ([]int64, error) {
	var keys []item
	for shard := range p.shards {
		keys = append(keys, p.markKey(kind, pid, shard))
	}
	var all []int64
	for chunk := range slices.Chunk(keys, mostGet) {
		for ask := chunk; len(ask) > 0; {
			out, err := p.client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{
				RequestItems: map[string]types.KeysAndAttributes{
					p.journalTable: {Keys: ask, ConsistentRead: aws.Bool(true)},
				},
			})
			if err != nil {
				return nil, fmt.Errorf("read the %s of %q: %w", kind, pid, err)
			}
			for _, i := range out.Responses[p.journalTable] {
				seq, ok, err := numberOf(i, "seq")
				if err != nil {
					return nil, err
				}
				if ok {
					all = append(all, seq)
				}
			}
			ask = out.UnprocessedKeys[p.journalTable].Keys
		}
	}
	slices.Sort(all)
	return all, nil
}

// highest returns the highest of marks, or 0.
func highest(marks []int64) int64 {
	if len(marks) == 0 {
		return 0
	}
	return max(marks[len(marks)-1], 0)
}

// LowMark returns the first number that is not deleted as the JVM sees it, or 0: the highest `seq`
// of all shards. It ignores other attributes of the marks.
func (p *Plugin) LowMark(ctx context.Context, pid string) (int64, error) {
	marks, err := p.marks(ctx, lowMark, pid)
	return highest(marks), err
}

// Highest returns the highest number that the JVM finds: the number of the last item in the
// partition that the highest high mark names, whatever that item is. If the partition is empty, it
// is the number before the low mark, or the high mark itself, whichever is higher.
func (p *Plugin) Highest(ctx context.Context, pid string) (int64, error) {
	marks, err := p.marks(ctx, highMark, pid)
	if err != nil {
		return 0, err
	}
	high := highest(marks)
	items, err := p.query(ctx, &dynamodb.QueryInput{
		TableName:                 &p.journalTable,
		KeyConditionExpression:    aws.String("par = :par"),
		ExpressionAttributeValues: item{":par": text(p.partition(pid, high/block))},
		ProjectionExpression:      aws.String("num"),
		ConsistentRead:            aws.Bool(true),
	})
	if err != nil {
		return 0, err
	}
	if len(items) == 0 {
		low, err := p.LowMark(ctx, pid)
		return max(high, low-1), err
	}
	last, _, err := numberOf(items[len(items)-1], "num")
	return high + last, err
}

// query returns the items of all pages.
func (p *Plugin) query(ctx context.Context, in *dynamodb.QueryInput) ([]item, error) {
	var items []item
	for {
		out, err := p.client.Query(ctx, in)
		if err != nil {
			return nil, fmt.Errorf("query %s: %w", *in.TableName, err)
		}
		items = append(items, out.Items...)
		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(in.ExclusiveStartKey) == 0 {
			return items, nil
		}
	}
}
