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
	// Cost includes that of retries.
	Cost Cost
}

// Append writes events as one atomic write, and returns when they are durable. A reader finds all
// of them or none. Config.MaxBatchEvents and Config.MaxBatchBytes limit their number and size.
// Config.Serialization encodes the values; a [serialization.Payload] is written as it is. A
// [NewEvent] is a value with metadata or tags.
//
// If ctx ends before anything is sent, nothing is written. If it ends later, Append returns
// [ErrOutcomeUnknown] at once, the journal continues writing, and the writer has ended.
//
// Errors:
//
//   - [ErrRejected], [ErrSequenceExhausted], [ErrInvalidArgument] (no events): nothing is written,
//     and the writer continues.
//   - Errors of requests, and the context's: no reader will see any of the events. The writer
//     continues unless some events of an atomic write are stored: see [Writer.Err].
//   - [ErrWriterConflict]: the same, and the writer has ended.
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
	// SequenceNumber is the number of the event, 0 if Err is not nil.
	SequenceNumber int64
	// Err is the error of Append for the event, or ErrSkipped.
	Err error
}

// AppendEach writes events one after the other, each on its own and only when the one before is
// durable. It returns an outcome for each event, in order, and the first error other than
// [ErrRejected], or else the first error. Errors are those of [Writer.Append].
//
// A rejected event uses no sequence number, and the events after it are written. After any other
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
	e, err := w.encode(ctx, event, index)
	if err != nil {
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

// AppendAt is [Writer.Append] under the condition that the last visible event has the sequence
// number last, as [Writer.Last] returns it: 0 for a persistence id without any event. It is for
// callers that decided by a state of that version.
//
// The writer compares in its turn, after the calls before it and without a request. Of two calls
// with the same last, one at most succeeds. What another writer has written, the writer finds only
// with its own write: then the error is [ErrWriterConflict].
//
// Errors are [ErrVersion] and those of [Writer.Append]. After ErrVersion nothing was written, and
// the writer continues.
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

// Last returns the sequence number of the last visible event, the version of the persistence id: 0
// if there never was an event. It waits for the calls in flight.
//
// An event is visible if [Journal.Events] returns it, or returned it before it was deleted. Numbers
// that are sealed, missing, or taken by an atomic write that failed are not visible, so Last can be
// lower than the number before [Writer.NextSequenceNumber].
//
// Deleting the last event does not change Last. After a recovery from a snapshot it is at least the
// number of the snapshot, and after a deletion by a JVM at least the last number that the JVM has
// deleted. After a purge it is the number that the purge has taken after the highest, until all
// trace of the persistence id has expired.
//
// Errors: [ErrWriterEnded], [ErrClosed], and that of ctx.
func (w *Writer) Last(ctx context.Context) (int64, error) { return w.core().Last(ctx) }

// MaxMetadataBytes is the largest size of an event's metadata, all keys and values together, and of
// its tags, in bytes.
const MaxMetadataBytes = 2048

// NewEvent is an event to be appended that has metadata or tags. [Writer.Append] and
// [Writer.AppendEach] take it among their arguments, where a value alone has none.
//
// A journal that stores no metadata (see Config.EventMetadata) rejects it.
type NewEvent struct {
	// Value is the event itself. It is encoded like a value that is an argument of Append.
	Value any
	// Metadata is stored beside the event, for example a trace context or a tenant. Keys must not
	// be empty. Those that begin with "dj." are this project's, and are rejected. It has at most
	// [MaxMetadataBytes].
	Metadata map[string]string
	// Tags are names by which readers select events. They must not be empty. A tag that is named
	// twice is stored once. They have at most [MaxMetadataBytes].
	Tags []string
}
