package protocol

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/safeguard"
)

// Span is some numbers in a row, of one partition.
type Span struct{ First, Last int64 }

// Watch looks, by one small request a time, whether something has come to a persistence id since it
// was read to its end. Only a new reading decides what that is. Something can come:
//
//   - behind everything, where the next write goes;
//   - at a number that was missing before what is there, and behind the last event that was handed
//     out: a member of an atomic write that was not whole, or a seal;
//   - where only marks lead: behind a hole at the end of a partition, or behind a low mark that was
//     moved.
//
// Every second look is behind everything, the others go through the missing numbers in turn. Every
// tenth look reads marks instead, not all of them at once. After a reading that ended before
// missing numbers, by Request.Wait, only these are looked at, and marks.
type Watch struct {
	store *Store
	pid   string
	to    int64 // the last number wanted, or of an atomic write that it is a part of
	marks layout.Marks
	// behind is where the next write goes, missing the spans that hold nothing.
	behind  Span
	missing []Span
	// marksOfLook is how many marks a look reads.
	marksOfLook int
	keys        []layout.Key // of all marks, in the order in which they are read

	looks, queries, marksRead int
}

// looksPerMarks is how often marks are read.
const looksPerMarks = 10

// Watch begins to watch what a reading has left, with From behind the last event that it has handed
// out.
func (s *Store) Watch(req *Request, read *Result, marksOfLook int) *Watch {
	w := &Watch{store: s, pid: req.PersistenceID, to: req.To, marks: read.Marks, marksOfLook: marksOfLook}
	w.marks.High = max(w.marks.High, read.FarMark)
	w.behind = Span{read.Behind, partitionEnd(read.Behind)}
	if first := read.Awaited.First; first > 0 {
		w.behind = Span{first, min(read.Awaited.Last, partitionEnd(first))}
		w.to = max(w.to, w.behind.Last)
	} else {
		w.addMissing(req, read)
		if read.over {
			w.to = max(w.to, read.part)
		}
	}
	w.addMarks()
	return w
}

// addMissing adds the spans where something can come before what is behind everything, or behind
// that where only marks lead.
func (w *Watch) addMissing(req *Request, read *Result) {
	add := func(span Span, to int64) {
		if span.Last = min(span.Last, to); span.First <= span.Last {
			w.missing = append(w.missing, span)
		}
	}
	for _, span := range read.Missing {
		add(Span{max(span.First, req.From), span.Last}, max(req.To, read.part))
	}
	if mark := read.Marks.High; mark > w.behind.Last && mark != read.FarMark { // it is put beside what it leads to, which may come later
		add(Span{mark, partitionEnd(mark)}, req.To)
	}
	for i := int64(0); read.top > 0 && i < w.store.looksBehind(read.top, read.Marks.High); i++ { // where a reading looks, too
		p := read.top/layout.PartitionSize + 1 + i
		if first := p * layout.PartitionSize; p <= everywhere.last && first > w.behind.Last {
			add(Span{first, partitionEnd(first)}, req.To)
		}
	}
}

// addMarks adds the keys of all marks. The high mark of the next partition comes first: it is the
// one that tells of a hole at the end of this.
func (w *Watch) addMarks() {
	s := w.store
	next := s.Keys.HighMark(w.pid, w.behind.Last)
	if w.behind.Last < layout.MaxSequenceNumber {
		next = s.Keys.HighMark(w.pid, w.behind.Last+1)
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

// Look reports whether something may have come. It sends one request, which costs one read unit, or
// one for each mark that it reads, as long as nothing has come.
func (w *Watch) Look(ctx context.Context, m *dynamo.Meter) (bool, error) {
	span, ok := w.span()
	w.looks++
	if !ok || safeguard.MarksWatched && w.looks%looksPerMarks == 0 {
		return w.marksMoved(ctx, m)
	}
	w.queries++
	return w.store.anything(ctx, m, w.pid, span)
}

// span is where the next look is; false if there is nothing to come within what is wanted.
func (w *Watch) span() (Span, bool) {
	behind := Span{w.behind.First, min(w.behind.Last, w.to)}
	some := behind.First <= behind.Last
	if n := len(w.missing); safeguard.MissingWatched && n > 0 && (w.queries%2 == 1 || !some) {
		return w.missing[w.queries/2%n], true
	}
	return behind, some
}

// marksMoved reports whether a mark leads further than those that are known. It reads as many as a
// look may: the first in every look that has room for more, the others in turn.
func (w *Watch) marksMoved(ctx context.Context, m *dynamo.Meter) (bool, error) {
	var keys []layout.Key
	turn, each := w.keys, min(w.marksOfLook, len(w.keys))
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
		marks.Low.Seq == known.Low.Seq && marks.Low.Seq > 0 && !marks.Low.JudgesLike(known.Low) && !w.besides(marks.Low), nil
}

// besides reports whether a low mark is one of a JVM that is as high as the known one, in another
// shard: that one still counts.
func (w *Watch) besides(low layout.LowMark) bool {
	return low.JVM && !w.marks.Low.JVM && w.store.Keys.Shards > 1
}

// anything reports whether a span holds anything.
func (s *Store) anything(ctx context.Context, m *dynamo.Meter, pid string, span Span) (bool, error) {
	in := s.partitionQuery(pid, span.First, span.Last)
	in.Limit = aws.Int32(1)
	slots, _, err := s.page(ctx, m, pid, span.First/layout.PartitionSize, in, dynamo.Slot{})
	return len(slots) > 0, err
}
