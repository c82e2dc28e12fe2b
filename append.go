package dynajournal

import (
	"context"
	"errors"
	"slices"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/serialization"
)

// AppendResult says what an append has written.
type AppendResult struct {
	// First and Last are the sequence numbers of the events.
	First, Last int64
	// Cost is what it cost, retries included.
	Cost Cost
}

// Append writes events as one atomic write: all of them or none is there for every reader, however
// many they are (bounded by Config.MaxBatchEvents and MaxBatchBytes). It returns when they are
// durable. Values are serialized by Config.Serialization; a serialization.Payload is written as it
// is.
//
// A context that ends before anything is sent changes nothing. One that ends later makes Append
// return ErrOutcomeUnknown at once, while the journal goes on writing; the writer has ended then.
//
// Errors: ErrRejected, ErrSequenceExhausted and ErrInvalidArgument (no events) leave the writer
// alive, nothing is written; so do errors of requests, if no part of the write was done.
// ErrWriterConflict and ErrOutcomeUnknown end it.
func (w *Writer) Append(ctx context.Context, events ...any) (AppendResult, error) {
	if len(events) == 0 {
		return AppendResult{}, &ArgumentError{"events", 0, "there must be at least one"}
	}
	encoded := make([]*layout.Event, len(events))
	for i, e := range events {
		var err error
		if encoded[i], err = w.encode(e, i); err != nil {
			return AppendResult{}, err
		}
	}
	return w.append(ctx, encoded, 0)
}

// Outcome is what became of one event of AppendEach.
type Outcome struct {
	// SequenceNumber is the event's, 0 if it was not written.
	SequenceNumber int64
	// Err is why it was not written, or not acknowledged. ErrSkipped is an event that was not
	// tried, because one before it failed.
	Err error
}

// AppendEach writes events one after the other, each on its own: the next only when the one before
// is durable. It returns an outcome for each event, in order, and the first error. A rejected event
// is left out and uses up no sequence number, those after it are written all the same; after any
// other error the rest is skipped. Errors are those of Append.
//
// Each outcome says what was true when the journal went on to the next event. While the call goes
// on, another writer can delete or purge events that it has written.
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
	e, err := w.encode(event, index)
	if err != nil {
		return AppendResult{}, err
	}
	return w.append(ctx, []*layout.Event{e}, index)
}

// encode makes a stored event of a value, without its number; index is its place in the call.
func (w *Writer) encode(event any, index int) (*layout.Event, error) {
	stored, manifest, err := w.journal.adapt(event)
	var p serialization.Payload
	if err == nil {
		p, err = w.journal.config.Serialization.Encode(stored)
	}
	if err == nil && !layout.IsUTF8(p.Manifest, manifest) {
		err = errManifestNotText
	}
	if err != nil {
		return nil, &RejectedError{PersistenceID: w.PersistenceID(), Index: index, Err: err}
	}
	return &layout.Event{Bytes: p.Bytes, SerializerID: p.SerializerID, SerializerManifest: p.Manifest, Manifest: manifest}, nil
}

// errManifestNotText is why events and states are rejected whose manifest would not be read as it
// was written.
var errManifestNotText = errors.New("its manifest is not valid UTF-8")

// append writes one atomic write; index is the place of its first event in the call.
func (w *Writer) append(ctx context.Context, events []*layout.Event, index int) (AppendResult, error) {
	release, err := w.enter(ctx)
	if err != nil {
		return AppendResult{}, err
	}
	m := &dynamo.Meter{}
	if err := w.state.Append(ctx, m, events, index, release); err != nil {
		return AppendResult{}, public(err)
	}
	return AppendResult{First: events[0].SequenceNr, Last: events[len(events)-1].SequenceNr, Cost: Cost(m.Cost())}, nil
}
