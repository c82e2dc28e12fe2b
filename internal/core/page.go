package core

import (
	"context"
	"fmt"
	"time"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/lifetime"
	"github.com/dynajournal/dynajournal/internal/protocol"
)

// LiveWindow is the root's LiveWindow.
const LiveWindow = 1000

// Page has the first events from a sequence number on, in order.
type Page struct {
	Events []StoredEvent
	// Low is the first number that is not deleted, or 0 if no number is deleted. It was read after
	// all events, or nothing was deleted in between.
	Low int64
	// Purged is the last number of the purged lives, or 0. It was read with Low. No event of the
	// page that was read later is below it.
	Purged int64
	// More reports whether there may be more events.
	More bool
	// Highest is the number of the last event that was read. If the highest stored number is far
	// above it, Highest is that number. In a native journal Highest is 0.
	Highest int64
}

// Span is a range of sequence numbers.
type Span struct{ First, Last int64 }

// StoredEvent is an event of a page.
type StoredEvent struct {
	SequenceNumber int64
	// Writer is the UUID of the writer.
	Writer string
	// Manifest, SerializerManifest and Tags mean the same as in a dynajournal.Event.
	Manifest, SerializerManifest string
	Tags                         []string
	// Single reports whether the event is not a member of an atomic write.
	Single bool
	// Low is the first number that was not deleted, as known when the event was read.
	Low int64
	// Missing lists the numbers between the event before and this event at which nothing is stored
	// and nothing was deleted. A JVM may still be writing there. In a native journal Missing is
	// empty, because a writer closes such numbers first.
	Missing []Span

	event *layout.Event
}

// ReadPage reads the first events of a persistence id from a number on, for a projection. from is
// at least 1. The caller's code does not run during the read, so all events belong to the same
// life: between two requests, a persistence id is not purged and used again.
func (j *Journal) ReadPage(ctx context.Context, pid string, from int64, most int) (Page, error) {
	if err := j.CheckReadable(pid); err != nil {
		return Page{}, err
	}
	req := From(pid, from)
	req.Limit = int64(most)
	var page Page
	var low int64
	var missing []Span
	req.Low = func(mark layout.LowMark) { low, page.Purged = mark.Seq, max(page.Purged, mark.Purged) }
	if !j.Native() {
		req.Missing = func(span protocol.Span) { missing = append(missing, Span(span)) }
	}
	err := j.Admit(ctx, dynamo.ForRead, func(ctx context.Context, _ *lifetime.Operation, started func()) error {
		req.Started = started
		var m dynamo.Meter
		result, err := j.Store.Replay(ctx, &m, req, func(e *layout.Event) error {
			stored := storedEvent(e)
			stored.Low, stored.Missing = low, missing
			page.Events = append(page.Events, stored)
			missing = nil
			return nil
		})
		if err == nil && !j.Native() {
			low, err = j.finishShared(ctx, &m, pid, &page, &result)
		}
		return j.InTable(j.Table, err)
	})
	if err != nil {
		return Page{}, fmt.Errorf("read events of %q: %w", pid, err)
	}
	page.Low, page.More = low, len(page.Events) == most
	return page, nil
}

// finishShared completes a page of a journal that is shared with a JVM, and returns the number of
// the low mark. A JVM leaves nothing where it deletes. So only a low mark that is read after the
// events shows which of them were deleted, and which numbers are missing because they were deleted.
func (j *Journal) finishShared(
	ctx context.Context, m *dynamo.Meter, pid string, page *Page, result *protocol.Result,
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
		end, err := j.Store.End(ctx, m, pid, result.Marks, result.FarMark)
		if err != nil {
			return 0, err
		}
		page.Highest = max(page.Highest, end.Highest)
	}
	marks, err := j.Store.LowMark(ctx, m, pid)
	return marks.Low.Seq, err
}

// StoredAt reads the numbers of a span. The result has each number at which an item is stored. Its
// value reports whether the item is an event.
func (j *Journal) StoredAt(ctx context.Context, pid string, span Span) (map[int64]bool, error) {
	found := map[int64]bool{}
	err := j.Operate(ctx, dynamo.ForRead, func(ctx context.Context, _ *lifetime.Operation) error {
		for first := span.First; first <= span.Last; {
			last := min(span.Last, first-first%layout.PartitionSize+layout.PartitionSize-1)
			slots, err := j.Store.Span(ctx, &dynamo.Meter{}, pid, first, last)
			if err != nil {
				return j.InTable(j.Table, err)
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

// ReadItem decodes an item of a partition of a persistence id as ReadPage does. It reports false if
// the item is a deleted event or a seal. It sends nothing.
func (j *Journal) ReadItem(pid string, partition int64, item dynamo.Attributes) (StoredEvent, bool, error) {
	slot, err := j.Store.Keys.DecodeSlot(pid, partition, item)
	switch {
	case err != nil:
		return StoredEvent{}, false, j.InTable(j.Table, err)
	case slot.Event == nil:
		return StoredEvent{}, false, nil
	}
	return storedEvent(slot.Event), true, nil
}

// Time returns the time at which the event was written, by the clock of its writer. It is zero if
// the time is not stored.
func (e *StoredEvent) Time() time.Time { return layout.TimeOf(e.event.Metadata.Time) }

// storedEvent returns the form of an event for a projection.
func storedEvent(e *layout.Event) StoredEvent {
	return StoredEvent{
		SequenceNumber: e.SequenceNr, Writer: e.WriterUUID, Single: !e.Batch.IsBatch(),
		Manifest: e.Manifest, SerializerManifest: e.SerializerManifest, Tags: e.Metadata.Tags,
		event: e,
	}
}

// DeliverEvents passes a stored event to read, or the events to which it is converted, as Deliver
// does, in the form of the root.
func DeliverEvents[E any](ctx context.Context, journal Opened[E], e *StoredEvent, read func(E) error) error {
	j, public := journal.opened()
	return j.Deliver(ctx, e.event, func(event Delivered) error { return read(public(event)) })
}
