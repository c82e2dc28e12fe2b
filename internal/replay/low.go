package replay

import (
	"context"
	"math"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/safeguard"
)

// blocks are some in a row, of as many numbers each as a partition has. A low mark stands in the one of its value.
type blocks struct{ first, last int64 }

// everywhere are all blocks, and the one before the first: see layout.Keys.LowMarkBefore.
var everywhere = blocks{-1, math.MaxInt64 / layout.PartitionSize}

func (b blocks) cover(o blocks) bool { return b.first <= o.first && b.last >= o.last }

// lowCanBe returns the blocks that can hold the low mark now, if it was moved since the marks were
// read. reach is the highest number to which it was moved by what slots say that were read since.
// What was acknowledged when the marks were read is at most in the block of the high mark, or of
// what was deleted, and a deletion of it moves the low mark at most to the first number behind. Who
// has written more since, and deleted that too, may have moved it farther: so these blocks are
// enough only where nothing was met at all.
// In a shared journal a low mark lies by what a JVM reads of it, or one block before.
func (s *Store) lowCanBe(known layout.Marks, reach int64) blocks {
	first := known.Low.Seq / layout.PartitionSize
	if s.Shared() {
		first = known.JVMLow/layout.PartitionSize - 1
	}
	last := max(max(known.High, known.Low.Seq-1)/layout.PartitionSize+1, reach/layout.PartitionSize)
	return blocks{first, min(last, everywhere.last)}
}

// lowSeen is a low mark that was read after the marks.
type lowSeen struct {
	marks layout.Marks
	began int64  // when the reading had begun
	in    blocks // where was looked
}

// lowIn reads the low marks of some blocks, or of all where that is no more.
func (s *Store) lowIn(ctx context.Context, m *dynamo.Meter, pid string, c *clock, in blocks) (*lowSeen, error) {
	var keys []layout.Key
	if in.last-in.first+1 >= s.Keys.Shards {
		in, keys = everywhere, s.Keys.LowMarks(pid)
	} else {
		for block := in.first; block <= in.last; block++ {
			key := s.Keys.LowMarkBefore(pid, 0)
			if block >= 0 {
				key = s.Keys.LowMark(pid, block*layout.PartitionSize)
			}
			if key.Fits() {
				keys = append(keys, key)
			}
		}
	}
	began := c.stamp()
	marks, err := s.marks(ctx, m, pid, keys)
	if err != nil {
		return nil, err
	}
	if !safeguard.LowStampedBefore {
		began = c.stamp()
	}
	return &lowSeen{marks, began, in}, nil
}

// confirmLow reads the low mark, if that was not done after the time given. If it moved, what was read before does not count.
func (r *run) confirmLow(ctx context.Context, after int64) error {
	if r.lowRead > after || !safeguard.LowReread {
		return nil
	}
	in := r.store.lowCanBe(r.marks, max(r.highest+1, r.reach))
	if r.highest > 0 && safeguard.AllLowMarks {
		// A deletion has left something, or a part of a JVM's deletion is done: it can have been of
		// events that were written after the marks were read, far behind what this reading has seen.
		in = everywhere
	}
	seen := r.seen
	var err error
	if seen == nil || seen.began <= after && safeguard.SeenAfter || !seen.in.cover(in) && safeguard.SeenCovers {
		seen, err = r.store.lowIn(ctx, r.meter, r.req.PersistenceID, &r.clock, in)
	}
	if err == nil && seen.in != everywhere && !seen.marks.Low.JudgesLike(r.marks.Low) { // what it is now, only all low marks tell
		seen, err = r.store.lowIn(ctx, r.meter, r.req.PersistenceID, &r.clock, everywhere)
	}
	if err != nil {
		return err
	}
	moved := !seen.marks.Low.JudgesLike(r.marks.Low)
	r.marks.Low, r.lowRead = seen.marks.Low, seen.began
	r.marks.JVMLow = max(r.marks.JVMLow, seen.marks.JVMLow)
	r.marks.Expiring = r.marks.Expiring || seen.marks.Expiring && safeguard.ExpiringReread
	if moved {
		return errLowMoved
	}
	return nil
}
