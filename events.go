package dynajournal

import (
	"context"
	"fmt"
	"iter"

	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/protocol"
)

// Range is a window of sequence numbers. The zero Range selects all events.
type Range struct {
	// From is the first sequence number to read; 0 means the lowest there is.
	From int64
	// To is the last sequence number to read; 0 means the highest there is. If To is below From,
	// the window is empty. To read nothing when the last number is 0, set Limit to 0.
	To int64
	// Limit is the largest number of events to return. Nil means no limit, and 0 returns no events.
	Limit *int64
	// SkipMissing continues past missing events, where reading would otherwise stop with
	// [ErrEventMissing].
	SkipMissing bool
}

// request checks the window and returns the request to read it. options is the name of the options
// type in the error for a wrong field.
func (r Range) request(pid, options string) (protocol.Request, error) {
	req := core.From(pid, r.From)
	if r.To != 0 {
		req.To = r.To
	}
	if r.Limit != nil {
		req.Limit = *r.Limit
	}
	req.SkipMissing = r.SkipMissing
	switch {
	case r.From < 0:
		return req, &ArgumentError{options + ".From", r.From, core.MustNotBeNegative}
	case r.To < 0:
		return req, &ArgumentError{options + ".To", r.To, core.MustNotBeNegative}
	case r.Limit != nil && *r.Limit < 0:
		return req, &ArgumentError{options + ".Limit", *r.Limit, core.MustNotBeNegative}
	}
	return req, nil
}

// Events reads the events of a window of sequence numbers that are not deleted, in order, each
// once. It needs no writer and does not affect one. It leaves out incomplete atomic writes. If the
// window contains only a part of an atomic write, it returns the events inside the window. A
// persistence id that was never written has no events, which is not an error.
//
// The loop over the events may use the journal. Reading stops when the loop is left. It takes up to
// Config.ReplayParallelism megabytes of memory, plus the size of the largest atomic write. While
// other requests wait for Config.MaxConnections, it takes one megabyte plus that size.
//
// Errors: [ErrInvalidArgument], [ErrCorruptItem], [ErrEventMissing], [ErrHole], [ErrClosed], errors
// of Config.Adapter, and request errors. After an error the sequence ends.
func (j *Journal) Events(ctx context.Context, persistenceID string, window Range) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		req, err := window.request(persistenceID, "Range")
		if err == nil {
			_, err = j.core.Read(ctx, req, func(e *layout.Event) error {
				return j.core.Deliver(ctx, e, func(event core.Delivered) error {
					if !yield(eventOf(event), nil) {
						return protocol.ErrStop
					}
					return nil
				})
			})
		}
		if err != nil {
			yield(Event{}, fmt.Errorf("read events of %q: %w", persistenceID, err))
		}
	}
}

// EventEnvelope is an event with its offset, as returned by the read journals of Akka and Pekko.
type EventEnvelope struct {
	// Offset is the sequence number. To continue after the event, query from Offset+1.
	Offset int64
	Event
}

// CurrentEventsByPersistenceID reads the events of a persistence id from one sequence number to
// another, both inclusive. It is [Journal.Events] with offsets. Unlike in Akka and Pekko, 0 for to
// means the highest sequence number.
func (j *Journal) CurrentEventsByPersistenceID(
	ctx context.Context, persistenceID string, from, to int64,
) iter.Seq2[EventEnvelope, error] {
	return func(yield func(EventEnvelope, error) bool) {
		for e, err := range j.Events(ctx, persistenceID, Range{From: from, To: to}) {
			if !yield(EventEnvelope{e.SequenceNumber, e}, err) {
				return
			}
		}
	}
}
