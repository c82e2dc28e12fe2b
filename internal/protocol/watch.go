package protocol

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// Span is a range of numbers. A span that is read is within one partition.
type Span struct{ First, Last int64 }

// Watch finds out, with one small request at a time, whether something was stored for a persistence
// id since it was read to its end. Only a new replay decides what was stored. New items can be
// stored:
//
//   - after everything, where the next write goes;
//   - at a missing number after the last event that was handed out: a member of an atomic write
//     that was not whole, or a seal;
//   - where only marks lead: after a hole at the end of a partition, or after a low mark that was
//     moved.
//
// Every second poll reads after everything, and the others read the missing numbers in turn. Every
// tenth poll reads some of the marks instead. If the replay ended before missing numbers because of
// Request.Wait, only these and marks are read.
type Watch struct {
	store *Store
	pid   string
	to    int64 // the last number wanted, or the last number of its atomic write
	marks layout.Marks
	// next is the span of the next write. missing are the spans at which nothing is stored.
	next    Span
	missing []Span
	// marksPerPoll is the number of marks that a poll reads.
	marksPerPoll int
	keys         []layout.Key // the keys of all marks, in the order in which they are read

	polls, queries, marksRead int
}

// pollsPerMarks is the number of polls from one that reads marks to the next.
const pollsPerMarks = 10

// Watch returns a Watch that continues after a replay. From is the number after the last event that
// the replay has handed out.
func (s *Store) Watch(req *Request, read *Result, marksPerPoll int) *Watch {
	w := &Watch{store: s, pid: req.PersistenceID, to: req.To, marks: read.Marks, marksPerPoll: marksPerPoll}
	w.marks.High = max(w.marks.High, read.FarMark)
	w.next = Span{read.Behind, partitionEnd(read.Behind)}
	if first := read.Awaited.First; first > 0 {
		w.next = Span{first, min(read.Awaited.Last, partitionEnd(first))}
		w.to = max(w.to, w.next.Last)
	} else {
		w.addMissing(req, read)
		if read.over {
			w.to = max(w.to, read.part)
		}
	}
	w.addMarks()
	return w
}

// addMissing adds the spans before the end, and the spans after it to which only marks lead.
func (w *Watch) addMissing(req *Request, read *Result) {
	add := func(span Span, to int64) {
		if span.Last = min(span.Last, to); span.First <= span.Last {
			w.missing = append(w.missing, span)
		}
	}
	for _, span := range read.Missing {
		add(Span{max(span.First, req.From), span.Last}, max(req.To, read.part))
	}
	// The mark is put in parallel with the events that it leads to, which may come later.
	if mark := read.Marks.High; mark > w.next.Last && mark != read.FarMark {
		add(Span{mark, partitionEnd(mark)}, req.To)
	}
	// A replay also reads there.
	for i := int64(0); read.top > 0 && i < w.store.emptyPartitionsAfter(read.top, w.store.Leads(read.Marks)); i++ {
		p := read.top/layout.PartitionSize + 1 + i
		if first := p * layout.PartitionSize; p <= everywhere.last && first > w.next.Last {
			add(Span{first, partitionEnd(first)}, req.To)
		}
	}
}

// addMarks adds the keys of all marks. The high mark of the next partition comes first: it shows a
// hole at the end of this one.
func (w *Watch) addMarks() {
	s := w.store
	next := s.Keys.HighMark(w.pid, w.next.Last)
	if w.next.Last < layout.MaxSequenceNumber {
		next = s.Keys.HighMark(w.pid, w.next.Last+1)
	}
	if next.Fits() {
		w.keys = append(w.keys, next)
	}
	for _, key := range append(s.Keys.HighMarks(w.pid), s.Keys.LowMarks(w.pid)...) {
		if key != next {
			w.keys = append(w.keys, key)
		}
	}
}

// Poll reports whether something may have been stored. It sends one request, which costs one read
// unit, or one for each mark that it reads, as long as nothing was stored.
func (w *Watch) Poll(ctx context.Context, m *dynamo.Meter) (bool, error) {
	span, ok := w.span()
	w.polls++
	if !ok || w.polls%pollsPerMarks == 0 {
		return w.marksMoved(ctx, m)
	}
	w.queries++
	return w.store.anything(ctx, m, w.pid, span)
}

// span returns the span that the next poll reads. It reports false if nothing wanted can come.
func (w *Watch) span() (Span, bool) {
	next := Span{w.next.First, min(w.next.Last, w.to)}
	some := next.First <= next.Last
	if n := len(w.missing); n > 0 && (w.queries%2 == 1 || !some) {
		return w.missing[w.queries/2%n], true
	}
	return next, some
}

// marksMoved reports whether a mark is higher than the known ones. It reads marksPerPoll marks: the
// first in every poll that has space for more, the others in turn.
func (w *Watch) marksMoved(ctx context.Context, m *dynamo.Meter) (bool, error) {
	var keys []layout.Key
	turn, each := w.keys, min(w.marksPerPoll, len(w.keys))
	if each > 1 {
		keys, turn, each = append(keys, w.keys[0]), w.keys[1:], each-1
	}
	for i := range each {
		keys = append(keys, turn[(w.marksRead+i)%len(turn)])
	}
	marks, err := w.store.marks(ctx, m, w.pid, keys)
	if err != nil {
		return false, err
	}
	w.marksRead += each
	known := w.marks
	return marks.High > known.High || marks.Low.Seq > known.Low.Seq ||
		marks.Low.Seq == known.Low.Seq && marks.Low.Seq > 0 && !marks.Low.JudgesLike(known.Low) &&
			!w.isOtherShardsMark(marks.Low), nil
}

// isOtherShardsMark reports whether a low mark is a JVM's in another shard, and as high as the
// known one, which still counts.
func (w *Watch) isOtherShardsMark(low layout.LowMark) bool {
	return low.JVM && !w.marks.Low.JVM && w.store.Keys.Shards > 1
}

// anything reports whether anything is stored in a span.
func (s *Store) anything(ctx context.Context, m *dynamo.Meter, pid string, span Span) (bool, error) {
	in := s.partitionQuery(pid, span.First, span.Last)
	in.Limit = aws.Int32(1)
	slots, _, err := s.page(ctx, m, pid, span.First/layout.PartitionSize, in, dynamo.Slot{})
	return len(slots) > 0, err
}
