package protocol

import (
	"context"
	"fmt"

	"github.com/dynajournal/dynajournal/internal/clock"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/history"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// Import writes a history to a persistence id: Begin, then Record for each record in order, then
// Finish. It belongs to one goroutine.
type Import struct {
	paced
	overlap

	journal *Journal
	pid     string

	// Events is how many events the records hold, Written how many of them were not stored before.
	Events, Written int64
	// Highest is the last number of the records, once Finish has settled everything before it.
	Highest int64

	// low and highest are what the target held at the beginning, high is a high mark that is known
	// to stay; low and high follow what is written. hint is a high mark that may lead to what is
	// stored.
	low     layout.LowMark
	high    int64
	hint    int64
	highest int64
	// jvmLow is the low mark as a JVM reads it.
	jvmLow int64
	// expiring reports that the id was purged: its marks vanish unless they are put again.
	expiring bool
	// tip is the highest number that is taken in the target, by this import too.
	tip int64

	// next is the number that the next record must begin with; 0 where it may begin anywhere up to
	// tip + 1.
	next int64
	// last is the last number of the records so far.
	last int64
	// batch are the members so far of an atomic write that is not complete, bytes those of their
	// payloads.
	batch []*layout.Event
	bytes int

	// began is when the first request began: the answers since tell whether the clock is off.
	began clock.Moment

	// slots are those of the partition block, which is -1 at first.
	block int64
	slots map[int64]layout.Slot
}

// NewImport makes an import to a persistence id.
func (j *Journal) NewImport(pid string, pace Pace) *Import {
	return &Import{paced: paced{call: pace}, journal: j, pid: pid, block: -1}
}

// Cost is what the import has used up so far.
func (in *Import) Cost() dynamo.Cost { return in.meter.Cost() }

// Mark returns an error of the import as dynamo.Meter.Mark does.
func (in *Import) Mark(err error) error { return in.meter.Mark(err) }

// Begin reads what the target holds.
func (in *Import) Begin(ctx context.Context) error {
	in.began = in.journal.Clock.Now()
	marks, highest, err := in.journal.Store.Bounds(ctx, &in.meter, in.pid)
	if err != nil {
		return err
	}
	in.highest, in.tip, in.hint = highest, highest, marks.High
	in.low, in.jvmLow, in.expiring = marks.Low, marks.JVMLow, marks.Expiring
	if !in.expiring { // else every high mark is put again
		in.high = marks.High
	}
	return in.pace(ctx)
}

// Finish ends an import of which every record was taken.
func (in *Import) Finish(ctx context.Context) error {
	if len(in.batch) > 0 {
		return in.invalid(in.next, "an atomic write lacks members")
	}
	if in.highest > in.last {
		return in.conflict(in.last+1, "the history that is copied ends before it")
	}
	if err := in.settle(ctx); err != nil {
		return err
	}
	in.Highest = in.last
	return in.raiseHighMark(ctx, in.last)
}

// Record takes the next record, and writes what it says that is not stored yet.
func (in *Import) Record(ctx context.Context, r *history.Record) error {
	if r.SequenceNumber < 1 || r.SequenceNumber > layout.MaxSequenceNumber && (r.Kind != history.LowMark || r.SequenceNumber != layout.MaxSequenceNumber+1) {
		return in.invalid(r.SequenceNumber, "no such sequence number")
	}
	if !layout.IsUTF8(r.WriterUUID, r.Manifest, r.SerializerManifest) {
		return in.invalid(r.SequenceNumber, "its writer or a manifest is not valid UTF-8")
	}
	if len(in.batch) > 0 && r.Kind != history.Event {
		return in.invalid(r.SequenceNumber, "an atomic write lacks members")
	}
	switch r.Kind {
	case history.LowMark:
		return in.lowMark(ctx, r)
	case history.Event:
		if err := in.follows(r.SequenceNumber, r.SequenceNumber); err != nil {
			return err
		}
		return in.event(ctx, r)
	case history.Closed:
		if err := in.follows(r.SequenceNumber, r.Last); err != nil {
			return err
		}
		return in.closed(ctx, r.SequenceNumber, r.Last)
	case history.Deleted:
		return in.deleted(ctx, r.SequenceNumber, r.Last)
	}
	return in.invalid(r.SequenceNumber, fmt.Sprintf("there is no kind of record %d", r.Kind))
}

// follows checks that a span begins where the record before has ended, and that the first one
// leaves no gap behind what is stored.
func (in *Import) follows(first, last int64) error {
	lowest := in.lowest().First()
	switch {
	case last < first || last > layout.MaxSequenceNumber || last-first >= maxSpan:
		return in.invalid(first, fmt.Sprintf("it is a span that can't be, to %d", last))
	case first < lowest:
		return in.conflict(first, "it is deleted here")
	case in.next != 0 && first != in.next:
		return in.invalid(first, fmt.Sprintf("%d was to follow", in.next))
	case in.next == 0 && first > max(in.tip+1, lowest):
		return in.invalid(first, fmt.Sprintf("the highest number here is %d, what lies between is missing", in.tip))
	}
	in.next, in.last = last+1, last
	return nil
}

// lowMark takes a low mark. It is put when everything that is stored was compared.
func (in *Import) lowMark(ctx context.Context, r *history.Record) error {
	low := layout.LowMark{Seq: r.SequenceNumber}
	if r.BatchFirst != 0 {
		low.Cut = layout.Batch{Start: r.BatchFirst, Last: r.BatchLast, WriterUUID: r.WriterUUID}
		if low.Cut.Start < 1 || low.Cut.Start >= low.Seq || low.Cut.Last < low.Seq {
			return in.invalid(r.SequenceNumber, "it does not cut the atomic write that it says")
		}
	}
	known := in.lowest()
	switch {
	case low.Seq < known.Seq:
		return in.conflict(low.Seq, fmt.Sprintf("it is deleted here, the low mark is %d", known.Seq))
	case low.Seq > known.Seq: // the records go on there
		in.next = max(in.next, low.Seq)
	case !low.Cut.IsBatch(): // a reading that begins further on does not know what a JVM's low mark cuts
		low.Cut, low.JVM = known.Cut, known.JVM
	case known.Cut.IsBatch() && known.Cut != low.Cut:
		return in.conflict(low.Seq, fmt.Sprintf("the low mark here cuts another atomic write, %d to %d", known.Cut.Start, known.Cut.Last))
	}
	in.last = max(in.last, low.Seq-1)
	if low.Seq == in.low.Seq && low.Cut == in.low.Cut && in.low.Removed >= low.Seq && !in.expiring {
		return nil
	}
	if err := in.unseen(ctx, low.Seq); err != nil {
		return err
	}
	if in.pending = &low; in.settled {
		return in.settle(ctx)
	}
	return nil
}

// maxSpan bounds the numbers of one record, which are written item by item. No journal has as many
// holes in a row; a damaged archive must not keep an import busy for ever.
const maxSpan = 1 << 20

// event takes an event. A single one is written at once, a member of an atomic write when all
// members are known.
func (in *Import) event(ctx context.Context, r *history.Record) error {
	in.Events++
	e := &layout.Event{
		PersistenceID:      in.pid,
		SequenceNr:         r.SequenceNumber,
		Bytes:              r.Bytes,
		SerializerID:       r.SerializerID,
		SerializerManifest: r.SerializerManifest,
		Manifest:           r.Manifest,
		WriterUUID:         r.WriterUUID,
		Enveloped:          in.journal.Enveloped,
	}
	if r.BatchFirst != 0 {
		e.Batch = layout.Batch{Start: r.BatchFirst, Last: r.BatchLast, WriterUUID: r.WriterUUID}
		if r.BatchFirst < 1 || r.BatchFirst > r.SequenceNumber || r.BatchLast < r.SequenceNumber || r.BatchLast > layout.MaxSequenceNumber {
			return in.invalid(r.SequenceNumber, "it lies outside of its atomic write")
		}
	}
	if len(in.batch) > 0 && in.batch[0].Batch != e.Batch {
		return in.invalid(r.SequenceNumber, "the atomic write before lacks members")
	}
	if !e.Batch.IsBatch() {
		return in.put(ctx, []*layout.Event{e})
	}
	in.batch = append(in.batch, e)
	in.bytes += len(e.Bytes)
	switch j := in.journal; {
	case len(in.batch) > j.MaxBatchEvents:
		return &RejectedError{in.pid, -1, len(in.batch), j.MaxBatchEvents, errTooManyEvents}
	case in.bytes > j.MaxBatchBytes:
		return &RejectedError{in.pid, -1, in.bytes, j.MaxBatchBytes, errBatchTooLarge}
	case e.SequenceNr < e.Batch.Last:
		return nil
	}
	whole := in.batch
	in.batch, in.bytes = nil, 0
	if err := in.head(ctx, whole[0]); err != nil {
		return err
	}
	return in.put(ctx, whole)
}

// head checks that the members of an atomic write before its first record are stored, or were cut
// off by the low mark: without them the rest would never count.
func (in *Import) head(ctx context.Context, first *layout.Event) error {
	if first.SequenceNr == first.Batch.Start {
		return nil
	}
	low := in.lowest()
	if first.Batch.Start < low.First() && !low.CutCompletes(first.Batch) {
		return in.invalid(first.SequenceNr, "its atomic write begins below the low mark, which does not cut it")
	}
	from := max(first.Batch.Start, low.First())
	there, err := in.journal.Store.Members(ctx, &in.meter, in.pid, first.Batch, from, first.SequenceNr-1)
	if err == nil && !there {
		err = in.invalid(first.SequenceNr, fmt.Sprintf("members of its atomic write from %d on are missing", from))
	}
	return err
}

// put writes the events of one atomic write, or a single one, as far as they are not stored. All
// are compared before the first is written.
func (in *Import) put(ctx context.Context, events []*layout.Event) error {
	items := make([]layout.Attributes, 0, len(events))
	missing := make([]*layout.Event, 0, len(events))
	for _, e := range events {
		slot, there, err := in.at(ctx, e.SequenceNr)
		if err != nil {
			return err
		}
		if there {
			if err := in.same(slot, e); err != nil {
				return err
			}
			in.equal = e.SequenceNr
			continue
		}
		item := in.journal.Store.encodeEvent(e)
		if size := layout.Size(item); size > layout.MaxItemBytes {
			return &RejectedError{in.pid, -1, size, layout.MaxItemBytes, errItemTooLarge}
		}
		items, missing = append(items, item), append(missing, e)
	}
	first, last := events[0].SequenceNr, events[len(events)-1].SequenceNr
	return in.compared(ctx, first, last, missing, func(ctx context.Context) error { return in.writeAll(ctx, items, missing) })
}

// compared does what takes the numbers first to last. Where the target may hold something behind
// them it is held until all of that was compared. missing are the events that it writes.
func (in *Import) compared(
	ctx context.Context, first, last int64, missing []*layout.Event, take func(context.Context) error,
) error {
	write := func(ctx context.Context) error {
		if err := take(ctx); err != nil {
			return err
		}
		in.tip, in.equal = max(in.tip, last), max(in.equal, last)
		if layout.CrossesBlock(first, last) {
			return in.raiseHighMark(ctx, last)
		}
		return nil
	}
	if in.compares(last) {
		return in.hold(missing, write)
	}
	if err := in.settle(ctx); err != nil {
		return err
	}
	return write(ctx)
}

// at is what is stored at a number, of those up to the highest that there was at the beginning.
func (in *Import) at(ctx context.Context, seq int64) (layout.Slot, bool, error) {
	if seq > in.highest {
		return layout.Slot{}, false, nil
	}
	if block := seq / layout.PartitionSize; block != in.block {
		slots, err := in.journal.Store.Partition(ctx, &in.meter, in.pid, block)
		if err != nil {
			return layout.Slot{}, false, err
		}
		in.slots = make(map[int64]layout.Slot, len(slots))
		for _, slot := range slots {
			in.slots[slot.SequenceNr] = slot
		}
		in.block = block
		if err := in.pace(ctx); err != nil {
			return layout.Slot{}, false, err
		}
	}
	slot, there := in.slots[seq]
	return slot, there, nil
}

func (in *Import) conflict(seq int64, detail string) error {
	return &ContentConflictError{PersistenceID: in.pid, SequenceNumber: seq, Detail: detail}
}

func (in *Import) invalid(seq int64, reason string) error {
	return &RecordError{seq, reason}
}
