package jvm

import (
	"context"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// Replay replays up to most events from number from to number to, and returns the highest number.
// It returns the events that a persistent actor receives: without incomplete atomic writes, and
// without the events that the replay filter drops.
func (p *Plugin) Replay(ctx context.Context, pid string, from, to, most int64) ([]Event, int64, error) {
	high, err := p.Highest(ctx, pid)
	if err != nil {
		return nil, 0, err
	}
	to = min(to, high)
	if to <= 0 || from > to {
		return nil, high, nil
	}
	low, err := p.LowMark(ctx, pid)
	if err != nil {
		return nil, 0, err
	}
	var items []item
	for start := max(from, low); start <= to && int64(len(items)) < most; start += block - start%block {
		page, err := p.slots(ctx, pid, start, min(to, start+block-1-start%block))
		if err != nil {
			return nil, 0, err
		}
		items = append(items, page...)
	}
	items = items[:min(int64(len(items)), most)]
	var events []Event
	for _, i := range completeOnly(items) {
		e, err := eventOf(i)
		if err != nil {
			return nil, 0, err
		}
		events = append(events, e)
	}
	return filtered(events), high, nil
}

// slots returns the items with numbers of one partition.
func (p *Plugin) slots(ctx context.Context, pid string, first, last int64) ([]item, error) {
	return p.query(ctx, &dynamodb.QueryInput{
		TableName:              &p.journalTable,
		KeyConditionExpression: aws.String("par = :par and num between :first and :last"),
		ExpressionAttributeValues: item{
			":par": text(p.partition(pid, first/block)), ":first": number(first % block), ":last": number(last % block),
		},
		ConsistentRead: aws.Bool(true),
	})
}

// completeOnly leaves out the members of incomplete atomic writes. It uses only `idx` and `cnt`, in
// one pass: an item without them ends the previous atomic write, and one whose atomic write ends
// elsewhere starts another one.
func completeOnly(items []item) []item {
	const none = -1
	var all, pending []item
	end := int64(none)
	for _, i := range items {
		count, member, _ := numberOf(i, "cnt")
		if !member {
			all = append(all, i)
			pending, end = nil, none
			continue
		}
		index, _, _ := numberOf(i, "idx")
		seq := numberByKey(i)
		last := seq - index + count
		switch {
		case seq == end && last == end:
			if pending = append(pending, i); int64(len(pending)) == count+1 {
				all = append(all, pending...)
			}
			pending, end = nil, none
		case end != none && seq < end && last == end:
			pending = append(pending, i)
		default:
			pending, end = []item{i}, last
		}
	}
	return all
}

// numberByKey returns the sequence number in the key of an item.
func numberByKey(i item) int64 {
	par := textOf(i, "par")
	partition, _ := strconv.ParseInt(par[strings.LastIndexByte(par, '-')+1:], 10, 64)
	num, _, _ := numberOf(i, "num")
	return partition*block + num
}
