package protocol

import (
	"context"
	"errors"
	"math"

	"github.com/dynajournal/dynajournal/internal/history"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// ExportRequest selects what to export.
type ExportRequest struct {
	PersistenceID string
	// From is the first number to export, at least 1.
	From int64
	// Live is the count of the last numbers that a JVM may still be storing, or 0 if no JVM writes.
	// The export ends before the first of these numbers without an event.
	Live int64
	// SkipMissing closes numbers at which an event is missing. Without it, an *EventMissingError
	// ends the export there.
	SkipMissing bool
	// Started is passed on as Request.Started.
	Started func()
	Pace    Pace
}

// Export reads the history of a persistence id, and calls emit with its records, in order and
// without gaps. It ends with the first error of emit. ErrStop ends it without an error.
func (s *Store) Export(ctx context.Context, req *ExportRequest, emit func(history.Record) error) error {
	e := &export{paced: paced{call: req.Pace}, emit: emit, live: req.Live, next: req.From}
	if e.live > 0 {
		var err error
		if _, e.highest, err = s.Bounds(ctx, &e.meter, req.PersistenceID); err != nil {
			return err
		}
	}
	result, err := s.Replay(ctx, &e.meter, Request{
		PersistenceID: req.PersistenceID, From: e.next, To: math.MaxInt64, Limit: Unlimited, Low: e.lowMark,
		SkipMissing: req.SkipMissing, Started: req.Started,
	}, func(event *layout.Event) error { return e.event(ctx, event) })
	if err != nil || e.stopped {
		return err
	}
	if err := e.before(ctx, result.Decided); !errors.Is(err, ErrStop) {
		return err
	}
	return nil
}

// export turns replayed events into records.
type export struct {
	paced

	emit func(history.Record) error
	live int64
	// stopped reports that no further record is wanted.
	stopped bool
	// low is a low mark that was not emitted yet, or nil. given is the last low mark that was
	// emitted.
	low   *layout.LowMark
	given layout.LowMark
	// next is the number at which the next record begins.
	next int64
	// highest is the highest number when the export of a live journal began.
	highest int64
}

func (e *export) give(record history.Record) error {
	err := e.emit(record)
	e.stopped = err != nil
	return err
}

// lowMark records a low mark, to be emitted before the next event: that event may show which batch
// the low mark cuts.
func (e *export) lowMark(low layout.LowMark) {
	if low.Seq == 0 || low == e.given {
		return
	}
	e.low = &low
	e.next = max(e.next, low.Seq)
}

// event emits an event, after the pending low mark and the closed numbers before it.
func (e *export) event(ctx context.Context, event *layout.Event) error {
	if e.low != nil && e.low.JVM && event.Batch.IsBatch() && event.Batch.Start < e.low.Seq {
		// The event counts, because its last member is stored. The low mark of the copy must record
		// that.
		e.low.Cut = event.Batch
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
		Time:               event.Metadata.Time,
		Metadata:           event.Metadata.Values,
		Tags:               event.Metadata.Tags,
	})
}

// before emits the pending low mark, and closes the numbers up to last.
func (e *export) before(ctx context.Context, last int64) error {
	if err := e.pace(ctx); err != nil {
		return err
	}
	if low := e.low; low != nil {
		e.low, e.given = nil, *low
		record := history.Record{Kind: history.LowMark, SequenceNumber: low.Seq, Behind: low.Behind, Purged: low.Purged}
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
