package protocol

import (
	"context"
	"errors"
	"math"

	"github.com/dynajournal/dynajournal/internal/history"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// ExportRequest says what to read of a history.
type ExportRequest struct {
	PersistenceID string
	// From is the first number wanted, at least 1.
	From int64
	// Live is how many of the last numbers a JVM may have under way; 0 where none writes. The
	// history ends before the first of them that holds no event.
	Live int64
	// Begun is that of Request.
	Begun func()
	Pace  Pace
}

// Export reads the history of a persistence id, and gives its records to emit, in order and without
// gaps. It ends with the first error of emit; ErrStop ends it without one.
func (s *Store) Export(ctx context.Context, req *ExportRequest, emit func(history.Record) error) error {
	e := &export{paced: paced{call: req.Pace}, emit: emit, live: req.Live, next: req.From}
	if e.live > 0 {
		var err error
		if _, e.highest, err = s.Bounds(ctx, &e.meter, req.PersistenceID); err != nil {
			return err
		}
	}
	result, err := s.Run(ctx, &e.meter, Request{
		PersistenceID: req.PersistenceID, From: e.next, To: math.MaxInt64, Limit: Unlimited, Low: e.lowMark, Begun: req.Begun,
	}, func(event *layout.Event) error { return e.event(ctx, event) })
	if err != nil || e.stopped {
		return err
	}
	if err := e.before(ctx, result.Decided); !errors.Is(err, ErrStop) {
		return err
	}
	return nil
}

// export turns what a reading hands out into records.
type export struct {
	paced

	emit func(history.Record) error
	live int64
	// stopped reports that no further record is wanted.
	stopped bool
	// low is a low mark that was not given out yet, nil if there is none; given the last one that
	// was.
	low   *layout.LowMark
	given layout.LowMark
	// next is the number that the next record begins with.
	next int64
	// highest is the highest number when a live export began.
	highest int64
}

func (e *export) give(record history.Record) error {
	err := e.emit(record)
	e.stopped = err != nil
	return err
}

// lowMark takes a low mark. It is given out before the next event, which may tell what it cuts.
func (e *export) lowMark(low layout.LowMark) {
	if low.Seq == 0 || low == e.given {
		return
	}
	e.low = &low
	e.next = max(e.next, low.Seq)
}

// event gives out an event, and what is before it.
func (e *export) event(ctx context.Context, event *layout.Event) error {
	if e.low != nil && e.low.JVM && event.Batch.IsBatch() && event.Batch.Start < e.low.Seq {
		e.low.Cut = event.Batch // it counts, as its last member is stored; elsewhere the low mark must say so
	}
	if err := e.before(ctx, event.SequenceNr-1); err != nil {
		return err
	}
	e.next = event.SequenceNr + 1
	return e.give(history.Record{
		Kind:               history.Event,
		SequenceNumber:     event.SequenceNr,
		WriterUUID:         event.WriterUUID,
		Manifest:           event.Manifest,
		SerializerID:       event.SerializerID,
		SerializerManifest: event.SerializerManifest,
		Bytes:              event.Bytes,
		BatchFirst:         event.Batch.Start,
		BatchLast:          event.Batch.Last,
	})
}

// before gives out a low mark that was not given out yet, and closes the numbers up to last.
func (e *export) before(ctx context.Context, last int64) error {
	if err := e.pace(ctx); err != nil {
		return err
	}
	if low := e.low; low != nil {
		e.low, e.given = nil, *low
		record := history.Record{Kind: history.LowMark, SequenceNumber: low.Seq}
		if cut := low.Cut; cut.IsBatch() {
			record.BatchFirst, record.BatchLast, record.WriterUUID = cut.Start, cut.Last, cut.WriterUUID
		}
		if err := e.give(record); err != nil {
			return err
		}
	}
	if last < e.next {
		return nil
	}
	if e.live > 0 && e.highest-e.next < e.live {
		e.stopped = true
		return ErrStop
	}
	closed := history.Record{Kind: history.Closed, SequenceNumber: e.next, Last: last}
	e.next = last + 1
	return e.give(closed)
}
