package dynajournal

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/history"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/lifetime"
	"github.com/dynajournal/dynajournal/internal/protocol"
)

// Record is a part of a persistence id's history: an event as it is stored, a span of numbers that hold none, or a low mark.
// It has nothing of the journal it comes from: no key, no shard, no journal name.
type Record = history.Record

// The kinds of records.
const (
	// RecordLowMark says that every number below SequenceNumber is deleted, and which atomic write that cuts.
	RecordLowMark = history.LowMark
	// RecordEvent is an event.
	RecordEvent = history.Event
	// RecordClosed is a span of numbers that are taken and hold nothing: seals, holes, parts of atomic writes that are not whole.
	RecordClosed = history.Closed
	// RecordDeleted is a span of deleted numbers below the low mark, to be kept taken for the fence window.
	RecordDeleted = history.Deleted
)

// RecordsOptions say what to read of a history, and how fast.
type RecordsOptions struct {
	// From is the first number wanted; 0 is the first there is.
	From int64
	// Live says that a JVM may be writing. It can have several writes of one persistence id under
	// way, so that a later one is there before an earlier: the history then ends before the first
	// number that holds no event among the last LiveWindow. It does not wait for that number, as a
	// live query does: a later call goes on with it.
	Live bool
	// Pace is called with the cost of what was read since the last call, if set; it may wait, and ends the reading with an error.
	Pace func(ctx context.Context, used Cost) error
}

// LiveWindow is how many of the last numbers of a persistence id may be on their way from a JVM: more than it has under way at once.
const LiveWindow = 1000

// Records reads the committed history of a persistence id as it stands: its low mark if it has one, then every number from
// From, or from the low mark if that is higher, to the last that is decided for good, in order and without a gap. Events are
// those that Events returns, byte for byte, and what lies between them is closed. Members of an atomic write at the end that is
// not whole are left out: it may become whole. It needs no writer and disturbs none; a low mark that moves meanwhile is told
// again. After an error the sequence ends.
func (j *Journal) Records(ctx context.Context, persistenceID string, opts RecordsOptions) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		r := &recording{opts: opts, next: max(opts.From, 1)}
		r.yield = func(record Record) error {
			return r.op.Outside(func() error {
				if !yield(record, nil) {
					return protocol.ErrStop
				}
				return nil
			})
		}
		if err := j.readRecords(ctx, persistenceID, r); err != nil && !errors.Is(err, protocol.ErrStop) {
			yield(Record{}, fmt.Errorf("read the history of %q: %w", persistenceID, itemError(j.config.JournalTable, err)))
		}
	}
}

func (j *Journal) readRecords(ctx context.Context, pid string, r *recording) error {
	if err := j.checkReadable(pid); err != nil {
		return err
	}
	if r.opts.From < 0 {
		return &ArgumentError{"RecordsOptions.From", r.opts.From, mustNotBeNegative}
	}
	begun, err := j.entry.enter(ctx, j.life.Reading())
	if err != nil {
		return err
	}
	defer begun()
	ctx, r.op, err = j.life.Operate(ctx)
	if err != nil {
		return err
	}
	defer r.op.End()
	if r.opts.Live {
		if r.highest, err = j.highest(ctx, &r.meter, pid); err != nil {
			return err
		}
	}
	req := protocol.Request{PersistenceID: pid, From: r.next, To: math.MaxInt64, Limit: protocol.Unlimited, Low: r.lowMark, Begun: begun}
	result, err := j.store.Run(ctx, &r.meter, req, func(e *layout.Event) error { return r.event(ctx, e) })
	if err == nil && !r.stopped {
		err = r.end(ctx, result.Decided)
	}
	return err
}

func (j *Journal) highest(ctx context.Context, m *dynamo.Meter, pid string) (int64, error) {
	marks, err := j.store.Marks(ctx, m, pid)
	if err != nil {
		return 0, err
	}
	return j.store.Highest(ctx, m, pid, marks)
}

// recording turns what a reading hands out into records.
type recording struct {
	opts  RecordsOptions
	op    *lifetime.Operation
	meter dynamo.Meter
	paid  Cost
	yield func(Record) error
	// stopped says that no further record is wanted.
	stopped bool
	// low is a low mark that is not told yet, told the last one that is.
	low  *layout.LowMark
	told layout.LowMark
	next int64 // the number that the next record begins with
	// highest is the highest number when a live reading began.
	highest int64
}

func (r *recording) emit(record Record) error {
	err := r.yield(record)
	r.stopped = err != nil
	return err
}

// lowMark takes a low mark. It is told with the next event, which may have to say what it cuts.
func (r *recording) lowMark(low layout.LowMark) {
	if low.Seq == 0 || low == r.told {
		return
	}
	r.low = &low
	r.next = max(r.next, low.Seq)
}

// event tells an event, and what stands before it.
func (r *recording) event(ctx context.Context, e *layout.Event) error {
	if r.low != nil && r.low.JVM && e.Batch.IsBatch() && e.Batch.Start < r.low.Seq {
		r.low.Cut = e.Batch // it counts, as its last member is there; elsewhere the low mark has to say so
	}
	if err := r.before(ctx, e.SequenceNr-1); err != nil {
		return err
	}
	r.next = e.SequenceNr + 1
	return r.emit(Record{
		Kind:               RecordEvent,
		SequenceNumber:     e.SequenceNr,
		WriterUUID:         e.WriterUUID,
		Manifest:           e.Manifest,
		SerializerID:       e.SerializerID,
		SerializerManifest: e.SerializerManifest,
		Bytes:              e.Bytes,
		BatchFirst:         e.Batch.Start,
		BatchLast:          e.Batch.Last,
	})
}

func (r *recording) end(ctx context.Context, decided int64) error { return r.before(ctx, decided) }

// before tells a low mark that is not told yet, and closes the numbers up to last.
func (r *recording) before(ctx context.Context, last int64) error {
	if err := r.pace(ctx); err != nil {
		return err
	}
	if low := r.low; low != nil {
		r.low, r.told = nil, *low
		record := Record{Kind: RecordLowMark, SequenceNumber: low.Seq}
		if cut := low.Cut; cut.IsBatch() {
			record.BatchFirst, record.BatchLast, record.WriterUUID = cut.Start, cut.Last, cut.WriterUUID
		}
		if err := r.emit(record); err != nil {
			return err
		}
	}
	if last < r.next {
		return nil
	}
	if r.opts.Live && r.highest-r.next < LiveWindow {
		r.stopped = true
		return protocol.ErrStop
	}
	closed := Record{Kind: RecordClosed, SequenceNumber: r.next, Last: last}
	r.next = last + 1
	return r.emit(closed)
}

// pace reports what was read since the last time.
func (r *recording) pace(ctx context.Context) error {
	return paced(ctx, r.op, &r.meter, &r.paid, r.opts.Pace)
}

// paced gives what was used up since the last time to pace, if there is one.
func paced(ctx context.Context, op *lifetime.Operation, m *dynamo.Meter, paid *Cost, pace func(context.Context, Cost) error) error {
	cost := m.Cost()
	used := cost.Sub(*paid)
	if *paid = cost; pace == nil || used == (Cost{}) {
		return nil
	}
	return op.Outside(func() error { return pace(ctx, used) })
}
