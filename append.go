package dynajournal

import (
	"context"
	"errors"
	"slices"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/serialization"
)

// AppendResult is the result of an append.
type AppendResult struct {
	// First and Last are the sequence numbers of the first and the last event.
	First, Last int64
	// Cost includes that of retries.
	Cost Cost
}

// Append writes events as one atomic write, and returns when they are durable. A reader finds all
// of them or none. Config.MaxBatchEvents and Config.MaxBatchBytes limit their number and size.
// Config.Serialization encodes the values; a [serialization.Payload] is written as it is. A
// [NewEvent] is a value with metadata or tags.
//
// If ctx ends before anything is sent, nothing is written. If it ends later, Append returns
// [ErrOutcomeUnknown] at once, the journal goes on writing, and the writer has ended.
//
// Errors:
//
//   - [ErrRejected], [ErrSequenceExhausted], [ErrInvalidArgument] (no events): nothing is written,
//     and the writer goes on.
//   - Errors of requests, and the context's: nobody will read any of the events. The writer goes on
//     unless some events of an atomic write are stored: see [Writer.Err].
//   - [ErrWriterConflict]: the same, and the writer has ended.
//   - [ErrOutcomeUnknown]: the events may be written, and the writer has ended.
//   - [ErrWriterEnded], [ErrClosed]: nothing is written.
func (w *Writer) Append(ctx context.Context, events ...any) (AppendResult, error) {
	encoded, err := w.encodeAll(ctx, events)
	if err != nil {
		return AppendResult{}, err
	}
	return w.append(ctx, encoded, 0)
}

// Outcome is the outcome of one event of AppendEach.
type Outcome struct {
	// SequenceNumber is the number of the event, 0 if Err is not nil.
	SequenceNumber int64
	// Err is the error of Append for the event, or ErrSkipped.
	Err error
}

// AppendEach writes events one after the other, each on its own and only when the one before is
// durable. It returns an outcome for each event, in order, and the first error other than
// [ErrRejected], or else the first error. Errors are those of [Writer.Append].
//
// A rejected event uses no sequence number, and the events behind it are written. After any other
// error the remaining events are not written: their outcome is [ErrSkipped].
//
// An outcome is that of the moment at which the event was written. Another writer can delete or
// purge the event before AppendEach returns.
func (w *Writer) AppendEach(ctx context.Context, events ...any) ([]Outcome, error) {
	outcomes := make([]Outcome, len(events))
	var first error
	for i, e := range events {
		if first != nil && !errors.Is(first, ErrRejected) {
			outcomes[i].Err = ErrSkipped
			continue
		}
		var result AppendResult
		result, outcomes[i].Err = w.appendOne(ctx, e, i)
		outcomes[i].SequenceNumber = result.First
		if err := outcomes[i].Err; err != nil && (first == nil || !errors.Is(err, ErrRejected)) {
			first = err
		}
	}
	written := func(o Outcome) bool { return o.SequenceNumber != 0 || MaybeApplied(o.Err) }
	if first != nil && slices.ContainsFunc(outcomes, written) {
		first = dynamo.Applied(first)
	}
	return outcomes, first
}

func (w *Writer) appendOne(ctx context.Context, event any, index int) (AppendResult, error) {
	e, err := w.journal.encode(ctx, w.PersistenceID(), event, index)
	if err != nil {
		return AppendResult{}, err
	}
	return w.append(ctx, []*layout.Event{e}, index)
}

// encodeAll returns the stored forms of the events of an atomic write, without their numbers.
func (w *Writer) encodeAll(ctx context.Context, events []any) ([]*layout.Event, error) {
	if len(events) == 0 {
		return nil, &ArgumentError{"events", 0, "there must be at least one"}
	}
	encoded := make([]*layout.Event, len(events))
	for i, e := range events {
		var err error
		if encoded[i], err = w.journal.encode(ctx, w.PersistenceID(), e, i); err != nil {
			return nil, err
		}
	}
	return encoded, nil
}

// encode returns the stored form of an event, without its number. index is its index in the call.
func (j *Journal) encode(ctx context.Context, pid string, event any, index int) (*layout.Event, error) {
	if e, ok := event.(encodedEvent); ok {
		return e.Event, nil
	}
	e, ok := event.(NewEvent)
	if !ok {
		e = NewEvent{Value: event}
	}
	return j.encodeNew(ctx, pid, &e, index)
}

// encodeNew is encode for a new event.
func (j *Journal) encodeNew(ctx context.Context, pid string, e *NewEvent, index int) (*layout.Event, error) {
	metadata, err := j.metadata(e)
	var stored any
	var manifest string
	if err == nil {
		stored, manifest, err = j.adapt(e.Value)
	}
	var p serialization.Payload
	if err == nil {
		p, err = j.config.Serialization.EncodeContext(ctx, stored)
	}
	if err == nil && !layout.IsUTF8(p.Manifest, manifest) {
		err = errManifestNotText
	}
	if err != nil {
		return nil, &RejectedError{PersistenceID: pid, Index: index, Err: err}
	}
	return &layout.Event{
		Bytes: p.Bytes, SerializerID: p.SerializerID, SerializerManifest: p.Manifest, Manifest: manifest,
		Metadata: metadata,
	}, nil
}

// errManifestNotText rejects events and states whose manifest would be read otherwise than it was
// written.
var errManifestNotText = errors.New("its manifest is not valid UTF-8")

// append writes one atomic write. index is the index of its first event in the call.
func (w *Writer) append(ctx context.Context, events []*layout.Event, index int) (AppendResult, error) {
	if err := w.state.Enter(ctx); err != nil {
		return AppendResult{}, public(err)
	}
	return w.write(ctx, events, index)
}

// write is append for a caller that has entered the writer. It leaves the writer.
func (w *Writer) write(ctx context.Context, events []*layout.Event, index int) (AppendResult, error) {
	m := &dynamo.Meter{}
	if err := w.state.Append(ctx, m, events, index); err != nil {
		return AppendResult{}, public(err)
	}
	return AppendResult{First: events[0].SequenceNr, Last: events[len(events)-1].SequenceNr, Cost: Cost(m.Cost())}, nil
}
