package main

import (
	"context"
	"iter"

	"github.com/dynajournal/dynajournal"
)

// currentJournal is a journal of the current layout.
type currentJournal struct{ *dynajournal.Journal }

func (j currentJournal) recover(ctx context.Context, pid string) (writer, error) {
	w, err := j.Recover(ctx, pid, dynajournal.RecoverOptions{}, nil)
	return currentWriter{w}, err
}

func (j currentJournal) events(
	ctx context.Context, pid string, window dynajournal.Range,
) iter.Seq2[eventResult, error] {
	return func(yield func(eventResult, error) bool) {
		var payloads payloadDecoder
		for e, err := range j.Events(ctx, pid, window) {
			if !yield(newEventResult(e, &payloads), err) {
				return
			}
		}
	}
}

func (j currentJournal) list(ctx context.Context, pid string) (listResult, error) {
	l, err := j.List(ctx, pid)
	return listResult{
		PersistenceID: pid,
		LowMarks:      present(l.LowMarks),
		HighMarks:     present(l.HighMarks),
		SequenceNrs:   present(l.SequenceNumbers),
		Tombstones:    present(l.Tombstones),
		Seals:         present(l.Seals),
	}, err
}

// currentWriter is a writer of the current layout.
type currentWriter struct{ *dynajournal.Writer }

// deleteTo removes the events. The layout has no marks of deletion.
func (w currentWriter) deleteTo(ctx context.Context, seq int64, _ bool) (deletedResult, error) {
	deleted, err := w.DeleteTo(ctx, seq)
	if err != nil {
		return deletedResult{}, err
	}
	next, err := w.NextSequenceNumber(ctx)
	return deletedResult{w.PersistenceID(), deleted.Lowest, next - 1, deleted.Removed}, err
}
