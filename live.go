package dynajournal

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/lifetime"
	"github.com/dynajournal/dynajournal/internal/protocol"
)

// EventsByPersistenceID reads the events of a persistence id from a sequence number on, and then
// new ones as they are written, until the context ends or the loop is left; to 0 has no end, else
// it ends after that number, also where no event can come there: where it is sealed, deleted, or no
// longer waited for. It never repeats an event, never hands out part of an atomic write,
// and never skips an event of a writer of this package. Throttling and outages only delay it.
//
// A JVM has several writes under way at once, so that an event can be stored before an earlier one.
// In a journal that is shared with a JVM it therefore waits before a number at which nothing is
// stored, for at most Config.HoleWait from when it has first found that, and then goes on without
// it: what is stored there later it does not return. Numbers that are LiveWindow or more behind the
// highest are not waited for. See HoleHook.
//
// While nothing comes, a look is one request, of one read unit in a native journal and at most
// three in a shared one. Every tenth look reads marks instead of what is behind the last event, so
// an event may come one look later.
func (j *Journal) EventsByPersistenceID(ctx context.Context, persistenceID string, from, to int64, poll Poll) iter.Seq2[EventEnvelope, error] {
	return func(yield func(EventEnvelope, error) bool) {
		q := &liveEvents{journal: j, pid: persistenceID, next: from, to: to, yield: yield, wait: j.holeWait(persistenceID)}
		err := poll.poll(ctx, j.life.Reading(), func() (bool, error) { return q.look(ctx) }, q.wait.Left)
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
	// watch tells when there may be something to read; nil where all has to be read.
	watch *protocol.Watch
	// wait is for numbers that are missing; nil where none is waited for.
	wait *protocol.Wait
}

// look reads what is new, if there may be something. It reports whether it has handed out an event,
// or begun to wait for a number.
func (q *liveEvents) look(ctx context.Context) (bool, error) {
	if left, waits := q.wait.Left(); q.watch != nil && (!waits || left > 0) {
		if some, err := q.watched(ctx); !some || err != nil {
			return false, err
		}
	}
	return q.read(ctx)
}

// marksOfLook is how many marks an idle look may read: its requests cost no more than that in read
// units.
func (j *Journal) marksOfLook() int {
	if j.Native() {
		return 1
	}
	const shared = 3
	return shared
}

// watched reports whether there may be something new.
func (q *liveEvents) watched(ctx context.Context) (bool, error) {
	found := false
	err := q.journal.operate(ctx, func(ctx context.Context, _ *lifetime.Operation) error {
		var err error
		found, err = q.watch.Look(ctx, &dynamo.Meter{})
		return itemError(q.journal.config.JournalTable, err)
	})
	return found, err
}

// read reads all from the next number on, or to a number that is waited for.
func (q *liveEvents) read(ctx context.Context) (bool, error) {
	q.watch = nil // what it was told by holds no more, also after an error
	window, found := Range{From: q.next, To: q.to}, false
	result, err := q.journal.readEvents(ctx, q.pid, window, q.wait, func(e *layout.Event) error {
		err := q.journal.deliver(e, func(event Event) error {
			q.next, found = e.SequenceNr+1, true // handed out, so never again
			if q.ended = !q.yield(EventEnvelope{event.SequenceNumber, event}, nil); q.ended {
				return protocol.ErrStop
			}
			return nil
		})
		if err == nil { // also where the adapter makes no event of it
			q.next, found = e.SequenceNr+1, true
		}
		return err
	})
	if q.ended {
		return found, protocol.ErrStop
	}
	whole := err == nil && result.Behind > 0
	if whole {
		found = q.wait.Read(ctx, &result, q.next) || found // what is missing may come at once
	}
	if err == nil && q.to != 0 && (q.next > q.to || result.Closed(q.to, q.wait)) {
		return found, protocol.ErrStop
	}
	if whole {
		window.From = q.next
		req, _, _ := window.request(q.pid, "Range") // it was read, so it is right
		q.watch = q.journal.store.Watch(&req, &result, q.journal.marksOfLook())
	}
	return found, err
}
