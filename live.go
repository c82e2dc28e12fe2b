package dynajournal

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/dynajournal/dynajournal/internal/backoff"
	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/internal/protocol"
)

// EventsByPersistenceID reads the events of a persistence id from a sequence number on, and then
// new events as they are written, until the context ends or the loop is left. If to is not 0, the
// sequence ends after that number, even if the number is sealed, deleted, or no longer waited for.
// It never repeats an event, never returns a part of an atomic write, and never skips an event that
// a writer of this package has written. Throttling and outages only delay it.
//
// A JVM writes several events at the same time, so an event can be stored before an earlier one. In
// a journal that is shared with a JVM, the query therefore waits for a missing number, up to
// Config.HoleWait after it found the number missing. Then it continues, and does not return an
// event that is stored there later. It does not wait for numbers that are [LiveWindow] or more
// below the highest number. Hook.OnHole reports each wait.
//
// While there are no new events, a poll is one request: 1 read unit in a native journal, up to 3 in
// a shared one. Every tenth poll reads marks instead of events, so it can return an event one poll
// later.
//
// Errors are those documented on [Journal.Events], and [ErrInvalidArgument] for poll. After an
// error the sequence ends.
func (j *Journal) EventsByPersistenceID(
	ctx context.Context, persistenceID string, from, to int64, poll Poll,
) iter.Seq2[EventEnvelope, error] {
	return func(yield func(EventEnvelope, error) bool) {
		pauses, err := poll.pauses()
		if err == nil {
			_, err = Range{From: from, To: to}.request(persistenceID, "Range")
		}
		if err == nil {
			err = j.core.Follow(ctx, persistenceID, from, to, pauses, func(e core.Delivered) bool {
				return yield(EventEnvelope{e.SequenceNr, eventOf(e)}, nil)
			})
		}
		if err != nil && !errors.Is(err, protocol.ErrStop) {
			yield(EventEnvelope{}, fmt.Errorf("read events of %q: %w", persistenceID, err))
		}
	}
}

// Poll configures how often a live query polls for new events or ids. While a query finds new ones,
// it does not pause. The first pause after a poll without a result is Shortest. It doubles with
// each further one, up to Longest. Shorter pauses return events sooner, longer pauses cost fewer
// requests.
type Poll struct {
	// Longest is the longest pause. It must not be below Shortest.
	//
	// Defaults to 3 seconds, or to Shortest if that is longer.
	Longest time.Duration

	// Shortest is the first pause. It must not be negative.
	//
	// Defaults to 50 milliseconds, or to Longest if that is shorter.
	Shortest time.Duration
}

// Defaults of Poll.
const (
	DefaultPollShortest = 50 * time.Millisecond
	DefaultPollLongest  = 3 * time.Second
)

// pauses fills in the defaults and checks the pauses.
func (p Poll) pauses() (backoff.Pauses, error) {
	switch {
	case p.Shortest < 0:
		return backoff.Pauses{}, &ArgumentError{"Poll.Shortest", p.Shortest, core.MustNotBeNegative}
	case p.Longest < 0:
		return backoff.Pauses{}, &ArgumentError{"Poll.Longest", p.Longest, core.MustNotBeNegative}
	case p.Longest == 0:
		p.Longest = max(DefaultPollLongest, p.Shortest)
	}
	orDefault(&p.Shortest, min(DefaultPollShortest, p.Longest))
	if p.Shortest > p.Longest {
		return backoff.Pauses{}, &ArgumentError{"Poll.Shortest", p.Shortest,
			fmt.Sprintf("it must not be above Poll.Longest, %v", p.Longest)}
	}
	return backoff.Pauses{Shortest: p.Shortest, Longest: p.Longest}, nil
}
