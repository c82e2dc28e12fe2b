package legacy

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// readMarks reads all marks of a kind. It returns their values by shard, with -1 for a missing
// mark.
func (s *hashKey) readMarks(ctx context.Context, m *dynamo.Meter, kind, pid string) ([]int64, error) {
	keys, values := make([]dynamo.Attributes, s.shards), make([]int64, s.shards)
	shardOf := make(map[string]int, s.shards)
	for shard := range keys {
		keys[shard], values[shard] = s.markKey(kind, pid, int64(shard)), -1
		shardOf[s.key(kind, pid, int64(shard))] = shard
	}
	items, err := s.client.BatchGet(ctx, m, s.table, keys)
	if err != nil {
		return nil, fmt.Errorf("read the marks: %w", err)
	}
	for _, item := range items {
		key := keyOf(item)
		if values[shardOf[key]], err = sequenceOf(key, item); err != nil {
			return nil, err
		}
	}
	return values, nil
}

func (s *hashKey) marks(ctx context.Context, m *dynamo.Meter, pid string) (low, high []int64, err error) {
	group, ctx := errgroup.WithContext(ctx)
	for kind, values := range map[string]*[]int64{lowKind: &low, highKind: &high} {
		group.Go(func() error {
			all, err := s.readMarks(ctx, m, kind, pid)
			*values = slices.DeleteFunc(all, func(v int64) bool { return v < 0 })
			slices.Sort(*values)
			return err
		})
	}
	err = group.Wait()
	return low, high, err
}

func (s *hashKey) bounds(ctx context.Context, m *dynamo.Meter, pid string) (dynajournal.Bounds, error) {
	low, high, err := s.marks(ctx, m, pid)
	if err != nil {
		return dynajournal.Bounds{}, err
	}
	var b dynajournal.Bounds
	if len(low) > 0 {
		b.Lowest = low[0]
	}
	if len(high) > 0 {
		b.Highest = high[len(high)-1]
	}
	b.Highest, err = s.beyond(ctx, m, pid, b.Highest)
	return b, err
}

func (s *hashKey) highest(ctx context.Context, m *dynamo.Meter, pid string) (int64, error) {
	high, err := s.readMarks(ctx, m, highKind, pid)
	if err != nil {
		return 0, err
	}
	return s.beyond(ctx, m, pid, max(0, slices.Max(high)))
}

// beyond returns the last number of the consecutive events after a high mark, whose writer has not
// put their mark.
func (s *hashKey) beyond(ctx context.Context, m *dynamo.Meter, pid string, mark int64) (int64, error) {
	for seq := mark; seq < dynajournal.MaxSequenceNumber; seq++ {
		item, err := s.client.Get(ctx, m, s.table, s.eventKey(pid, seq+1))
		if err != nil {
			return 0, fmt.Errorf("read %d: %w", seq+1, err)
		}
		if item == nil {
			return seq, nil
		}
	}
	return dynajournal.MaxSequenceNumber, nil
}

// markMovesUp is the condition on which a mark is put.
const markMovesUp = "attribute_not_exists(" + attrSequence + ") OR " + attrSequence + " < :v"

func (s *hashKey) putMark(ctx context.Context, m *dynamo.Meter, kind, pid string, seq int64) error {
	item := s.markKey(kind, pid, seq)
	item[attrSequence] = number(seq)
	values := dynamo.Attributes{":v": item[attrSequence]}
	return s.client.Put(ctx, m, dynamo.Put{Table: s.table, Item: item, Condition: markMovesUp, Values: values})
}

// raise puts a mark, unless the stored one is as high.
func (s *hashKey) raise(ctx context.Context, m *dynamo.Meter, kind, pid string, seq int64) error {
	err := s.putMark(ctx, m, kind, pid, seq)
	if err != nil && !errors.Is(err, dynamo.ErrConditionFailed) {
		return fmt.Errorf("put the mark %s of %d: %w", kind, seq, err)
	}
	return nil
}

// lowMark returns the low mark of the shard of a number, or 0 without one.
func (s *hashKey) lowMark(ctx context.Context, m *dynamo.Meter, pid string, seq int64) (int64, error) {
	item, err := s.client.Get(ctx, m, s.table, s.markKey(lowKind, pid, seq))
	if err != nil {
		return 0, fmt.Errorf("read the low mark of %d: %w", seq, err)
	}
	if item == nil {
		return 0, nil
	}
	return sequenceOf(keyOf(item), item)
}
