package tags

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/backoff"
	"github.com/dynajournal/dynajournal/projection/internal/engine"
)

// Event is an event of a tag.
type Event struct {
	dynajournal.Event

	// Offset is the place after the event. If the journal's adapter makes several events of a
	// stored one, that of all but the last is the place before them.
	Offset Offset
}

// CurrentEventsByTag returns the events with a tag after an offset that are indexed now: those of
// a persistence id in their order. Between persistence ids there is no order. What is indexed while
// the loop continues may be returned, too.
//
// None is returned twice. Behind an offset of an earlier loop, events of a persistence id may be
// returned again, in their order, that an indexing process had added before it crashed or stood
// still: if 100 other entries were added to the lane before another process went on.
//
// An event that was deleted or purged is left out, and one that is being deleted may be. If a
// deletion or a purge was cut short, the events that it has not removed are found until the next
// one completes it. To see what one has written, call [projection.WaitFor] before.
//
// It costs 1 read unit for each event up to 4 KB, 1 for each 4 KB of entries, and at least 1 for
// each lane. An entry takes about 70 bytes, the persistence id and the tag. The loop takes some
// memory for each persistence id that it has returned events of, and holds up to 100 events.
//
// Errors: a *dynajournal.ArgumentError (also for an offset that is not of this index and tag, or
// after its end), [dynajournal.ErrCorruptItem], those of the journal's adapter, and those of
// requests. After an error the sequence ends; it can be continued at the offset of the last event.
func (x *Index) CurrentEventsByTag(ctx context.Context, tag string, from Offset) iter.Seq2[Event, error] {
	return tagSequence(func(yield func(Event) bool) error {
		r, err := x.newTagReader(tag, from, true, yield)
		if err != nil {
			return err
		}
		for lane := range r.pars {
			for more := true; more; {
				if _, more, err = r.page(ctx, lane); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// EventsByTag is CurrentEventsByTag that waits for more events, until the context ends or the loop
// is left: none is missed that is indexed later. Throttling and outages only delay it.
//
// It reads the entries eventually consistent, at half the cost. While there are no new ones, a look
// costs half a read unit for each lane: with the defaults of poll and 4 lanes, 0.7 a second.
//
// Errors: those of CurrentEventsByTag, and the cause of ctx.
func (x *Index) EventsByTag(
	ctx context.Context, tag string, from Offset, poll dynajournal.Poll,
) iter.Seq2[Event, error] {
	return tagSequence(func(yield func(Event) bool) error {
		pauses, err := pausesOf(poll)
		if err != nil {
			return err
		}
		r, err := x.newTagReader(tag, from, false, yield)
		if err != nil {
			return err
		}
		for idle := 0; ; {
			found, err := r.round(ctx)
			switch {
			case err != nil && !engine.Passes(err) && (ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded)):
				return err
			case err == nil && found:
				idle = 0
				continue
			}
			if err := backoff.Wait(ctx, pauses.After(idle)); err != nil {
				return err
			}
			idle++
		}
	})
}

// round reads a page of each lane, and reports whether it has found entries.
func (r *tagReader) round(ctx context.Context) (found bool, err error) {
	for lane := range r.pars {
		entries, more, err := r.page(ctx, lane)
		if err != nil {
			return found, err
		}
		found = found || entries > 0 || more
	}
	return found, nil
}

// errLeft reports that the loop was left.
var errLeft = errors.New("the loop was left")

// tagSequence returns the sequence of the events that a function yields. An error ends it.
func tagSequence(read func(yield func(Event) bool) error) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		err := read(func(e Event) bool { return yield(e, nil) })
		if err != nil && !errors.Is(err, errLeft) {
			yield(Event{}, fmt.Errorf("read events by tag: %w", err))
		}
	}
}

// pausesOf returns the pauses of a Poll, with its defaults.
func pausesOf(p dynajournal.Poll) (backoff.Pauses, error) {
	shortest, longest := p.Shortest, p.Longest
	if longest == 0 {
		longest = max(dynajournal.DefaultPollLongest, shortest)
	}
	if shortest == 0 {
		shortest = min(dynajournal.DefaultPollShortest, longest)
	}
	if shortest < 0 || shortest > longest {
		return backoff.Pauses{}, engine.Argument("poll", p, "the pauses must be positive, and the longest not below the shortest")
	}
	return backoff.Pauses{Shortest: shortest, Longest: longest}, nil
}
