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
	// stored one, the Offset of all but the last is the place before them.
	Offset Offset
}

// CurrentEventsByTag returns the events with a tag that are indexed after an offset, up to the
// current end. Events of one persistence id are in order. There is no order between persistence
// ids. Events that are indexed while the loop runs may also be returned.
//
// A loop returns no event twice. A loop that continues at an offset of an earlier loop may return
// events of a persistence id again, in order. That can happen if an indexing process was suspended
// or crashed after it had added them, and 100 other entries were added to the lane before another
// process continued.
//
// Deleted and purged events are left out. An event that is being deleted may also be left out. If a
// deletion or a purge was interrupted, the events that it has not removed are found until the next
// one completes it. To read one's own writes, call [projection.WaitFor] first.
//
// It costs 1 read unit for each event up to 4 KB, 1 for each 4 KB of entries, and at least 1 for
// each lane. An entry takes about 70 bytes, the persistence id and the tag. The loop takes some
// memory for each persistence id whose events it has returned, and buffers up to 100 events.
//
// Errors: a *dynajournal.ArgumentError (also for an offset of another index or tag, or after the
// end of the index), [dynajournal.ErrCorruptItem], errors of the journal's adapter, and errors of
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

// EventsByTag is [Index.CurrentEventsByTag] that waits for more events, until the context ends or
// the loop is left. No event that is indexed later is missed. Throttling and outages only delay it.
//
// It reads the entries eventually consistently, at half the cost. While there are no new entries, a
// poll costs half a read unit for each lane: with the defaults of poll and 4 lanes, 0.7 a second.
//
// Errors: as for CurrentEventsByTag, and the cause of ctx.
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

// tagSequence returns the sequence of events that a function yields. An error ends the sequence.
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
