package dynajournal

import (
	"context"
	"errors"
	"slices"

	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// AppendResult is the result of an append.
type AppendResult struct {
	// First and Last are the sequence numbers of the first and the last event.
	First, Last int64
	// Cost is the cost of the append, including retries.
	Cost Cost
}

// Append writes events as one atomic write, and returns when they are durable. A reader finds all
// of the events or none. Config.MaxBatchEvents and Config.MaxBatchBytes limit their number and
// size. Config.Serialization encodes each value; a [serialization.Payload] is written as it is.
// Pass a [NewEvent] for a value with metadata or tags.
//
// If ctx ends before anything is sent, nothing is written. If it ends later, Append returns
// [ErrOutcomeUnknown] at once, the journal completes the write in the background, and the writer
// has ended.
//
// Errors:
//
//   - [ErrRejected], [ErrSequenceExhausted], [ErrInvalidArgument] (no events): nothing is written,
//     and the writer continues.
//   - Request errors, and the error of ctx: no reader will see any of the events. The writer
//     continues unless some events of an atomic write are stored: see [Writer.Err].
//   - [ErrWriterConflict]: no reader will see any of the events, and the writer has ended.
//   - [ErrOutcomeUnknown]: the events may be written, and the writer has ended.
//   - [ErrWriterEnded], [ErrClosed]: nothing is written.
func (w *Writer) Append(ctx context.Context, events ...any) (AppendResult, error) {
	encoded, err := w.encodeAll(ctx, events)
	if err != nil {
		return AppendResult{}, err
	}
	result, err := w.core().Append(ctx, encoded, 0)
	return appendResult(result), err
}

// Outcome is the outcome of one event of AppendEach.
type Outcome struct {
	// SequenceNumber is the sequence number of the event, or 0 if Err is not nil.
	SequenceNumber int64
	// Err is the error for the event, as Append returns it, or ErrSkipped.
	Err error
}

// AppendEach writes events one after the other, each on its own and only when the event before it
// is durable. It returns an outcome for each event, in order. Its error is the first error other
// than [ErrRejected], or else the first error. Errors are those documented on [Writer.Append].
//
// A rejected event does not use a sequence number, and the events after it are written. After any
// other error the remaining events are not written: their outcome is [ErrSkipped].
//
// An outcome describes the moment at which the event was written. Another writer can delete or
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
	e, err := w.encode(ctx, event, index)
	if err != nil {
		w.core().Rejected(ctx, 1, err)
		return AppendResult{}, err
	}
	result, err := w.core().Append(ctx, []*layout.Event{e}, index)
	return appendResult(result), err
}

// encodeAll returns the stored forms of the events of an atomic write, without their numbers.
func (w *Writer) encodeAll(ctx context.Context, events []any) ([]*layout.Event, error) {
	if len(events) == 0 {
		return nil, &ArgumentError{"events", 0, "there must be at least one"}
	}
	encoded := make([]*layout.Event, len(events))
	for i, e := range events {
		var err error
		if encoded[i], err = w.encode(ctx, e, i); err != nil {
			w.core().Rejected(ctx, len(events), err)
			return nil, err
		}
	}
	return encoded, nil
}

// encode returns the stored form of an event, without its number. index is its index in the call.
func (w *Writer) encode(ctx context.Context, event any, index int) (*layout.Event, error) {
	e, ok := event.(NewEvent)
	if !ok {
		e = NewEvent{Value: event}
	}
	return w.core().Encode(ctx, (*core.New)(&e), index)
}

func appendResult(r core.Result) AppendResult { return AppendResult{r.First, r.Last, Cost(r.Cost)} }

// AppendAt is [Writer.Append] on the condition that last is the sequence number of the last visible
// event, as [Writer.Last] returns it: 0 for a persistence id without events. Use it to write a
// decision that was based on the state at that version.
//
// The writer compares last in the call's turn, after the calls before it and without a request. Of
// two calls with the same last, at most one succeeds. The writer does not see the events of another
// writer until its own write fails: the error is then [ErrWriterConflict].
//
// Errors are [ErrVersion] and the errors documented on [Writer.Append]. After ErrVersion nothing
// was written, and the writer continues.
func (w *Writer) AppendAt(ctx context.Context, last int64, events ...any) (AppendResult, error) {
	if last < 0 {
		return AppendResult{}, &ArgumentError{"last", last, core.MustNotBeNegative}
	}
	encoded, err := w.encodeAll(ctx, events)
	if err != nil {
		return AppendResult{}, err
	}
	result, err := w.core().AppendAt(ctx, last, encoded)
	return appendResult(result), err
}

// Last returns the sequence number of the last visible event, which is the version of the
// persistence id, or 0 if there never was an event. It waits for the calls in flight.
//
// An event is visible if [Journal.Events] returns it, or returned it before it was deleted. Numbers
// that are sealed, missing, or taken by an atomic write that failed are not visible, so Last can be
// lower than the number before [Writer.NextSequenceNumber].
//
// Deleting the last event does not change Last. After a recovery from a snapshot, Last is at least
// the number of the snapshot. After a deletion by a JVM, it is at least the last number that the
// JVM has deleted. After a purge, it is the number that the purge has taken, until every trace of
// the persistence id has expired.
//
// Errors: [ErrWriterEnded], [ErrClosed], and the error of ctx.
func (w *Writer) Last(ctx context.Context) (int64, error) { return w.core().Last(ctx) }

// MaxMetadataBytes is the largest size of an event's metadata in bytes, all keys and values
// together. It is also the largest size of its tags.
const MaxMetadataBytes = 2048

// NewEvent is an event with metadata or tags. Pass it to [Writer.Append] and [Writer.AppendEach] in
// place of a value.
//
// A journal that does not store metadata (see Config.EventMetadata) rejects it.
type NewEvent struct {
	// Value is the event itself. It is encoded like a value that is passed to Append.
	Value any
	// Metadata is stored with the event, for example a trace context or a tenant. Keys must not be
	// empty. Keys that begin with "dj." are reserved and rejected. The limit is [MaxMetadataBytes].
	Metadata map[string]string
	// Tags are names by which readers select events. They must not be empty. A repeated tag is
	// stored once. The limit is [MaxMetadataBytes].
	Tags []string
}
