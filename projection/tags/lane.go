package tags

import (
	"context"
	"errors"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/projection/internal/engine"
)

const (
	// tagWindow is the minimum number of last entries of a lane that a process remembers.
	tagWindow = 100
	// maxOpenLanes is the maximum number of lanes whose end a process remembers. A lane takes about
	// 20 KB.
	maxOpenLanes = 1000
)

// tagLane is the end of a lane, as a process knows it. Entries are added one at a time, each at the
// number after an existing entry, on condition that the number is free. So a lane has no gap, and
// no entry appears before one that a reader has seen.
type tagLane struct {
	par string
	// turn is a semaphore of size 1 that protects the fields below.
	turn chan struct{}
	// next is the number after the last known entry. It is 0 if the lane was not read yet.
	next int64
	// others reports whether another process has added entries since the last one of this process.
	others bool
	// recent and older have the last entries. An event whose entry is there is not added again.
	recent, older map[tagRef]bool
}

// lane returns the known end of a lane.
func (x *Index) lane(par string) *tagLane {
	x.mu.Lock()
	defer x.mu.Unlock()
	if lane, ok := x.open[par]; ok {
		return lane
	}
	for other, lane := range x.open {
		if len(x.open) < maxOpenLanes {
			break
		}
		if len(lane.turn) == 0 { // a call that waits for it keeps the lane
			delete(x.open, other)
		}
	}
	lane := &tagLane{par: par, turn: make(chan struct{}, 1)}
	x.open[par] = lane
	return lane
}

// add adds an entry for an event, unless it is among the last entries of its lane. If the outcome
// of a put is unknown, the next call finds the number taken by that entry.
func (x *Index) add(ctx context.Context, tag string, ref tagRef) error {
	lane := x.lane(lanePar(tag, x.laneOf(ref.pid)))
	select {
	case lane.turn <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-lane.turn }()
	if lane.next == 0 {
		if err := x.openLane(ctx, lane); err != nil {
			return err
		}
	} else if lane.others { // a put would find the number taken, and cost a write unit
		if err := x.catchUp(ctx, lane); err != nil {
			return err
		}
	}
	for {
		if lane.knows(ref) {
			return nil
		}
		taken, err := x.put(ctx, lane.par, tagEntry{ref, lane.next})
		if err != nil {
			return err
		}
		if !taken {
			lane.saw(tagEntry{ref, lane.next})
			return nil
		}
		if err := x.catchUp(ctx, lane); err != nil {
			return err
		}
	}
}

// put puts an entry, and reports whether its number is taken by another one.
func (x *Index) put(ctx context.Context, par string, e tagEntry) (taken bool, err error) {
	put := dynamo.Put{Table: x.table, Item: e.item(par)}
	put.Condition = "attribute_not_exists(" + engine.AttrPar + ")"
	err = x.operate(ctx, func(ctx context.Context, client *dynamo.Client) error {
		err := client.Put(ctx, &dynamo.Meter{}, put)
		if errors.Is(err, dynamo.ErrConditionFailed) {
			taken, err = true, nil
		}
		return err
	})
	return taken, err
}

// openLane reads the last entries of a lane.
func (x *Index) openLane(ctx context.Context, lane *tagLane) error {
	in := laneQuery(lane.par, 1, true)
	in.ScanIndexForward, in.Limit = aws.Bool(false), aws.Int32(tagWindow)
	page, err := x.query(ctx, in)
	if err != nil {
		return err
	}
	lane.next = 1
	for _, e := range slices.Backward(page.entries) {
		lane.saw(e)
	}
	return nil
}

// catchUp reads the entries after the last known one, up to the first missing number.
func (x *Index) catchUp(ctx context.Context, lane *tagLane) error {
	before := lane.next
	for more := true; more; {
		page, err := x.query(ctx, laneQuery(lane.par, lane.next, true))
		if err != nil {
			return err
		}
		more = page.more
		for _, e := range page.entries {
			if e.num != lane.next {
				more = false // a read of several items is not of one moment
				break
			}
			lane.saw(e)
		}
	}
	lane.others = lane.next > before
	return nil
}

// saw records the next entry of the lane.
func (l *tagLane) saw(e tagEntry) {
	if len(l.recent) >= tagWindow || l.recent == nil {
		l.recent, l.older = map[tagRef]bool{}, l.recent
	}
	l.recent[e.tagRef] = true
	l.next = e.num + 1
}

// knows reports whether an event is among the last entries.
func (l *tagLane) knows(ref tagRef) bool { return l.recent[ref] || l.older[ref] }

// laneQuery returns a request for the entries of a lane from a number on.
func laneQuery(par string, from int64, consistent bool) *dynamodb.QueryInput {
	return &dynamodb.QueryInput{
		KeyConditionExpression:    aws.String(engine.AttrPar + " = :par AND " + attrNum + " >= :from"),
		ExpressionAttributeValues: dynamo.Attributes{":par": engine.Text(par), ":from": engine.Number(from)},
		ConsistentRead:            &consistent, Limit: aws.Int32(tagPage),
	}
}

// lanePage is a page of entries, in the order of the request. more reports whether more entries may
// follow.
type lanePage struct {
	entries []tagEntry
	more    bool
}

// query reads a page of entries.
func (x *Index) query(ctx context.Context, in *dynamodb.QueryInput) (lanePage, error) {
	in.TableName = &x.table
	var found dynamo.Page
	err := x.operate(ctx, func(ctx context.Context, client *dynamo.Client) error {
		var err error
		found, err = client.Query(ctx, &dynamo.Meter{}, in)
		return err
	})
	if err != nil {
		return lanePage{}, err
	}
	page := lanePage{more: found.Next != nil}
	for _, item := range found.Items {
		e, err := x.decodeEntry(item)
		if err != nil {
			return lanePage{}, err
		}
		page.entries = append(page.entries, e)
	}
	return page, nil
}
