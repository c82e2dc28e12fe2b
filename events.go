package dynajournal

import (
	"context"
	"fmt"
	"iter"
	"math"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/lifetime"
	"github.com/dynajournal/dynajournal/internal/protocol"
)

// Range is a window of sequence numbers. The zero Range is everything.
type Range struct {
	// From is the first sequence number wanted; 0 is the first there is.
	From int64
	// To is the last one wanted; 0 is the last there is. A To before From is an empty window.
	To int64
	// Limit is how many events to return at most, counted as they are returned; nil is no limit, 0
	// none.
	Limit *int64
}

// request checks the window, and returns what to read. It reports false if that is nothing. options
// is the name of the type in the error of a wrong field.
func (r Range) request(pid, options string) (protocol.Request, bool, error) {
	req := protocol.Request{PersistenceID: pid, From: max(r.From, 1), To: r.To, Limit: protocol.Unlimited}
	if req.To == 0 {
		req.To = math.MaxInt64
	}
	if r.Limit != nil {
		req.Limit = *r.Limit
	}
	switch {
	case r.From < 0:
		return req, false, &ArgumentError{options + ".From", r.From, mustNotBeNegative}
	case r.To < 0:
		return req, false, &ArgumentError{options + ".To", r.To, mustNotBeNegative}
	case r.Limit != nil && *r.Limit < 0:
		return req, false, &ArgumentError{options + ".Limit", *r.Limit, mustNotBeNegative}
	}
	return req, req.From <= req.To && req.From <= MaxSequenceNumber && req.Limit != 0, nil
}

// Events reads the events of a persistence id in the order of their sequence numbers, each once;
// those of a window, as far as they are not deleted. It needs no writer and disturbs none. A batch
// of which members are missing is left out; of one that the window cuts, the part inside is
// returned. An id that was never written has no events, which is no error.
//
// After an error the sequence ends. Reading stops when the loop is left. Memory is bounded by
// Config.ReplayParallelism megabytes and the largest atomic write; where requests wait for
// Config.MaxConnections, by one megabyte and that. The loop may read and recover others.
func (j *Journal) Events(ctx context.Context, persistenceID string, window Range) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		_, err := j.readEvents(ctx, persistenceID, window, nil, func(e *layout.Event) error {
			return j.deliver(e, func(event Event) error {
				if !yield(event, nil) {
					return protocol.ErrStop
				}
				return nil
			})
		})
		if err != nil {
			yield(Event{}, fmt.Errorf("read events of %q: %w", persistenceID, err))
		}
	}
}

// readEvents reads the events of a window; wait is that of protocol.Request. The result is that of
// a reading that went to the end; the zero Result where there was nothing to read.
func (j *Journal) readEvents(
	ctx context.Context, pid string, window Range, wait *protocol.Wait, emit func(*layout.Event) error,
) (protocol.Result, error) {
	req, some, err := window.request(pid, "Range")
	req.Wait = wait
	if err == nil {
		err = j.checkReadable(pid)
	}
	if err != nil {
		return protocol.Result{}, err
	}
	if !some {
		return protocol.Result{}, j.operate(ctx, func(context.Context, *lifetime.Operation) error { return nil })
	}
	var result protocol.Result
	err = j.admit(ctx, func(ctx context.Context, op *lifetime.Operation, begun func()) error {
		req.Begun = begun
		var err error
		result, err = j.store.Run(ctx, &dynamo.Meter{}, req, func(e *layout.Event) error {
			return op.Outside(func() error { return emit(e) })
		})
		return itemError(j.config.JournalTable, err)
	})
	return result, err
}

// EventEnvelope is an event of the read journal. Its offset is its sequence number.
type EventEnvelope struct {
	// Offset is where to go on after this event: From of the next query is one more.
	Offset int64
	Event
}

// CurrentEventsByPersistenceID reads the events of a persistence id that are there now, from one
// sequence number to another, both included; to 0 is the last there is. It is Events with offsets.
func (j *Journal) CurrentEventsByPersistenceID(ctx context.Context, persistenceID string, from, to int64) iter.Seq2[EventEnvelope, error] {
	return func(yield func(EventEnvelope, error) bool) {
		for e, err := range j.Events(ctx, persistenceID, Range{From: from, To: to}) {
			if !yield(EventEnvelope{e.SequenceNumber, e}, err) {
				return
			}
		}
	}
}
