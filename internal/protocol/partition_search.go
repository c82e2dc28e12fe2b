package protocol

import (
	"context"
	"slices"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
)

const (
	// readWhole is the number of partitions up to which a span is read one by one, even if it is
	// empty.
	readWhole = 1000
	// patience is the number of empty partitions in a row that are read where everything was
	// deleted long ago.
	patience = 8
	// sampleEdge is the number of partitions to sample at each end of a span, and the most to
	// sample between the ends, where no holes are expected. sampleBelow is the same number below
	// the low mark, where events may be left.
	sampleEdge  = 500
	sampleBelow = 3500
)

// EachExisting calls read for the partitions of a persistence id from first to last, in ascending
// order, but skips wide empty spans. read reports whether the partition has any item. The number of
// requests depends on the stored items, and hardly on the numbers: if the marks are damaged, or
// most of a long journal is deleted, nearly all partitions are empty.
//
// At and above the low mark nothing is missed: events that were acknowledged, or may still come to
// count, have no holes wider than an atomic write, and EachExisting reads as many empty partitions
// in a row. Below the low mark, a span of at most readWhole partitions is also read whole. In a
// wider span, after patience empty partitions in a row, EachExisting samples one number of each
// partition, 100 in a request, and the numbers below former low marks, where an interrupted
// deletion leaves items. So it finds 100 numbers in a row, with the numbers next to them, but can
// miss fewer isolated ones. Of more than 3 * sampleBelow partitions (a million numbers) only as
// many are sampled: those near both ends, and some in between.
func (s *Store) EachExisting(
	ctx context.Context, m *dynamo.Meter, pid string, marks layout.Marks, first, last int64, read func(p int64) (bool, error),
) error {
	low := marks.Low.First() / layout.PartitionSize
	if first < low {
		below := partitionSearch{store: s, meter: m, pid: pid, marks: marks, edge: sampleBelow}
		if err := below.each(ctx, first, min(last, low-1), patience, read); err != nil {
			return err
		}
	}
	live := partitionSearch{store: s, meter: m, pid: pid, marks: marks, edge: sampleEdge}
	return live.each(ctx, max(first, low), last, s.reach(), read)
}

// SkipHole returns the number at which to continue from first, up to last. That is first itself,
// unless at least MaxHole numbers from there on are missing: then it is the first number of the
// next partition that has an item, or last + 1. If fewer numbers are left, SkipHole sends no
// request.
func (s *Store) SkipHole(ctx context.Context, m *dynamo.Meter, pid string, first, last int64) (int64, error) {
	if last-first < MaxHole {
		return first, nil
	}
	p := first / layout.PartitionSize
	for end := p + patience; p < end; p++ {
		if top, err := s.top(ctx, m, pid, p); err != nil || top >= first {
			return first, err
		}
	}
	e := partitionSearch{store: s, meter: m, pid: pid, edge: sampleEdge}
	next, found, err := e.next(ctx, p-1, last/layout.PartitionSize)
	switch {
	case err != nil:
		return first, err
	case !found:
		return last + 1, nil
	case next*layout.PartitionSize-first < MaxHole:
		return first, nil
	}
	return next * layout.PartitionSize, nil
}

// partitionSearch finds stored items after empty partitions.
type partitionSearch struct {
	store *Store
	meter *dynamo.Meter
	pid   string
	marks layout.Marks
	edge  int64 // the number of partitions to sample near each end, and in between

	sampled bool
	seeds   []int64 // partitions with items, ascending
}

func (e *partitionSearch) each(
	ctx context.Context, first, last, patience int64, read func(p int64) (bool, error),
) error {
	whole := last-first < readWhole
	for p, empty := first, int64(0); p <= last; p++ {
		there, err := read(p)
		if err != nil {
			return err
		}
		if empty++; there {
			empty = 0
		}
		if whole || empty < patience || last-p <= patience {
			continue
		}
		next, found, err := e.next(ctx, p, last)
		if err != nil {
			return err
		}
		if !found {
			next = last - patience + 1
		}
		p, empty = next-1, 0
	}
	return nil
}

// next returns the first partition of the next row of partitions with items, after p and up to
// last.
func (e *partitionSearch) next(ctx context.Context, p, last int64) (int64, bool, error) {
	if !e.sampled {
		if err := e.sample(ctx, p, last); err != nil {
			return 0, false, err
		}
	}
	for len(e.seeds) > 0 {
		seed := e.seeds[0]
		e.seeds = e.seeds[1:]
		if seed > p {
			start, err := e.firstInRow(ctx, p, seed)
			return start, true, err
		}
	}
	return 0, false, nil
}

// sample samples single numbers of the partitions after p, up to last.
func (e *partitionSearch) sample(ctx context.Context, p, last int64) error {
	e.sampled = true
	var numbers []int64
	add := func(partition int64) { numbers = append(numbers, numberAt(partition, 0)) }
	for next := p + 1; next <= min(last, p+e.edge); next++ {
		add(next)
	}
	for next := max(p+e.edge, last-e.edge) + 1; next <= last; next++ {
		add(next)
	}
	if between := last - p - 2*e.edge; between > 0 {
		for next, stride := p+e.edge, (between+e.edge-1)/e.edge; next <= last-e.edge; next += stride {
			add(next)
		}
		for distance := 2 * e.edge; distance < between; distance *= 2 {
			add(p + distance)
			add(last - distance)
		}
	}
	for _, seq := range e.marks.LowMarks {
		numbers = append(numbers, seq-1) // the number that a deletion removes last
	}
	numbers = append(numbers, e.marks.HighMarks...)
	slices.Sort(numbers)
	numbers = slices.DeleteFunc(slices.Compact(numbers), func(seq int64) bool {
		return seq < 1 || seq/layout.PartitionSize <= p || seq/layout.PartitionSize > last
	})
	found, err := e.store.taken(ctx, e.meter, e.pid, numbers)
	if err != nil {
		return err
	}
	for _, seq := range found {
		e.seeds = append(e.seeds, seq/layout.PartitionSize)
	}
	there, err := e.hasItems(ctx, last) // the marks point to it
	if there {
		e.seeds = append(e.seeds, last)
	}
	slices.Sort(e.seeds)
	e.seeds = slices.Compact(e.seeds)
	return err
}

// firstInRow returns the first partition of the row that ends with seed. Each partition of the row
// has items. The partition empty is before the row, and does not.
func (e *partitionSearch) firstInRow(ctx context.Context, empty, seed int64) (int64, error) {
	for distance := int64(1); seed-distance > empty; distance *= 2 {
		there, err := e.hasItems(ctx, seed-distance)
		if err != nil {
			return 0, err
		}
		if !there {
			empty = seed - distance
			break
		}
		seed -= distance
	}
	for seed-empty > 1 {
		middle := empty + (seed-empty)/2
		there, err := e.hasItems(ctx, middle)
		if err != nil {
			return 0, err
		}
		if there {
			seed = middle
		} else {
			empty = middle
		}
	}
	return seed, nil
}

// hasItems reports whether a partition has any item.
func (e *partitionSearch) hasItems(ctx context.Context, p int64) (bool, error) {
	top, err := e.store.top(ctx, e.meter, e.pid, p)
	return top > 0, err
}
