package core

import (
	"context"
	"log/slog"

	"github.com/dynajournal/dynajournal/internal/backoff"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/lifetime"
	"github.com/dynajournal/dynajournal/internal/protocol"
)

// Follow passes the events of a persistence id from a sequence number on to yield, and then new
// ones. It returns protocol.ErrStop when yield returns false or the number to is decided. If to is
// 0, there is no last number. from is at least 1.
func (j *Journal) Follow(ctx context.Context, pid string, from, to int64, p backoff.Pauses, yield func(Delivered) bool) error {
	q := &liveEvents{journal: j, pid: pid, next: from, to: to, yield: yield, wait: j.holeWait(pid)}
	return j.Poll(ctx, p, func() (bool, error) { return q.poll(ctx) }, q.wait.Left)
}

// holeWait returns a live query's wait for missing numbers, or nil if the query does not wait.
func (j *Journal) holeWait(pid string) *protocol.Wait {
	if j.Native() || j.HoleWait < 0 {
		return nil
	}
	return &protocol.Wait{Most: j.HoleWait, Window: LiveWindow, Ended: func(ctx context.Context, w protocol.Waited) {
		j.OnHole(ctx, pid, w)
		level, text, event := slog.LevelDebug, "a live query has waited for missing events", "journal.hole_waited"
		if w.Passed {
			level, text, event = slog.LevelWarn, "a live query continues without missing events", "journal.hole_passed"
		}
		j.Logger.LogAttrs(ctx, level, text, slog.String("event", event), slog.String("persistence_id", pid),
			slog.Int64("first", w.First), slog.Int64("last", w.Last), slog.Duration("waited", w.For))
	}}
}

// liveEvents is a live query of events.
type liveEvents struct {
	journal  *Journal
	pid      string
	next, to int64
	yield    func(Delivered) bool
	ended    bool
	// watch checks whether there may be new events. If it is nil, the query reads without checking.
	watch *protocol.Watch
	// wait waits for missing numbers. It is nil if the query does not wait for them.
	wait *protocol.Wait
}

// poll reads new events, if there may be any. It reports whether it has returned an event, or
// started to wait for a number.
func (q *liveEvents) poll(ctx context.Context) (bool, error) {
	if left, waits := q.wait.Left(); q.watch != nil && (!waits || left > 0) {
		if some, err := q.watched(ctx); !some || err != nil {
			return false, err
		}
	}
	return q.read(ctx)
}

// marksPerPoll returns the number of marks that a poll without new events may read. Each costs 1
// read unit.
func (j *Journal) marksPerPoll() int {
	if j.Native() {
		return 1
	}
	const shared = 3
	return shared
}

// watched reports whether there may be new events.
func (q *liveEvents) watched(ctx context.Context) (bool, error) {
	j, found := q.journal, false
	err := j.Operate(ctx, dynamo.ForRead, func(ctx context.Context, _ *lifetime.Operation) error {
		var err error
		found, err = q.watch.Poll(ctx, &dynamo.Meter{})
		return j.InTable(j.Table, err)
	})
	return found, err
}

// window returns the request for the events from the next number on.
func (q *liveEvents) window() protocol.Request {
	req := From(q.pid, q.next)
	if q.to != 0 {
		req.To = q.to
	}
	return req
}

// read reads all events from the next number on, up to a number that is waited for.
func (q *liveEvents) read(ctx context.Context) (bool, error) {
	q.watch = nil // it is out of date, even after an error
	result, found, err := q.readWindow(ctx)
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
		req := q.window()
		q.watch = q.journal.Store.Watch(&req, &result, q.journal.marksPerPoll())
	}
	return found, err
}

// readWindow reads the events from the next number on, and reports whether it has returned an
// event.
func (q *liveEvents) readWindow(ctx context.Context) (result protocol.Result, found bool, err error) {
	req := q.window()
	req.Wait = q.wait
	result, err = q.journal.Read(ctx, req, func(e *layout.Event) error {
		err := q.journal.Deliver(ctx, e, func(event Delivered) error {
			q.next, found = e.SequenceNr+1, true // returned, so never again
			if q.ended = !q.yield(event); q.ended {
				return protocol.ErrStop
			}
			return nil
		})
		if err == nil { // even if the adapter returns no events
			q.next, found = e.SequenceNr+1, true
		}
		return err
	})
	return result, found, err
}
