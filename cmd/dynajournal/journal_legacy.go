package main

import (
	"context"
	"iter"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/legacy"
)

// legacyJournal is a journal of a legacy layout.
type legacyJournal struct{ *legacy.Journal }

func (j legacyJournal) recover(ctx context.Context, pid string) (writer, error) {
	w, err := j.Recover(ctx, pid, dynajournal.RecoverOptions{}, nil)
	return legacyWriter{w, j.Journal}, err
}

func (j legacyJournal) events(
	ctx context.Context, pid string, window dynajournal.Range,
) iter.Seq2[eventResult, error] {
	return func(yield func(eventResult, error) bool) {
		var payloads payloadDecoder
		for e, err := range j.Events(ctx, pid, window) {
			result := newEventResult(e.Event, &payloads)
			result.Deleted, result.Confirmations = &e.Deleted, present(e.Confirmations)
			if !yield(result, err) {
				return
			}
		}
	}
}

// list reports events that are marked as deleted as tombstones.
func (j legacyJournal) list(ctx context.Context, pid string) (listResult, error) {
	l, err := j.List(ctx, pid)
	return listResult{
		PersistenceID: pid,
		LowMarks:      present(l.LowMarks),
		HighMarks:     present(l.HighMarks),
		SequenceNrs:   present(l.SequenceNumbers),
		Tombstones:    present(l.Deleted),
		Seals:         []int64{},
	}, err
}

// legacyWriter is a writer of a legacy layout.
type legacyWriter struct {
	*legacy.Writer

	journal *legacy.Journal
}

func (w legacyWriter) deleteTo(ctx context.Context, seq int64, mark bool) (deletedResult, error) {
	how := legacy.Permanent
	if mark {
		how = legacy.Mark
	}
	deleted, err := w.DeleteTo(ctx, seq, how)
	if err != nil {
		return deletedResult{}, err
	}
	bounds, err := w.journal.Bounds(ctx, w.PersistenceID())
	return deletedResult{w.PersistenceID(), bounds.Lowest, bounds.Highest, deleted.Deleted}, err
}
