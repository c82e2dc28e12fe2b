package dynajournal

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/lifetime"
	"github.com/dynajournal/dynajournal/internal/protocol"
)

// EventsByPersistenceID reads the events of a persistence id from a sequence number on, and then
// new ones as they are written, until the context ends or the loop is left. If to is not 0, it ends
// after that number, also if the number is sealed or deleted, or no longer waited for. It never
// repeats an event, never returns a part of an atomic write, and never skips an event of a writer
// of this package. Throttling and outages only delay it.
//
// A JVM writes several events at the same time, so that an event can be stored before an earlier
// one. In a journal that is shared with a JVM, the query therefore waits for a missing number, for
// up to Config.HoleWait from when it found the number missing. Then it goes on, and does not return
// an event that is stored there later. It does not wait for numbers that are [LiveWindow] or more
// below the highest. Hook.OnHole gets each wait.
//
// While no events come, a poll is one request, of 1 read unit in a native journal and up to 3 in a
// shared one. Every tenth poll reads marks instead of events, and can return an event one poll
// later.
//
// Errors: those of [Journal.Events], and [ErrInvalidArgument] of poll. After an error the sequence
// ends.
func (j *Journal) EventsByPersistenceID(
	ctx context.Context, persistenceID string, from, to int64, poll Poll,
) iter.Seq2[EventEnvelope, error] {
	return func(yield func(EventEnvelope, error) bool) {
		q := &liveEvents{journal: j, pid: persistenceID, next: from, to: to, yield: yield,
			wait: j.holeWait(persistenceID)}
		err := poll.poll(ctx, j.core.Life.Reading(), func() (bool, error) { return q.look(ctx) }, q.wait.Left)
		if err != nil && !errors.Is(err, protocol.ErrStop) {
			yield(EventEnvelope{}, fmt.Errorf("read events of %q: %w", persistenceID, err))
		}
	}
}

// liveEvents is a live query of events.
type liveEvents struct {
	journal  *Journal
	pid      string
	next, to int64
	yield    func(EventEnvelope, error) bool
	ended    bool
	// watch finds out whether there may be new events; nil if a whole reading is needed.
	watch *protocol.Watch
	// wait is for missing numbers; nil if the query does not wait for them.
	wait *protocol.Wait
}

// look reads new events, if there may be any. It reports whether it has returned an event, or begun
// to wait for a number.
func (q *liveEvents) look(ctx context.Context) (bool, error) {
	if left, waits := q.wait.Left(); q.watch != nil && (!waits || left > 0) {
		if some, err := q.watched(ctx); !some || err != nil {
			return false, err
		}
	}
	return q.read(ctx)
}

// marksOfLook returns how many marks a poll without new events may read, each for 1 read unit.
func (j *Journal) marksOfLook() int {
	if j.Native() {
		return 1
	}
	const shared = 3
	return shared
}

// watched reports whether there may be new events.
func (q *liveEvents) watched(ctx context.Context) (bool, error) {
	found := false
	err := q.journal.core.Operate(ctx, func(ctx context.Context, _ *lifetime.Operation) error {
		var err error
		found, err = q.watch.Poll(ctx, &dynamo.Meter{})
		return q.journal.core.InTable(q.journal.core.Table, err)
	})
	return found, err
}

// read reads all events from the next number on, up to a number that is waited for.
func (q *liveEvents) read(ctx context.Context) (bool, error) {
	q.watch = nil // it is out of date, also after an error
	window, found := Range{From: q.next, To: q.to}, false
	result, err := q.journal.readEvents(ctx, q.pid, window, q.wait, func(e *layout.Event) error {
		err := q.journal.core.Deliver(ctx, e, func(event core.Delivered) error {
			q.next, found = e.SequenceNr+1, true // returned, so never again
			if q.ended = !q.yield(EventEnvelope{event.SequenceNr, eventOf(event)}, nil); q.ended {
				return protocol.ErrStop
			}
			return nil
		})
		if err == nil { // also if the adapter returns no events
			q.next, found = e.SequenceNr+1, true
		}
		return err
	})
	if q.ended {
		return found, protocol.ErrStop
	}
	whole := err == nil && result.Behind > 0
	if whole {
		found = q.wait.Read(ctx, &result, q.next) || found // a missing event may come at once
	}
	if err == nil && q.to != 0 && (q.next > q.to || result.Closed(q.to, q.wait)) {
		return found, protocol.ErrStop
	}
	if whole {
		window.From = q.next
		req, _, _ := window.request(q.pid, "Range") // it was checked when it was read
		q.watch = q.journal.core.Store.Watch(&req, &result, q.journal.marksOfLook())
	}
	return found, err
}
