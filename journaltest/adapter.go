package journaltest

import (
	"context"
	"fmt"
	"iter"

	"github.com/dynajournal/dynajournal"
)

// Adapt returns a Journal of the suite for a *dynajournal.Journal. Its events are stored with the
// serializer of byte slices. It continues past missing events even in a native journal, because the
// suite plants the holes that a JVM leaves.
func Adapt(j *dynajournal.Journal) Journal { return adapter{j} }

type adapter struct{ journal *dynajournal.Journal }

// Recover recovers a persistence id.
func (a adapter) Recover(
	ctx context.Context, persistenceID string, replay Replay, handler func(Event) error,
) (Writer, error) {
	opts := dynajournal.RecoverOptions{
		After: replay.After, Snapshot: replay.Snapshot, JournalLost: replay.JournalLost, To: replay.To, Limit: replay.Limit,
		SkipMissing: true,
	}
	w, err := a.journal.Recover(ctx, persistenceID, opts, func(e dynajournal.Event) error {
		return handler(eventOf(e))
	})
	if err != nil {
		return nil, fmt.Errorf("recover: %w", err)
	}
	return adaptedWriter{w}, nil
}

// Events reads a window.
func (a adapter) Events(ctx context.Context, persistenceID string, window Window) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		read := dynajournal.Range{From: window.From, To: window.To, Limit: window.Limit, SkipMissing: true}
		for e, err := range a.journal.Events(ctx, persistenceID, read) {
			if !yield(eventOf(e), err) {
				return
			}
		}
	}
}

// Bounds reads the bounds.
func (a adapter) Bounds(ctx context.Context, persistenceID string) (Bounds, error) {
	b, err := a.journal.Bounds(ctx, persistenceID)
	if err != nil {
		return Bounds{}, fmt.Errorf("bounds: %w", err)
	}
	return Bounds(b), nil
}

func eventOf(e dynajournal.Event) Event { return Event{e.SequenceNumber, e.Bytes} }

type adaptedWriter struct{ writer *dynajournal.Writer }

func anyOf(events [][]byte) []any {
	values := make([]any, len(events))
	for i, e := range events {
		values[i] = e
	}
	return values
}

// Append writes one atomic write.
func (w adaptedWriter) Append(ctx context.Context, events ...[]byte) (first, last int64, err error) {
	result, err := w.writer.Append(ctx, anyOf(events)...)
	if err != nil {
		return 0, 0, fmt.Errorf("append: %w", err)
	}
	return result.First, result.Last, nil
}

// AppendEach writes one event after the other.
func (w adaptedWriter) AppendEach(ctx context.Context, events ...[]byte) ([]int64, error) {
	outcomes, err := w.writer.AppendEach(ctx, anyOf(events)...)
	numbers := make([]int64, len(outcomes))
	for i, o := range outcomes {
		numbers[i] = o.SequenceNumber
	}
	if err != nil {
		return numbers, fmt.Errorf("append each: %w", err)
	}
	return numbers, nil
}

// DeleteTo deletes a prefix.
func (w adaptedWriter) DeleteTo(ctx context.Context, sequenceNumber int64) error {
	if _, err := w.writer.DeleteTo(ctx, sequenceNumber); err != nil {
		return fmt.Errorf("delete: %w", err)
	}
	return nil
}

// Purge removes the persistence id.
func (w adaptedWriter) Purge(ctx context.Context) error {
	if _, err := w.writer.Purge(ctx, dynajournal.PurgeOptions{}); err != nil {
		return fmt.Errorf("purge: %w", err)
	}
	return nil
}

// NextSequenceNumber returns the number of the next event.
func (w adaptedWriter) NextSequenceNumber(ctx context.Context) (int64, error) {
	n, err := w.writer.NextSequenceNumber(ctx)
	if err != nil {
		return 0, fmt.Errorf("next sequence number: %w", err)
	}
	return n, nil
}
