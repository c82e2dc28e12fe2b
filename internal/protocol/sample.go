package protocol

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// sampleSize is the number of items that one request reads: the maximum number of keys in a
// BatchGetItem.
const sampleSize = 100

// taken returns the given numbers at which something is stored. It keeps the items of only one
// request in memory.
func (s *Store) taken(ctx context.Context, m *dynamo.Meter, pid string, numbers []int64) ([]int64, error) {
	var found []int64
	for chunk := range slices.Chunk(numbers, sampleSize) {
		at, keys := make(map[layout.Key]int64, len(chunk)), make([]dynamo.Attributes, 0, len(chunk))
		for _, seq := range chunk {
			key := s.Keys.Event(pid, seq)
			if _, twice := at[key]; !twice && key.Fits() {
				at[key], keys = seq, append(keys, key.Attributes())
			}
		}
		items, err := s.Client.BatchGet(ctx, m, s.Table, keys)
		if err != nil {
			return nil, fmt.Errorf("read %d numbers: %w", len(chunk), err)
		}
		for _, item := range items {
			key, err := layout.DecodeKey(item)
			if err != nil {
				return nil, fmt.Errorf("table %q: %w", s.Table, err)
			}
			found = append(found, at[key])
		}
	}
	return found, nil
}

// numberAt returns the number in partition p with a given `num`, or the largest number.
func numberAt(p, num int64) int64 {
	first := p * layout.PartitionSize
	if first > math.MaxInt64-num {
		return math.MaxInt64
	}
	return max(first+num, 1)
}

// searchEnd returns the highest number that is taken in the partitions first to last, or 0. The
// partitions after last are empty. It samples numbers of many partitions at a time, at distances
// that double and are then halved, so the number of requests grows with the logarithm of the
// length. It finds everything that follows the low mark without holes wider than an atomic write,
// which includes all acknowledged events. It may miss an isolated item farther on: that is a member
// of an atomic write that was not acknowledged, and whose first number is free or taken by another
// writer.
func (s *Store) searchEnd(
	ctx context.Context, m *dynamo.Meter, pid string, marks layout.Marks, first, last int64,
) (int64, error) {
	best := first
	for _, seq := range marks.HighMarks { // of other shards: they may be right
		if p := seq / layout.PartitionSize; p <= last {
			best = max(best, p)
		}
	}
	if best > first {
		top, err := s.topDown(ctx, m, pid, best, max(first, best-emptyPartitionsIfDamaged))
		if err != nil {
			return 0, err
		}
		best = max(first, top/layout.PartitionSize)
	}
	for {
		found, err := s.sampleAfter(ctx, m, pid, best, last)
		if err != nil {
			return 0, err
		}
		if found == best {
			return s.top(ctx, m, pid, best)
		}
		best = found
	}
}

// sampleAfter returns the last partition after p, up to last, in which sampling finds an item, or
// p.
func (s *Store) sampleAfter(ctx context.Context, m *dynamo.Meter, pid string, p, last int64) (int64, error) {
	var wanted []int64
	for distance := int64(1); distance <= last-p; distance *= 2 {
		wanted = append(wanted, p+distance)
	}
	found, err := s.highestTaken(ctx, m, pid, p, wanted)
	if err != nil {
		return p, err
	}
	// A hole may be wider than the first distances, and the items after it narrower than the next.
	if found == p {
		wanted = wanted[:0]
		for next := p + 1; next <= min(last, p+s.reach()); next++ {
			wanted = append(wanted, next)
		}
		return s.highestTaken(ctx, m, pid, p, wanted)
	}
	for upper := min(last, p+2*(found-p)-1); found < upper; {
		stride := max(1, (upper-found)/(sampleSize/2))
		wanted = wanted[:0]
		for next := found + stride; next <= upper; next += stride {
			wanted = append(wanted, next)
		}
		if found, err = s.highestTaken(ctx, m, pid, found, wanted); err != nil {
			return p, err
		}
		upper = min(upper, found+stride-1)
	}
	return found, nil
}

// highestTaken returns the highest of some partitions in which one of two sampled numbers is taken,
// or otherwise if no sampled number is taken.
func (s *Store) highestTaken(
	ctx context.Context, m *dynamo.Meter, pid string, otherwise int64, partitions []int64,
) (int64, error) {
	numbers := make([]int64, 0, 2*len(partitions))
	for _, p := range partitions {
		numbers = append(numbers, numberAt(p, 0), numberAt(p, layout.PartitionSize/2))
	}
	found, err := s.taken(ctx, m, pid, numbers)
	if err != nil || len(found) == 0 {
		return otherwise, err
	}
	return slices.Max(found) / layout.PartitionSize, nil
}
