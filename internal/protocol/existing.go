package protocol

import (
	"context"
	"slices"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
)

const (
	// readWhole is how many partitions are read one by one, whatever they hold.
	readWhole = 1000
	// patience is how many empty partitions in a row are read where everything was deleted long
	// ago.
	patience = 8
	// sampleEdge is how many partitions at each end of a span are looked at, and at most how many
	// between them, where there is no reason for a hole; sampleBelow where events may be left below
	// the low mark.
	sampleEdge  = 500
	sampleBelow = 3500
)

// EachExisting calls read for the partitions of a persistence id from first to last, in rising
// order, but leaves out wide spans that hold nothing; read reports whether the partition holds
// anything. The number of requests depends on what is stored, and hardly on the numbers: where the
// marks are damaged, or most of a long journal is deleted, nearly all partitions are empty.
//
// From the low mark on nothing is missed: what was acknowledged, or may still come to count, has no
// holes wider than an atomic write, and as many empty partitions in a row are read. Below the low
// mark a span of readWhole partitions is read whole too. In a wider one, where patience partitions
// in a row are empty, one number of each partition is looked at, 100 in a request, and those below
// former low marks, where a deletion that was cut short leaves something. So 100 numbers in a row
// are found, and what is next to them. Fewer that are alone can be missed. Of more than 3 *
// sampleBelow partitions (a million numbers) only as many are looked at: those near both ends, and
// some between them.
func (s *Store) EachExisting(
	ctx context.Context, m *dynamo.Meter, pid string, marks layout.Marks, first, last int64, read func(p int64) (bool, error),
) error {
	low := marks.Low.First() / layout.PartitionSize
	if first < low {
		below := existing{store: s, meter: m, pid: pid, marks: marks, edge: sampleBelow}
		if err := below.each(ctx, first, min(last, low-1), patience, read); err != nil {
			return err
		}
	}
	live := existing{store: s, meter: m, pid: pid, marks: marks, edge: sampleEdge}
	return live.each(ctx, max(first, low), last, s.reach(), read)
}

// SkipHole gives the number to go on with at first, up to last: first itself, unless MaxHole
// numbers or more from there on hold nothing; then the first number of the next partition that
// holds something, or last + 1. It asks nothing where fewer numbers are left.
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
	e := existing{store: s, meter: m, pid: pid, edge: sampleEdge}
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

// existing looks for what is stored behind empty partitions.
type existing struct {
	store *Store
	meter *dynamo.Meter
	pid   string
	marks layout.Marks
	edge  int64 // how many partitions are looked at: near each end, and between

	sampled bool
	seeds   []int64 // partitions that hold something, rising
}

func (e *existing) each(ctx context.Context, first, last, patience int64, read func(p int64) (bool, error)) error {
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

// next finds the first partition behind p, up to last, of the next ones in a row that hold
// something.
func (e *existing) next(ctx context.Context, p, last int64) (int64, bool, error) {
	if !e.sampled {
		if err := e.sample(ctx, p, last); err != nil {
			return 0, false, err
		}
	}
	for len(e.seeds) > 0 {
		seed := e.seeds[0]
		e.seeds = e.seeds[1:]
		if seed > p {
			begin, err := e.begin(ctx, p, seed)
			return begin, true, err
		}
	}
	return 0, false, nil
}

// sample looks at single numbers of the partitions behind p, up to last.
func (e *existing) sample(ctx context.Context, p, last int64) error {
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
		numbers = append(numbers, seq-1) // what a deletion removes last
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
	there, err := e.holds(ctx, last) // what the marks point to
	if there {
		e.seeds = append(e.seeds, last)
	}
	slices.Sort(e.seeds)
	e.seeds = slices.Compact(e.seeds)
	return err
}

// begin is the first of the partitions in a row that hold something, up to seed, which does, behind
// empty, which does not.
func (e *existing) begin(ctx context.Context, empty, seed int64) (int64, error) {
	for distance := int64(1); seed-distance > empty; distance *= 2 {
		there, err := e.holds(ctx, seed-distance)
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
		there, err := e.holds(ctx, middle)
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

// holds reports whether a partition holds anything.
func (e *existing) holds(ctx context.Context, p int64) (bool, error) {
	top, err := e.store.top(ctx, e.meter, e.pid, p)
	return top > 0, err
}
