package dynajournal

import (
	"context"
	"fmt"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/lifetime"
	"github.com/dynajournal/dynajournal/internal/private"
	"github.com/dynajournal/dynajournal/internal/protocol"
	"github.com/dynajournal/dynajournal/internal/safeguard"
)

// readPage reads the first events of a persistence id from a number on, for a projection. None of
// the caller's code runs meanwhile, so the events are of one moment: between two requests a
// persistence id is not purged and used again.
func (j *Journal) readPage(ctx context.Context, pid string, from int64, most int) (private.Page, error) {
	limit := int64(most)
	req, _, err := Range{From: from, Limit: &limit}.request(pid, "Range")
	if err == nil {
		err = j.checkReadable(pid)
	}
	if err != nil {
		return private.Page{}, err
	}
	var page private.Page
	var low int64
	var missing []private.Span
	req.Low = func(mark layout.LowMark) { low = mark.Seq }
	if !j.Native() {
		req.Missing = func(span protocol.Span) { missing = append(missing, private.Span(span)) }
	}
	err = j.admit(ctx, func(ctx context.Context, _ *lifetime.Operation, begun func()) error {
		req.Begun = begun
		var m dynamo.Meter
		result, err := j.store.Replay(ctx, &m, req, func(e *layout.Event) error {
			stored := j.storedEvent(e)
			stored.Low, stored.Missing = low, missing
			page.Events = append(page.Events, stored)
			missing = nil
			return nil
		})
		if err == nil && !j.Native() {
			low, err = j.finishShared(ctx, &m, pid, &page, &result)
		}
		return itemError(j.config.JournalTable, err)
	})
	if err != nil {
		return private.Page{}, fmt.Errorf("read events of %q: %w", pid, err)
	}
	page.Low, page.More = low, len(page.Events) == most
	return page, nil
}

// finishShared reads what follows the events of a page in a journal that is shared with a JVM, and
// returns the low mark. A JVM leaves nothing where it deletes. So only a low mark that is read
// after the events shows which of them were deleted, and which were not read for that reason.
func (j *Journal) finishShared(
	ctx context.Context, m *dynamo.Meter, pid string, page *private.Page, result *protocol.Result,
) (int64, error) {
	first := int64(0)
	for i := range page.Events {
		e := &page.Events[i]
		page.Highest = e.SequenceNumber
		if len(e.Missing) > 0 && first == 0 {
			first = e.Missing[0].First
		}
	}
	if first > 0 && page.Highest-first < LiveWindow && result.Marks.High-first >= LiveWindow {
		// The mark can be damaged.
		end, err := j.store.End(ctx, m, pid, result.Marks, result.FarMark)
		if err != nil {
			return 0, err
		}
		page.Highest = max(page.Highest, end.Highest)
	}
	if !safeguard.ProjectionLowLast {
		return result.Marks.Low.Seq, nil
	}
	marks, err := j.store.LowMark(ctx, m, pid)
	return marks.Low.Seq, err
}

// storedAt reads the numbers of a span, and returns for each at which an item is stored whether it
// is an event.
func (j *Journal) storedAt(ctx context.Context, pid string, span private.Span) (map[int64]bool, error) {
	found := map[int64]bool{}
	err := j.operate(ctx, func(ctx context.Context, _ *lifetime.Operation) error {
		for first := span.First; first <= span.Last; {
			last := min(span.Last, first-first%layout.PartitionSize+layout.PartitionSize-1)
			slots, err := j.store.Span(ctx, &dynamo.Meter{}, pid, first, last)
			if err != nil {
				return itemError(j.config.JournalTable, err)
			}
			for i := range slots {
				found[slots[i].SequenceNr] = slots[i].Event != nil
			}
			first = last + 1
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read numbers of %q again: %w", pid, err)
	}
	return found, nil
}

// storedEvent returns the form of an event for a projection.
func (j *Journal) storedEvent(e *layout.Event) private.StoredEvent {
	return private.StoredEvent{
		SequenceNumber: e.SequenceNr, Writer: e.WriterUUID, Single: !e.Batch.IsBatch(),
		Manifest: e.Manifest, SerializerManifest: e.SerializerManifest, Tags: e.Metadata.Tags,
		Deliver: func(ctx context.Context, read func(event any) error) error {
			return j.deliver(ctx, e, func(event Event) error { return read(&event) })
		},
	}
}

// readItem decodes an item of a partition of a persistence id, as a reading does. It reports false
// if that is no event.
func (j *Journal) readItem(pid string, partition int64, item dynamo.Attributes) (private.StoredEvent, bool, error) {
	slot, err := j.store.Keys.DecodeSlot(pid, partition, item)
	switch {
	case err != nil:
		return private.StoredEvent{}, false, itemError(j.config.JournalTable, err)
	case slot.Event == nil:
		return private.StoredEvent{}, false, nil
	}
	return j.storedEvent(slot.Event), true, nil
}

// operateRequests runs a function that sends requests of its own as an operation of the journal.
func (j *Journal) operateRequests(ctx context.Context, do func(context.Context, *dynamo.Client) error) error {
	return j.operate(ctx, func(ctx context.Context, _ *lifetime.Operation) error {
		return public(do(ctx, j.client))
	})
}
