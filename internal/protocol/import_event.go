package protocol

import (
	"context"
	"errors"
	"fmt"

	"github.com/dynajournal/dynajournal/internal/history"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// maxSpan limits the numbers of one record, which are written item by item. No journal has as many
// holes in a row, and a damaged archive must not keep an import busy for ever.
const maxSpan = 1 << 20

// takeEvent takes an event. It writes a single event at once, and the members of an atomic write
// when it has all of them.
func (in *Import) takeEvent(ctx context.Context, r *history.Record) error {
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
		Metadata:           layout.Metadata{Time: r.Time, Values: r.Metadata, Tags: r.Tags},
	}
	if err := e.Metadata.Check(); err != nil && !errors.Is(err, layout.ErrMetadataTooLarge) {
		return in.invalid(r.SequenceNumber, err.Error())
	}
	if e.Enveloped && !e.Metadata.IsZero() {
		return &RejectedError{in.pid, -1, 0, 0, errNoMetadata}
	}
	if r.BatchFirst != 0 {
		e.Batch = layout.Batch{Start: r.BatchFirst, Last: r.BatchLast, WriterUUID: r.WriterUUID}
		if r.BatchFirst < 1 || r.BatchFirst > r.SequenceNumber ||
			r.BatchLast < r.SequenceNumber || r.BatchLast > layout.MaxSequenceNumber {
			return in.invalid(r.SequenceNumber, "it is outside of its atomic write")
		}
	}
	if len(in.batch) > 0 && in.batch[0].Batch != e.Batch {
		return in.invalid(r.SequenceNumber, "the previous atomic write lacks members")
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
	if err := in.checkHead(ctx, whole[0]); err != nil {
		return err
	}
	return in.put(ctx, whole)
}

// checkHead checks that the members of an atomic write before its first record are stored, or were
// cut off by the low mark: without them the rest would never count.
func (in *Import) checkHead(ctx context.Context, first *layout.Event) error {
	if first.SequenceNr == first.Batch.Start {
		return nil
	}
	low := in.currentLow()
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

// put writes the events of one atomic write, or a single event, unless they are stored already. All
// are compared before the first is written.
func (in *Import) put(ctx context.Context, events []*layout.Event) error {
	items := make([]layout.Attributes, 0, len(events))
	missing := make([]*layout.Event, 0, len(events))
	for _, e := range events {
		slot, there, err := in.slotAt(ctx, e.SequenceNr)
		if err != nil {
			return err
		}
		if there {
			if err := in.checkSame(slot, e); err != nil {
				return err
			}
			in.equal = e.SequenceNr
			continue
		}
		item := in.journal.Store.encodeEvent(e, e.SequenceNr == in.currentLow().Purged+1)
		if size := layout.Size(item); size > layout.MaxItemBytes {
			return &RejectedError{in.pid, -1, size, layout.MaxItemBytes, errItemTooLarge}
		}
		items, missing = append(items, item), append(missing, e)
	}
	first, last := events[0].SequenceNr, events[len(events)-1].SequenceNr
	return in.writeOrDefer(ctx, first, last, missing, func(ctx context.Context) error {
		return in.writeAll(ctx, items, missing)
	})
}

// writeOrDefer calls take, which writes the numbers first to last. If the target may have items
// after them, the call is deferred until all of these are compared. missing are the events that
// take writes.
func (in *Import) writeOrDefer(
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
	if in.mustDefer(last) {
		return in.deferWrite(missing, write)
	}
	if err := in.finishComparison(ctx); err != nil {
		return err
	}
	return write(ctx)
}

// slotAt returns the slot at a number, and reports whether something is stored there. It sends
// nothing for a number above the initial highest one.
func (in *Import) slotAt(ctx context.Context, seq int64) (layout.Slot, bool, error) {
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
