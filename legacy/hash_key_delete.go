package legacy

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// deleteTo deletes in ascending steps, each of which ends before the next starts. A step has at
// most as many numbers as there are shards, so a low mark is replaced only by a number of a later
// step. After a crash the lowest low mark is therefore at most the first number that was not
// deleted, and the next deletion starts there.
func (s *hashKey) deleteTo(ctx context.Context, m *dynamo.Meter, pid string, to, _ int64, mark bool) (int64, error) {
	low, err := s.readMarks(ctx, m, lowKind, pid)
	if err != nil {
		return 0, err
	}
	deleted, step := int64(0), min(s.batch, s.shards)
	for lo := s.firstUndeleted(low); lo <= to; {
		hi := lo + min(step-1, to-lo)
		n, err := s.deleteStep(ctx, m, pid, lo, hi, low, mark)
		deleted += n
		if err != nil {
			return deleted, fmt.Errorf("delete %d to %d: %w", lo, hi, err)
		}
		lo = hi + 1
	}
	return deleted, nil
}

// firstUndeleted returns the first number that may not have been deleted. All numbers below the
// lowest low mark are known to be deleted only if every shard has a low mark and their values are
// consecutive. Otherwise single events may have been deleted.
func (s *hashKey) firstUndeleted(low []int64) int64 {
	least, most := slices.Min(low), slices.Max(low)
	if least < 1 || most-least != s.shards-1 {
		return 1
	}
	return least
}

// deleteStep deletes the numbers lo to hi. low contains the values of the low marks by shard.
func (s *hashKey) deleteStep(
	ctx context.Context, m *dynamo.Meter, pid string, lo, hi int64, low []int64, mark bool,
) (int64, error) {
	items, err := s.chunk(ctx, m, pid, lo, hi)
	if err != nil {
		return 0, err
	}
	if mark {
		deleted, err := s.markEvents(ctx, m, pid, lo, hi, items)
		if err != nil {
			return deleted, err
		}
		return deleted, s.raiseLowMarks(ctx, m, pid, lo, hi, low)
	}
	if err := s.raiseLowMarks(ctx, m, pid, lo, hi, low); err != nil {
		return 0, err
	}
	var keys []dynamo.Attributes
	deleted := int64(0)
	for key, item := range items {
		keys = append(keys, dynamo.Attributes{attrKey: text(key)})
		if item[attrPayload] != nil {
			deleted++
		}
	}
	if err := s.client.BatchDelete(ctx, m, s.table, keys, nil); err != nil {
		return 0, err
	}
	return deleted, nil
}

// raiseLowMarks puts the low mark of each number, unless the stored mark is as high.
func (s *hashKey) raiseLowMarks(ctx context.Context, m *dynamo.Meter, pid string, lo, hi int64, low []int64) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(s.parallelism)
	for seq := lo; seq <= hi; seq++ {
		if low[seq%s.shards] >= seq {
			continue
		}
		group.Go(func() error { return s.raise(ctx, m, lowKind, pid, seq) })
	}
	return group.Wait()
}

// markEvents marks the events among items as deleted.
func (s *hashKey) markEvents(
	ctx context.Context, m *dynamo.Meter, pid string, lo, hi int64, items map[string]dynamo.Attributes,
) (int64, error) {
	var keys []dynamo.Attributes
	for seq := lo; seq <= hi; seq++ {
		if item := items[s.key(eventKind, pid, seq)]; item != nil && item[attrPayload] != nil && !marked(item) {
			keys = append(keys, s.eventKey(pid, seq))
		}
	}
	return markDeleted(ctx, m, s.client, s.table, keys, s.parallelism)
}
