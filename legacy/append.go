package legacy

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/lifetime"
	"github.com/dynajournal/dynajournal/serialization"
)

// Append writes one event. It returns when the event is durable and every reader finds it. The
// value is serialized with Config.Journal.Serialization; a serialization.Payload is written
// unchanged. A string gets the current string serializer (id 20), which an Akka version of the time
// of these layouts does not have. For such a reader append a serialization.Payload in Java's
// serialization, or bytes.
//
// Several events would be an atomic write, which no older layout supports: Append returns
// [ErrNotAtomic].
//
// If ctx ends before the event is sent, nothing changes. If it ends later, Append returns
// [dynajournal.ErrOutcomeUnknown] immediately, the journal completes the write, and the writer has
// ended.
//
// After these errors nothing is written and the writer can still be used: ErrNotAtomic,
// dynajournal.ErrRejected, ErrSequenceExhausted, ErrInvalidArgument (no events), and request errors
// for a request that did not write the event. dynajournal.ErrWriterConflict and ErrOutcomeUnknown
// end the writer.
func (w *Writer) Append(ctx context.Context, events ...any) (dynajournal.AppendResult, error) {
	switch len(events) {
	case 0:
		return dynajournal.AppendResult{}, &dynajournal.ArgumentError{Argument: "events", Value: 0,
			Reason: "there must be at least one"}
	case 1:
		return w.append(ctx, events[0], 0)
	}
	return dynajournal.AppendResult{}, fmt.Errorf("append %d events to %q in the layout %s: %w", len(events), w.pid,
		w.journal.config.Layout, ErrNotAtomic)
}

// AppendEach writes events one after the other. Each is sent when the event before it is durable.
// It returns an outcome for each event, in order, and the first error. A rejected event is left out
// and does not use a sequence number, and the events after it are written. After any other error
// the remaining events are skipped. Errors are those documented on Append.
func (w *Writer) AppendEach(ctx context.Context, events ...any) ([]dynajournal.Outcome, error) {
	outcomes := make([]dynajournal.Outcome, len(events))
	var first error
	for i, event := range events {
		if first != nil && !errors.Is(first, dynajournal.ErrRejected) {
			outcomes[i].Err = dynajournal.ErrSkipped
			continue
		}
		result, err := w.append(ctx, event, i)
		outcomes[i] = dynajournal.Outcome{SequenceNumber: result.First, Err: err}
		if err != nil && (first == nil || !errors.Is(err, dynajournal.ErrRejected)) {
			first = err
		}
	}
	written := func(o dynajournal.Outcome) bool { return o.SequenceNumber != 0 || dynajournal.MaybeApplied(o.Err) }
	if first != nil && slices.ContainsFunc(outcomes, written) {
		first = dynamo.Applied(first)
	}
	return outcomes, first
}

// append writes one event. index is the position of the event in the call.
func (w *Writer) append(ctx context.Context, event any, index int) (dynajournal.AppendResult, error) {
	payload, err := w.journal.config.Journal.Serialization.Encode(ctx, event)
	if err != nil {
		return dynajournal.AppendResult{}, &dynajournal.RejectedError{PersistenceID: w.pid, Index: index, Err: err}
	}
	release, err := w.enter(ctx)
	if err != nil {
		return dynajournal.AppendResult{}, err
	}
	a, err := w.prepare(payload, index)
	if err != nil {
		release()
		return dynajournal.AppendResult{}, err
	}
	// If ctx ends before the event is sent, the write is taken back. If it ends later, the write
	// continues in the background.
	outcome, gone := make(chan error), make(chan struct{})
	writing, cancel := w.journal.life.Write(ctx)
	go func() {
		defer release()
		defer cancel(nil)
		err := a.write(writing)
		select {
		case outcome <- err:
		case <-gone:
		}
	}()
	select {
	case err = <-outcome:
	case <-ctx.Done():
		if a.sending.TakeBack() {
			cancel(context.Cause(ctx))
			if err = <-outcome; err == nil { // it was not sent, so it has failed
				break
			}
			err = fmt.Errorf("write to %q: nothing was sent: %w", w.pid, context.Cause(ctx))
			break
		}
		err = a.unknown(context.Cause(ctx))
		w.turn.End(err)
		close(gone)
	}
	if err != nil {
		return dynajournal.AppendResult{}, err
	}
	return dynajournal.AppendResult{First: a.event.seq, Last: a.event.seq, Cost: dynajournal.Cost(a.meter.Cost())}, nil
}

var errItemTooLarge = errors.New("its item has too many bytes")

// prepare makes the item and makes all checks that are possible before a request. An event that is
// rejected here does not use a sequence number, so it leaves no gap.
func (w *Writer) prepare(p serialization.Payload, index int) (*pendingAppend, error) {
	if w.next > dynajournal.MaxSequenceNumber {
		return nil, fmt.Errorf("append to %q after sequence number %d: %w", w.pid, w.next-1,
			dynajournal.ErrSequenceExhausted)
	}
	config, store := &w.journal.config, w.journal.store
	item := encode(config.Layout, store.eventKey(w.pid, w.next), &dynajournal.Event{
		PersistenceID:      w.pid,
		SequenceNumber:     w.next,
		WriterUUID:         w.uuid,
		SerializerID:       p.SerializerID,
		SerializerManifest: p.Manifest,
		Bytes:              p.Bytes,
	})
	if size := layout.Size(item); size > config.Journal.MaxItemSize {
		return nil, &dynajournal.RejectedError{PersistenceID: w.pid, Index: index, Size: size,
			Limit: config.Journal.MaxItemSize, Err: errItemTooLarge}
	}
	a := &pendingAppend{writer: w}
	a.event = newEvent{pid: w.pid, seq: w.next, item: item, send: a.sending.Send}
	return a, nil
}

// pendingAppend is an event that is being written.
type pendingAppend struct {
	writer  *Writer
	event   newEvent
	meter   dynamo.Meter
	sending lifetime.Sending
}

// write puts the event. It ends the writer if the outcome requires it.
func (a *pendingAppend) write(ctx context.Context) error {
	w := a.writer
	err := w.journal.store.put(ctx, &a.meter, &a.event)
	switch {
	case err == nil:
		w.next++
		return nil
	case errors.Is(err, errTaken):
		err = &dynajournal.ConflictError{PersistenceID: w.pid, SequenceNumber: a.event.seq}
	case errors.Is(err, errUnsure) || dynamo.MaybeApplied(err):
		err = a.unknown(w.journal.withTable(err))
	default:
		return fmt.Errorf("append to %q at sequence number %d: %w", w.pid, a.event.seq, err)
	}
	w.turn.End(err)
	return err
}

func (a *pendingAppend) unknown(cause error) error {
	return &dynajournal.OutcomeUnknownError{PersistenceID: a.writer.pid, First: a.event.seq, Last: a.event.seq,
		Err: cause}
}
