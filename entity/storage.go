package entity

import (
	"context"
	"errors"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// storage is how entities are stored: as events, or as states.
type storage[S, E any] interface {
	// encode encodes what a command has recorded, before the next command sees its state.
	encode(e *entity[S, E], c *command[S, E]) error

	// load finds the state from the start. The caller runs the job, also with find, catchUp and
	// lookFor.
	load(e *entity[S, E], how mode) (*found[S], error)

	// find finds the state, from the durable one if that is possible.
	find(e *entity[S, E], how mode) (*found[S], error)

	// catchUp finds the state when look has found news.
	catchUp(e *entity[S, E], what news) (*found[S], error)

	// lookFor finds the state and what has become of a lost write of a writer, to the numbers from
	// first to last. It returns the first number if the write is stored, and 0 if it is not and
	// never will be. If that can't be seen any more, the error is errDeleted.
	lookFor(e *entity[S, E], lost writer, all []encoded, first, last int64) (*found[S], int64, error)

	// look returns whether there is anything that the durable state does not contain. next is the
	// number after all that was known to be taken, known when the state was known to be current.
	look(ctx context.Context, e *entity[S, E], next int64, known moment) (news, error)

	// purge removes the entity. No command of it is under way.
	purge(ctx context.Context, e *entity[S, E]) error
}

// news is what a look at the storage of an entity has found.
type news int

const (
	// noNews: the durable state contains everything.
	noNews news = iota
	// more is stored than the durable state contains.
	more
	// gone is the last event that the durable state contains, or may be: the state must be found
	// from the start. A JVM has deleted the event, and its low mark does not always show how far.
	// Or the entity may have been purged so long ago that no trace is left.
	gone
)

// encoded is what a command has recorded, as it is written: a stored event, or a state.
type encoded struct {
	event *layout.Event
	state *recorded
}

// writer writes what commands have recorded.
type writer interface {
	// Append writes what encode has returned, as one write. Errors are those documented on Append
	// of a *dynajournal.Writer.
	Append(ctx context.Context, all []encoded) (core.Result, error)
	// Err returns why the writer has ended, nil if it has not.
	Err() error
	// UUID identifies what is stored after a write: see entity.author.
	UUID() string
}

// eventWriter writes events.
type eventWriter struct{ *core.Writer }

func (w eventWriter) Append(ctx context.Context, all []encoded) (core.Result, error) {
	return w.Writer.Append(ctx, eventsOf(all), 0)
}

// eventsOf returns the stored forms of the events that commands have recorded.
func eventsOf(all []encoded) []*layout.Event {
	events := make([]*layout.Event, len(all))
	for i := range all {
		events[i] = all[i].event
	}
	return events
}

// eventStorage stores entities as their events.
type eventStorage[S, E any] struct{}

func (eventStorage[S, E]) load(e *entity[S, E], how mode) (*found[S], error) {
	return e.fromStart(how, nil)
}

func (eventStorage[S, E]) find(e *entity[S, E], how mode) (*found[S], error) {
	return e.find(how, nil)
}

func (eventStorage[S, E]) catchUp(e *entity[S, E], what news) (*found[S], error) {
	if what == gone {
		return e.fromStart(reading, nil)
	}
	got, err := e.find(reading, nil)
	if err == nil {
		got.next = max(got.next, e.next+1) // an atomic write that is not whole has taken it
	}
	return got, err
}

func (eventStorage[S, E]) lookFor(
	e *entity[S, E], _ writer, all []encoded, first, last int64,
) (*found[S], int64, error) {
	return e.lookFor(all[0].event, first, last)
}

func (eventStorage[S, E]) look(ctx context.Context, e *entity[S, E], next int64, known moment) (news, error) {
	taken, nothingBefore, err := e.host.core.Taken(ctx, e.pid, next)
	switch {
	case err != nil:
		return noNews, err
	case e.host.isOld(known): // by the time of the response, too
		return gone, nil
	case taken:
		return more, nil
	case nothingBefore && e.lastStays():
		return gone, nil
	}
	return noNews, nil
}

func (eventStorage[S, E]) purge(ctx context.Context, e *entity[S, E]) error {
	e.mu.Lock()
	writer, ok := e.writer.(eventWriter)
	e.mu.Unlock()
	if ok && writer.Err() == nil {
		_, err := writer.Purge(ctx, false)
		if !errors.Is(err, dynajournal.ErrWriterConflict) {
			return err
		}
		// Another process has written since this one did.
	}
	last, err := e.host.journal.Recover(ctx, e.pid, dynajournal.RecoverOptions{Latest: true, SkipMissing: true}, nil)
	if err == nil {
		_, err = last.Purge(ctx, dynajournal.PurgeOptions{})
	}
	return err
}

// encode encodes the events of a command.
func (eventStorage[S, E]) encode(e *entity[S, E], c *command[S, E]) error {
	h := e.host
	c.encoded, c.size = nil, 0
	events := c.tx.events
	if most := h.core.MaxBatchEvents; len(events) > most {
		return &dynajournal.RejectedError{PersistenceID: e.pid, Index: -1, Size: len(events), Limit: most, Err: errTooMany}
	}
	var metadata map[string]string
	if h.options.Metadata != nil {
		metadata = h.options.Metadata(c.ctx)
	}
	now, pid := c.tx.Now(), e.pid
	if c.encoded = c.one[:]; len(events) > 1 {
		c.encoded = make([]encoded, len(events))
	}
	for i, event := range events {
		c.created = core.New{Value: event, Metadata: metadata}
		if h.kind.Tags != nil {
			c.created.Tags = h.kind.Tags(event)
		}
		mark := core.CommandMark{}
		if i == 0 && c.options.ID != "" {
			mark = core.CommandMark{ID: c.options.ID, Events: len(events)}
		}
		stored, size, err := h.core.EncodeCommand(c.ctx, pid, &c.created, now, mark)
		if err != nil {
			if rejected, ok := err.(*dynajournal.RejectedError); ok { //nolint:errorlint // it is the error itself
				rejected.Index = i
			}
			return err
		}
		c.encoded[i].event = stored
		c.size += size
	}
	if most := h.core.MaxBatchBytes; c.size > most {
		return &dynajournal.RejectedError{PersistenceID: pid, Index: -1, Size: c.size, Limit: most, Err: errTooLarge}
	}
	return nil
}
