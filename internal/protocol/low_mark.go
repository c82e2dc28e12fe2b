package protocol

import (
	"context"
	"math"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// The item of a low mark has two values: `seq`, which a JVM reads, and `low`, which only this
// project reads, and which is stored if it differs. In a native journal they are the same.
//
// In a shared journal tombstones and seals stay in the block of the highest sequence number. A JVM
// takes the last item of that block for its highest number, and removes only items at or above the
// low mark that it reads. So `seq` is never raised beyond the first number of that block: a JVM
// removes the tombstones and seals in it with its own next deletion, and then finds the highest
// number by its own low mark.

// Shared reports whether a JVM may write to the journal.
func (s *Store) Shared() bool { return s.IDsShards == 0 }

// LowMarkAt returns a low mark in the form in which it is put. No number above highest is known to
// be taken, and marks are the marks that were read last.
func (s *Store) LowMarkAt(low layout.LowMark, marks layout.Marks, highest int64) layout.LowMark {
	low.Ahead = 0
	if s.Shared() {
		low.Ahead = max(low.Seq-max(marks.JVMLow, layout.HighestBlock(max(highest, low.Seq-1))), 0)
	}
	return low
}

// TakeLast makes sure, in a shared journal, that the last number below a low mark is taken and that
// a high mark leads to it. It is called before the mark is raised beyond everything stored: a JVM
// finds its highest number by these items. In a native journal the low mark is enough.
func (s *Store) TakeLast(ctx context.Context, m *dynamo.Meter, pid string, last int64) error {
	if !s.Shared() {
		return nil
	}
	if _, err := s.Seal(ctx, m, pid, last, 0); err != nil {
		return err
	}
	if layout.HighestBlock(last) == 0 {
		return nil
	}
	return s.RaiseHighMark(ctx, m, pid, last, nil)
}

// JVMLowAround returns the low mark as a JVM reads it, if it can be above seq, which is written
// next or was just written. If the event before seq is still stored, no complete deletion by a JVM
// goes beyond the next block, so the low mark is in one of two shards. Otherwise all shards are
// read. They are also read if the low mark is right above that event: then an interrupted deletion
// has left the event, and a JVM never removes it.
//
// stored reports whether anything is stored at the number before seq. A JVM puts its low marks
// without a condition: if two of its deletions run at the same time, the deletion of fewer events
// can put its mark last. So the low mark does not show everything that a JVM has deleted. But a
// caller that knows that an event was stored before seq, and finds nothing there, knows that a JVM
// has deleted this event, and perhaps more.
func (s *Store) JVMLowAround(
	ctx context.Context, m *dynamo.Meter, pid string, seq int64,
) (low int64, stored bool, err error) {
	if seq > 1 {
		var event bool
		if low, event, stored, err = s.jvmLowNear(ctx, m, pid, seq); err != nil {
			return 0, false, err
		}
		if event && low != seq {
			return low, true, nil
		}
	}
	marks, err := s.LowMark(ctx, m, pid)
	return marks.JVMLow, stored, err
}

// jvmLowNear returns the low mark as a JVM reads it, from the shards of seq and of the next block.
// event reports whether an event is stored at the number before seq, stored whether anything is.
func (s *Store) jvmLowNear(
	ctx context.Context, m *dynamo.Meter, pid string, seq int64,
) (low int64, event, stored bool, err error) {
	const near = 2
	marked := []layout.Key{s.Keys.LowMark(pid, seq), s.Keys.LowMarkNext(pid, seq)}
	if s.Keys.Shards <= near {
		marked = s.Keys.LowMarks(pid)
	}
	read, item, err := s.marksAndItem(ctx, m, pid, marked, seq-1)
	stored = item != nil
	return read.JVMLow, stored && !layout.IsClosed(item), stored, err
}

// blocks is a range of blocks, each with as many numbers as a partition. A low mark is stored in
// the shard of the block that contains its value.
type blocks struct{ first, last int64 }

// everywhere has all blocks, and the block before the first: see [layout.Keys.LowMarkBefore].
var everywhere = blocks{-1, math.MaxInt64 / layout.PartitionSize}

func (b blocks) cover(o blocks) bool { return b.first <= o.first && b.last >= o.last }

// lowMarkCandidates returns the blocks that the low mark may be in now, if it was moved after the
// marks were read. reach is the highest low mark named by a fence that was read since.
//
// Events that were acknowledged when the marks were read are at most in the block of the high mark
// or of the last deleted number, and their deletion moves the low mark at most to the first number
// of the next block. A writer that has since written and deleted more events may have moved it
// farther. So these blocks are enough only if no item was found at all. In a shared journal the
// first block is the one before the block of the value that a JVM reads.
func (s *Store) lowMarkCandidates(known layout.Marks, reach int64) blocks {
	first := known.Low.Seq / layout.PartitionSize
	if s.Shared() {
		first = known.JVMLow/layout.PartitionSize - 1
	}
	last := max(max(known.High, known.Low.Seq-1)/layout.PartitionSize+1, reach/layout.PartitionSize)
	return blocks{first, min(last, everywhere.last)}
}

// lowMarkRead is a low mark that was read after the marks.
type lowMarkRead struct {
	marks layout.Marks
	start int64  // the stamp of the moment before the request was sent
	in    blocks // the blocks that were read
}

// lowMarksIn reads the low marks of some blocks, or all low marks if the blocks are in all shards.
func (s *Store) lowMarksIn(
	ctx context.Context, m *dynamo.Meter, pid string, stamps *logicalClock, in blocks,
) (*lowMarkRead, error) {
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
	start := stamps.stamp()
	marks, err := s.marks(ctx, m, pid, keys)
	if err != nil {
		return nil, err
	}
	return &lowMarkRead{marks, start, in}, nil
}

// confirmLowMark reads the low mark, unless it was read after the given stamp. If it has moved,
// confirmLowMark returns errStale: earlier reads do not count.
func (r *replay) confirmLowMark(ctx context.Context, after int64) error {
	if r.lowRead > after {
		return nil
	}
	in := r.store.lowMarkCandidates(r.marks, max(r.top.highest+1, r.top.reach))
	if r.top.highest > 0 {
		// A deletion has left items, or a JVM's deletion is incomplete. The deleted events may have
		// been written after the marks were read, far beyond the numbers that this replay has read.
		in = everywhere
	}
	seen := r.seen
	if seen != nil && seen.marks.Low.Seq < r.marks.Low.Seq {
		seen = nil // it was read in parallel with the marks, which are newer
	}
	var err error
	if seen == nil || seen.start <= after || !seen.in.cover(in) {
		seen, err = r.store.lowMarksIn(ctx, r.meter, r.req.PersistenceID, &r.stamps, in)
	}
	// Only all low marks together show the current value.
	if err == nil && seen.in != everywhere && !seen.marks.Low.JudgesLike(r.marks.Low) {
		seen, err = r.store.lowMarksIn(ctx, r.meter, r.req.PersistenceID, &r.stamps, everywhere)
	}
	if err != nil {
		return err
	}
	moved := !seen.marks.Low.JudgesLike(r.marks.Low)
	r.marks.Low, r.lowRead = seen.marks.Low, seen.start
	r.marks.JVMLow = max(r.marks.JVMLow, seen.marks.JVMLow)
	if moved {
		return errStale
	}
	return nil
}
