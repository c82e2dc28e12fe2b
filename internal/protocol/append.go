package protocol

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/outside"
)

// Append writes events as one atomic write. Its error shows the outcome of the write. The caller
// sets the payload of each event. Append sets its number, writer, batch and time. index is the
// index of the first event in the caller's call, for a *RejectedError.
//
// The caller has entered the writer. Append leaves it when the write has finished, which can be
// after Append has returned. If nothing was sent because the writer's knowledge of the journal
// became too old, Append reads the journal again and starts over.
func (w *Writer) Append(ctx context.Context, m *dynamo.Meter, events []*layout.Event, index int) error {
	a, err := w.start(ctx, m, events, index)
	if err != nil {
		w.Leave()
		return err
	}
	return a.Finish(ctx)
}

// errReread reports that nothing of a write was sent, because the writer must read the journal
// again first. The caller still holds the turn.
var errReread = errors.New("the journal must be read again first")

// start prepares a write, puts the high mark if that comes before the events, and starts to put the
// events.
func (w *Writer) start(
	ctx context.Context, m *dynamo.Meter, events []*layout.Event, index int,
) (*AtomicWrite, error) {
	for {
		a, err := w.prepare(ctx, m, events, index)
		if err == nil {
			err = a.markFirst(ctx)
		}
		switch {
		case err == nil:
			a.start(ctx)
			return a, nil
		case !errors.Is(err, errReread):
			return nil, err
		}
	}
}

// Finish waits for the outcome of a started write. It is the second half of Append: it returns
// Append's errors, and leaves the writer as Append does.
func (a *AtomicWrite) Finish(ctx context.Context) error {
	for {
		err := a.conclude(ctx)
		if !errors.Is(err, errReread) {
			return err
		}
		again, err := a.writer.start(ctx, a.meter, a.events, a.index)
		if err != nil {
			a.writer.Leave()
			return err
		}
		a = again
	}
}

func (a *AtomicWrite) conclude(ctx context.Context) error {
	w := a.writer
	// If ctx ends before anything was sent, the write is withdrawn. If it ends later, the write
	// continues in the background.
	if !a.waitWhile(ctx) {
		if a.sending.TakeBack() {
			a.withdraw()
			w.Leave()
			return fmt.Errorf("write to %q: nothing was sent: %w", w.pid, context.Cause(ctx))
		}
		err := a.unknown(context.Cause(ctx))
		w.End(err)
		go func() {
			a.wait()
			w.Leave()
		}()
		return err
	}
	if err := a.finish(ctx); err != nil {
		if !errors.Is(err, errReread) {
			w.Leave()
		}
		return err
	}
	defer w.Leave()
	// The writer counts as idle since the write began. The time of the response would also be safe:
	// both this write and the next are acknowledged within half the fence window after the reads
	// that they rely on, so no tombstone that was put in between has expired.
	w.next, w.last, w.visible, w.active, w.alone = a.last()+1, w.uuid, a.last(), a.startedAt, a.startedAt
	w.time, w.timed = a.events[len(a.events)-1].Metadata.Time, true
	return nil
}

// prepare builds the items, and checks everything that can be checked before anything is sent. A
// write that is rejected here uses no sequence number, so it leaves no hole.
func (w *Writer) prepare(
	ctx context.Context, m *dynamo.Meter, events []*layout.Event, index int,
) (*AtomicWrite, error) {
	j := w.journal
	if len(events) > j.MaxBatchEvents {
		return nil, &RejectedError{w.pid, -1, len(events), j.MaxBatchEvents, errTooManyEvents}
	}
	if err := w.refresh(ctx, m); err != nil {
		return nil, err
	}
	if err := w.checkHandoverBefore(ctx, m); err != nil {
		return nil, fmt.Errorf("check whether a JVM has taken over %q: %w", w.pid, InTable(j.Store.Table, err))
	}
	return w.build(ctx, m, events, index)
}

// build builds the items of a write, and checks them.
func (w *Writer) build(
	ctx context.Context, m *dynamo.Meter, events []*layout.Event, index int,
) (*AtomicWrite, error) {
	j := w.journal
	if int64(len(events)) > w.remaining() {
		return nil, fmt.Errorf("append %d events to %q after sequence number %d: %w",
			len(events), w.pid, w.next-1, ErrSequenceExhausted)
	}
	a := &AtomicWrite{writer: w, meter: m, events: events, index: index, known: w.active, alone: w.alone}
	a.startedAt = j.Clock.Now()
	a.items, a.sizes = a.item[:], a.size[:]
	var batch layout.Batch
	if len(events) > 1 {
		a.items, a.sizes = make([]layout.Attributes, len(events)), make([]int, len(events))
		batch = layout.Batch{Start: w.next, Last: w.next + int64(len(events)) - 1, WriterUUID: w.uuid}
	}
	written, err := w.eventTime(ctx, m, a.startedAt)
	if err != nil {
		return nil, fmt.Errorf("append to %q: %w", w.pid, InTable(j.Store.Table, err))
	}
	total, before := 0, w.time
	for i, e := range events {
		e.PersistenceID, e.SequenceNr, e.WriterUUID = w.pid, w.next+int64(i), w.uuid
		e.Batch, e.Enveloped = batch, j.Enveloped
		if err := a.take(e, index+i); err != nil {
			return nil, err
		}
		if j.Metadata { // a host of entities has set the time at which it decided the command
			before = max(cmp.Or(e.Metadata.Time, written), before) | 1
			e.Metadata.Time = before
		}
		a.items[i] = j.Store.encodeEvent(e, i == 0 && w.Last() == 0)
		if w.follows(batch) {
			a.items[i][layout.AttrAfter] = &types.AttributeValueMemberS{Value: w.last}
		}
		size := layout.Size(a.items[i])
		if size > j.MaxItemSize {
			return nil, &RejectedError{w.pid, index + i, size, j.MaxItemSize, errItemTooLarge}
		}
		a.sizes[i] = size
		total += size
	}
	if len(events) > 1 && total > j.MaxBatchBytes {
		return nil, &RejectedError{w.pid, -1, total, j.MaxBatchBytes, errBatchTooLarge}
	}
	return a, nil
}

// follows reports whether the next event names the writer of the event before it. It does if it is
// a single event, and its writer has read but not written the event before it. So a projection that
// has handled the event before knows that both events are of the same life. The formats of plug-ins
// do not have such an attribute.
func (w *Writer) follows(batch layout.Batch) bool {
	return !w.journal.Store.Shared() && !batch.IsBatch() && w.last != w.uuid && w.last != "" && w.visible == w.next-1
}

// take checks that the payload of an event is recent enough, if it is stored outside of the
// journal, and records the oldest such payload. index is the index of the event in the call.
func (a *AtomicWrite) take(e *layout.Event, index int) error {
	if e.Outside == nil {
		return nil
	}
	if err := outside.Check(e.Outside, a.startedAt); err != nil {
		return &RejectedError{a.writer.pid, index, 0, 0, err}
	}
	if a.outside == nil || a.outside.Until(a.startedAt) < e.Outside.Until(a.startedAt) {
		a.outside = e.Outside
	}
	return nil
}

// encodeEvent returns the item of an event. lists makes the event list its persistence id, in a
// native journal: the first event of each life does.
func (s *Store) encodeEvent(e *layout.Event, lists bool) layout.Attributes {
	item := s.Keys.EncodeEvent(e)
	if lists {
		maps.Copy(item, s.ids(e.PersistenceID))
	}
	return item
}
