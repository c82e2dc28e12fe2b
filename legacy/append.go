package legacy

import (
	"context"
	"errors"
	"fmt"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/lifetime"
	"github.com/dynajournal/dynajournal/serialization"
)

// Append writes an event, and returns when it is durable and every reader will find it. Its value is serialized by
// Config.Journal.Serialization; a serialization.Payload is written as it is. A string goes by the serializer of today (id 20),
// which an Akka of the time of these layouts does not know: for such a reader append a serialization.Payload of Java's
// serialization, or bytes.
//
// Several events would be an atomic write, which no older layout has: ErrNotAtomic.
//
// A context that ends before anything is sent changes nothing. One that ends later makes Append return
// dynajournal.ErrOutcomeUnknown at once, while the journal goes on writing; the writer has ended then.
//
// Errors: ErrNotAtomic, and of package dynajournal ErrRejected, ErrSequenceExhausted and ErrInvalidArgument (no events) leave
// the writer alive, nothing is written; so do errors of requests, if the event was not written. ErrWriterConflict and
// ErrOutcomeUnknown end it.
func (w *Writer) Append(ctx context.Context, events ...any) (dynajournal.AppendResult, error) {
	switch len(events) {
	case 0:
		return dynajournal.AppendResult{}, &dynajournal.ArgumentError{Argument: "events", Value: 0, Reason: "there must be at least one"}
	case 1:
		return w.append(ctx, events[0], 0)
	}
	return dynajournal.AppendResult{}, fmt.Errorf("append %d events to %q in the layout %s: %w", len(events), w.pid, w.journal.config.Layout, ErrNotAtomic)
}

// AppendEach writes events one after the other: the next only when the one before is durable. It returns an outcome for each
// event, in order, and the first error. A rejected event is left out and uses up no sequence number, those after it are
// written all the same; after any other error the rest is skipped. Errors are those of Append.
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
	return outcomes, first
}

// append writes one event; index is its place in the call.
func (w *Writer) append(ctx context.Context, event any, index int) (dynajournal.AppendResult, error) {
	payload, err := w.journal.config.Journal.Serialization.Encode(event)
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
	// A caller that goes before the event was sent takes it back; one that goes later leaves it to the journal.
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
			if err = <-outcome; err == nil { // nothing was sent, so it has failed
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
	return dynajournal.AppendResult{First: a.event.seq, Last: a.event.seq, Cost: a.meter.Cost()}, nil
}

var errItemTooLarge = errors.New("its item has too many bytes")

// prepare makes the item, and checks all that can be checked before anything is sent: what is refused here uses up no
// sequence number, so it leaves no hole.
func (w *Writer) prepare(p serialization.Payload, index int) (*pendingAppend, error) {
	if w.next > dynajournal.MaxSequenceNumber {
		return nil, fmt.Errorf("append to %q after sequence number %d: %w", w.pid, w.next-1, dynajournal.ErrSequenceExhausted)
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
		return nil, &dynajournal.RejectedError{PersistenceID: w.pid, Index: index, Size: size, Limit: config.Journal.MaxItemSize, Err: errItemTooLarge}
	}
	a := &pendingAppend{writer: w}
	a.event = newEvent{pid: w.pid, seq: w.next, item: item, send: a.sending.Send}
	return a, nil
}

// appending is an event on its way.
type pendingAppend struct {
	writer  *Writer
	event   newEvent
	meter   dynamo.Meter
	sending lifetime.Sending
}

// write puts the event, and decides whether the writer lives on.
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
		err = a.unknown(w.journal.named(err))
	default:
		return fmt.Errorf("append to %q at sequence number %d: %w", w.pid, a.event.seq, err)
	}
	w.turn.End(err)
	return err
}

func (a *pendingAppend) unknown(cause error) error {
	return &dynajournal.OutcomeUnknownError{PersistenceID: a.writer.pid, First: a.event.seq, Last: a.event.seq, Err: cause}
}
