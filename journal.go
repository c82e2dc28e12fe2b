package dynajournal

import (
	"context"
	"fmt"
	"iter"
	"math"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/protocol"
)

// Range is a window of sequence numbers. The zero Range is everything.
type Range struct {
	// From is the first sequence number wanted; 0 is the first there is.
	From int64
	// To is the last one wanted; 0 is the last there is. A To before From is an empty window.
	To int64
	// Limit is how many events to return at most, counted as they are returned; nil is no limit, 0 none.
	Limit *int64
}

// request checks the window. It says false if nothing can be in it.
func (r Range) request(pid string) (protocol.Request, bool, error) {
	req := protocol.Request{PersistenceID: pid, From: max(r.From, 1), To: r.To, Limit: protocol.Unlimited}
	if req.To == 0 {
		req.To = math.MaxInt64
	}
	if r.Limit != nil {
		req.Limit = *r.Limit
	}
	switch {
	case r.From < 0:
		return req, false, &ArgumentError{"Range.From", r.From, mustNotBeNegative}
	case r.To < 0:
		return req, false, &ArgumentError{"Range.To", r.To, mustNotBeNegative}
	case r.Limit != nil && *r.Limit < 0:
		return req, false, &ArgumentError{"Range.Limit", *r.Limit, mustNotBeNegative}
	}
	return req, req.From <= req.To && req.From <= MaxSequenceNumber && req.Limit != 0, nil
}

// Events reads the events of a persistence id in the order of their sequence numbers, each once; those of a window, as far
// as they are not deleted. It needs no writer and disturbs none. A batch of which members are missing is left out; of one
// that the window cuts, the part inside is returned. An id that was never written has no events, which is no error.
//
// After an error the sequence ends. Reading stops when the loop is left. Memory is bounded by Config.ReplayParallelism
// megabytes and the largest atomic write; where requests wait for Config.MaxConnections, by one megabyte and that. The loop may
// read and recover others.
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

// readEvents reads the events of a window; wait is that of protocol.Request. The result is that of a
// reading that went to the end; the zero Result where there was nothing to read.
func (j *Journal) readEvents(
	ctx context.Context, pid string, window Range, wait *protocol.Wait, emit func(*layout.Event) error,
) (protocol.Result, error) {
	req, some, err := window.request(pid)
	req.Wait = wait
	if err == nil {
		err = j.checkReadable(pid)
	}
	if err != nil {
		return protocol.Result{}, err
	}
	if !some {
		_, done, err := j.life.Read(ctx)
		if err == nil {
			done()
		}
		return protocol.Result{}, err
	}
	if req.Begun, err = j.entry.enter(ctx, j.life.Reading()); err != nil {
		return protocol.Result{}, err
	}
	defer req.Begun()
	return j.replay(ctx, req, emit)
}

// replay hands out events; it has entered.
func (j *Journal) replay(ctx context.Context, req protocol.Request, emit func(*layout.Event) error) (protocol.Result, error) {
	ctx, op, err := j.life.Operate(ctx)
	if err != nil {
		return protocol.Result{}, err
	}
	defer op.End()
	result, err := j.store.Run(ctx, &dynamo.Meter{}, req, func(e *layout.Event) error {
		return op.Outside(func() error { return emit(e) })
	})
	return result, itemError(j.config.JournalTable, err)
}

// Bounds are the sequence numbers of a persistence id.
type Bounds struct {
	// Lowest is the first sequence number that is not deleted; 0 if nothing was ever deleted.
	Lowest int64
	// Highest is the highest sequence number that is taken, also by an event that was deleted since; 0 if none ever was.
	Highest int64
}

// Bounds reads the lowest and the highest sequence number of a persistence id.
func (j *Journal) Bounds(ctx context.Context, persistenceID string) (Bounds, error) {
	if err := j.checkReadable(persistenceID); err != nil {
		return Bounds{}, err
	}
	leave, err := j.entry.enter(ctx, j.life.Reading())
	if err != nil {
		return Bounds{}, boundsError(persistenceID, err)
	}
	defer leave()
	return j.bounds(ctx, persistenceID)
}

func boundsError(pid string, err error) error {
	return fmt.Errorf("read the highest sequence number of %q: %w", pid, err)
}

// bounds does what Bounds says; it has entered.
func (j *Journal) bounds(ctx context.Context, pid string) (Bounds, error) {
	ctx, done, err := j.life.Read(ctx)
	if err != nil {
		return Bounds{}, err
	}
	defer done()
	var m dynamo.Meter
	marks, err := j.store.Marks(ctx, &m, pid)
	var highest int64
	if err == nil {
		highest, err = j.store.Highest(ctx, &m, pid, marks)
	}
	if err != nil {
		return Bounds{}, boundsError(pid, itemError(j.config.JournalTable, err))
	}
	return Bounds{Lowest: marks.Low.Seq, Highest: highest}, nil
}

// Listing is what stands in the journal's table for one persistence id, item by item.
type Listing struct {
	// LowMarks and HighMarks are the values of the marks that exist, rising.
	LowMarks, HighMarks []int64
	// SequenceNumbers are those of events, whether they count or not; Tombstones those of deleted events, Seals the closed
	// numbers. All rising.
	SequenceNumbers, Tombstones, Seals []int64
}

// List lists the items of a persistence id as they stand, below the low mark and parts of atomic
// writes included. It is for inspection. Wide spans of deleted numbers are not read as a whole: a
// few items that are alone there can be missing.
func (j *Journal) List(ctx context.Context, persistenceID string) (Listing, error) {
	if err := j.checkReadable(persistenceID); err != nil {
		return Listing{}, err
	}
	ctx, done, err := j.life.Read(ctx)
	if err != nil {
		return Listing{}, err
	}
	defer done()
	l, err := j.list(ctx, persistenceID)
	if err != nil {
		return Listing{}, fmt.Errorf("list %q: %w", persistenceID, itemError(j.config.JournalTable, err))
	}
	return l, nil
}

func (j *Journal) list(ctx context.Context, pid string) (Listing, error) {
	var l Listing
	var m dynamo.Meter
	marks, err := j.store.Marks(ctx, &m, pid)
	if err != nil {
		return l, err
	}
	highest, err := j.store.Highest(ctx, &m, pid, marks)
	if err != nil {
		return l, err
	}
	l.LowMarks, l.HighMarks = marks.LowMarks, marks.HighMarks
	err = j.store.EachExisting(ctx, &m, pid, marks, 0, highest/layout.PartitionSize, func(p int64) (bool, error) {
		slots, err := j.store.Partition(ctx, &m, pid, p)
		for _, s := range slots {
			switch {
			case s.Event != nil:
				l.SequenceNumbers = append(l.SequenceNumbers, s.SequenceNr)
			case s.Seal():
				l.Seals = append(l.Seals, s.SequenceNr)
			default:
				l.Tombstones = append(l.Tombstones, s.SequenceNr)
			}
		}
		return len(slots) > 0, err
	})
	return l, err
}
