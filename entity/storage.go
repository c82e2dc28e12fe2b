package entity

import (
	"context"
	"errors"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// storage stores entities, as events or as states.
type storage[S, E any] interface {
	// encode encodes the events or states that a command has recorded, before the next command sees
	// its state.
	encode(e *entity[S, E], c *command[S, E]) error

	// load loads the state from the start. The caller of load, find, catchUp or findWrite runs the
	// job.
	load(ctx context.Context, e *entity[S, E], how mode) (*found[S], error)

	// find loads the state, from the durable state if possible.
	find(ctx context.Context, e *entity[S, E], how mode) (*found[S], error)

	// catchUp loads the state after checkNews has found news.
	catchUp(e *entity[S, E], what news) (*found[S], error)

	// findWrite loads the state, and finds out the outcome of a write to the numbers from first to
	// last. lost is the writer that lost the response. findWrite returns the first number if the
	// write is stored, and 0 if it is not stored and never will be. If this can no longer be
	// determined, the error is errDeleted.
	findWrite(e *entity[S, E], lost writer, all []encoded, first, last int64) (*found[S], int64, error)

	// checkNews reports whether anything is stored that the durable state does not contain. next is
	// the number after all numbers that were known to be taken. known is when the durable state was
	// last known to be current.
	checkNews(ctx context.Context, e *entity[S, E], next int64, known moment) (news, error)

	// purge removes the entity. No command of the entity is in progress.
	purge(ctx context.Context, e *entity[S, E]) error
}

// news is the result of storage.checkNews.
type news int

const (
	// noNews means that the durable state contains everything.
	noNews news = iota
	// more means that more is stored than the durable state contains.
	more
	// gone means that the last event of the durable state is deleted, or may be: the state must be
	// loaded from the start. Either a JVM has deleted the event, and its low mark does not always
	// show how far it has deleted, or the entity may have been purged so long ago that no trace is
	// left.
	gone
)

// encoded is an event or a state that a command has recorded, in its stored form.
type encoded struct {
	event *layout.Event
	state *recorded
}

// writer writes the events or states that commands have recorded.
type writer interface {
	// Append writes encoded events or states as one write. Its errors are documented on Append of
	// *dynajournal.Writer.
	Append(ctx context.Context, all []encoded) (core.Result, error)
	// Err returns why the writer has ended, or nil if it has not.
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

func (eventStorage[S, E]) load(ctx context.Context, e *entity[S, E], how mode) (*found[S], error) {
	return e.fromStart(ctx, how, nil)
}

func (eventStorage[S, E]) find(ctx context.Context, e *entity[S, E], how mode) (*found[S], error) {
	return e.find(ctx, how, nil)
}

func (eventStorage[S, E]) catchUp(e *entity[S, E], what news) (*found[S], error) {
	if what == gone {
		return e.fromStart(e.host.life, reading, nil)
	}
	got, err := e.find(e.host.life, reading, nil)
	if err == nil {
		got.next = max(got.next, e.next+1) // an incomplete atomic write has taken it
	}
	return got, err
}

func (eventStorage[S, E]) findWrite(
	e *entity[S, E], _ writer, all []encoded, first, last int64,
) (*found[S], int64, error) {
	return e.findWrite(all[0].event, first, last)
}

func (eventStorage[S, E]) checkNews(ctx context.Context, e *entity[S, E], next int64, known moment) (news, error) {
	taken, nothingBefore, err := e.host.core.Taken(ctx, e.pid, next)
	switch {
	case err != nil:
		return noNews, err
	case e.host.isOld(known): // the response may have shown a later time
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
