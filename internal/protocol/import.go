package protocol

import (
	"context"
	"fmt"

	"github.com/dynajournal/dynajournal/internal/clock"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/history"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// Import writes a history to a persistence id: call Start, then Record for each record in order,
// then Finish. It must not be used concurrently.
type Import struct {
	paced
	overlap

	journal *Journal
	pid     string

	// Events is the number of events in the records. Written is the number of those that were not
	// stored before.
	Events, Written int64
	// Highest is the last number of the records. It is valid when Finish has returned.
	Highest int64

	// low and high are the marks of the target. Writes update them. highest and hint are the
	// highest number and the high mark of the target at the beginning.
	low     layout.LowMark
	high    int64
	hint    int64
	highest int64
	// jvmLow is the low mark as a JVM reads it.
	jvmLow int64
	// tip is the highest number that is taken in the target, including the numbers that this import
	// has written.
	tip int64

	// next is the number at which the next record must begin, or 0 if it may begin anywhere up to
	// tip + 1.
	next int64
	// last is the last number of the records so far.
	last int64
	// batch has the members so far of an atomic write that is not complete. bytes is the size of
	// their payloads.
	batch []*layout.Event
	bytes int

	// start is the start of the first request. The responses since then show whether the clock is
	// off.
	start clock.Moment

	// slots are the slots of the partition with the number block, which is -1 at first.
	block int64
	slots map[int64]layout.Slot
}

// NewImport returns an import to a persistence id.
func (j *Journal) NewImport(pid string, pace Pace) *Import {
	return &Import{paced: paced{call: pace}, journal: j, pid: pid, block: -1}
}

// Cost returns the cost of the import so far.
func (in *Import) Cost() dynamo.Cost { return in.meter.Cost() }

// Mark returns an error of the import as dynamo.Meter.Mark does.
func (in *Import) Mark(err error) error { return in.meter.Mark(err) }

// Start reads the marks and the highest number of the target.
func (in *Import) Start(ctx context.Context) error {
	in.start = in.journal.Clock.Now()
	marks, err := in.journal.Store.DurableMarks(ctx, &in.meter, in.pid)
	if err != nil {
		return err
	}
	highest, err := in.journal.Store.Highest(ctx, &in.meter, in.pid, marks)
	if err != nil {
		return err
	}
	in.highest, in.tip, in.hint, in.high = highest, highest, marks.High, marks.High
	in.low, in.jvmLow = marks.Low, marks.JVMLow
	return in.pace(ctx)
}

// Finish completes an import after the last record.
func (in *Import) Finish(ctx context.Context) error {
	if len(in.batch) > 0 {
		return in.invalid(in.next, "an atomic write lacks members")
	}
	if in.highest > in.last {
		return in.conflict(in.last+1, "the copied history ends before it")
	}
	if err := in.finishComparison(ctx); err != nil {
		return err
	}
	in.Highest = in.last
	return in.raiseHighMark(ctx, in.last)
}

// Record takes the next record, and writes the part of it that is not stored yet.
func (in *Import) Record(ctx context.Context, r *history.Record) error {
	largest := int64(layout.MaxSequenceNumber)
	if r.Kind == history.LowMark { // every event may be deleted
		largest++
	}
	if r.SequenceNumber < 1 || r.SequenceNumber > largest {
		return in.invalid(r.SequenceNumber, "its sequence number is out of range")
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
		if err := in.checkFollows(ctx, r.SequenceNumber, r.SequenceNumber); err != nil {
			return err
		}
		return in.takeEvent(ctx, r)
	case history.Closed:
		if err := in.checkFollows(ctx, r.SequenceNumber, r.Last); err != nil {
			return err
		}
		return in.closeNumbers(ctx, r.SequenceNumber, r.Last)
	case history.Deleted:
		return in.putDeleted(ctx, r.SequenceNumber, r.Last)
	}
	return in.invalid(r.SequenceNumber, fmt.Sprintf("unknown kind of record %d", r.Kind))
}

// checkFollows checks that a span begins where the previous record ended, and that the first record
// leaves no gap after the stored numbers.
func (in *Import) checkFollows(ctx context.Context, first, last int64) error {
	lowest := in.currentLow().First()
	switch {
	case last < first || last > layout.MaxSequenceNumber || last-first >= maxSpan:
		return in.invalid(first, fmt.Sprintf("its span up to %d is not valid", last))
	case first <= in.currentLow().Purged:
		return in.purgedHere(first)
	case first < lowest:
		return in.conflict(first, "it is deleted in the target")
	case in.next != 0 && first != in.next:
		return in.invalid(first, fmt.Sprintf("expected record %d", in.next))
	case in.next == 0 && first > max(in.tip+1, lowest):
		return in.invalid(first, fmt.Sprintf("the highest number in the target is %d, and the numbers in between are missing",
			in.tip))
	}
	if in.next == 0 && first == in.tip+1 && in.tip >= in.low.First() {
		// No record is compared with the item that is stored there.
		slot, there, err := in.slotAt(ctx, in.tip)
		if err == nil && there {
			err = in.checkStays(ctx, slot)
		}
		if err != nil {
			return err
		}
	}
	in.next, in.last = last+1, last
	return nil
}

func (in *Import) conflict(seq int64, detail string) error {
	return &ContentConflictError{PersistenceID: in.pid, SequenceNumber: seq, Detail: detail}
}

func (in *Import) invalid(seq int64, reason string) error {
	return &RecordError{seq, reason}
}
