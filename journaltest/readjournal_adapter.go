package journaltest

import (
	"context"
	"iter"

	"github.com/dynajournal/dynajournal"
)

// AdaptReadJournal returns a ReadJournal of the suite for a *dynajournal.Journal. way selects how
// it lists ids (Scan, Segments), and poll how it polls.
func AdaptReadJournal(j *dynajournal.Journal, way dynajournal.IDsOptions, poll dynajournal.Poll) ReadJournal {
	return readAdapter{j, way, poll}
}

type readAdapter struct {
	journal *dynajournal.Journal
	way     dynajournal.IDsOptions
	poll    dynajournal.Poll
}

func (a readAdapter) options(opts IDs) dynajournal.IDsOptions {
	o := a.way
	o.After, o.Limit, o.Prefix, o.Sorted = opts.After, opts.Limit, opts.Prefix, opts.Sorted
	return o
}

// CurrentIDs lists persistence ids.
func (a readAdapter) CurrentIDs(ctx context.Context, opts IDs) iter.Seq2[string, error] {
	return a.journal.CurrentPersistenceIDs(ctx, a.options(opts))
}

// IDs lists persistence ids, new ones included.
func (a readAdapter) IDs(ctx context.Context, opts IDs) iter.Seq2[string, error] {
	return a.journal.PersistenceIDs(ctx, a.options(opts), a.poll)
}

// CurrentEvents reads events.
func (a readAdapter) CurrentEvents(ctx context.Context, persistenceID string, from, to int64) iter.Seq2[Event, error] {
	return withoutOffsets(a.journal.CurrentEventsByPersistenceID(ctx, persistenceID, from, to))
}

// Events reads events, new ones included.
func (a readAdapter) Events(ctx context.Context, persistenceID string, from, to int64) iter.Seq2[Event, error] {
	return withoutOffsets(a.journal.EventsByPersistenceID(ctx, persistenceID, from, to, a.poll))
}

func withoutOffsets(envelopes iter.Seq2[dynajournal.EventEnvelope, error]) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for e, err := range envelopes {
			if !yield(eventOf(e.Event), err) {
				return
			}
		}
	}
}
