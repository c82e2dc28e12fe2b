package dynajournal

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/history"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/lifetime"
	"github.com/dynajournal/dynajournal/internal/protocol"
)

// Record is a part of the history of a persistence id: an event as it is stored, a span of numbers
// without events, or a low mark. It does not depend on the journal that it comes from: it has no
// key, shard or journal name.
type Record struct {
	Kind RecordKind
	// SequenceNumber is the number of the event, the first number of the span, or the low mark.
	SequenceNumber int64
	// Last is the last number of a span.
	Last int64

	// WriterUUID is the UUID of the writer of the event.
	WriterUUID string
	// Manifest is the event adapter's manifest.
	Manifest string
	// SerializerID, SerializerManifest and Bytes are the event's serialized payload, as stored.
	SerializerID       int32
	SerializerManifest string
	Bytes              []byte
	// Time, Metadata and Tags are those of the event, zero if they are not stored. Tags must be in
	// ascending order. Time is stored in microseconds.
	Time     time.Time
	Metadata map[string]string
	Tags     []string
	// BatchFirst and BatchLast are the numbers of the first and the last event of the atomic write
	// that the event belongs to, or that the low mark cuts; both are 0 if there is none.
	BatchFirst, BatchLast int64
	// Behind is, of a low mark, the last number that was deleted because a snapshot has the state
	// ([Writer.DeleteCovered]), or 0 if there is none. The copy needs a snapshot at that number or
	// after it.
	Behind int64
	// Purged is, of a low mark, the highest number that a purge has taken, or 0 if there was none.
	// The numbers after it are of the present life of the persistence id, and snapshots up to it
	// are left out of a copy. A shared journal drops it.
	Purged int64
}

// RecordKind is the kind of a Record.
type RecordKind uint8

// The kinds of records.
const (
	// RecordLowMark is a low mark: every number below SequenceNumber is deleted. It comes first, if
	// the history has one, and again if it has moved while the history was being read. BatchFirst,
	// BatchLast and WriterUUID name the atomic write that it cuts, if there is one: the events of
	// that write from SequenceNumber on count all the same.
	RecordLowMark RecordKind = 1
	// RecordEvent is an event.
	RecordEvent RecordKind = 2
	// RecordClosed is a span of numbers that are taken and hold no event: seals, holes, and events
	// of incomplete atomic writes.
	RecordClosed RecordKind = 3
	// RecordDeleted is a span of deleted numbers below the low mark. A copy keeps them taken for
	// the fence window.
	RecordDeleted RecordKind = 4
)

// publicRecord returns the public form of a record.
func publicRecord(r *history.Record) Record {
	return Record{
		Kind:               RecordKind(r.Kind),
		SequenceNumber:     r.SequenceNumber,
		Last:               r.Last,
		WriterUUID:         r.WriterUUID,
		Manifest:           r.Manifest,
		SerializerID:       r.SerializerID,
		SerializerManifest: r.SerializerManifest,
		Bytes:              r.Bytes,
		Time:               layout.TimeOf(r.Time),
		Metadata:           r.Metadata,
		Tags:               r.Tags,
		BatchFirst:         r.BatchFirst,
		BatchLast:          r.BatchLast,
		Behind:             r.Behind,
		Purged:             r.Purged,
	}
}

// history returns the form of a record in which the protocol imports it.
func (r *Record) history() *history.Record {
	return &history.Record{
		Kind:               history.Kind(r.Kind),
		SequenceNumber:     r.SequenceNumber,
		Last:               r.Last,
		WriterUUID:         r.WriterUUID,
		Manifest:           r.Manifest,
		SerializerID:       r.SerializerID,
		SerializerManifest: r.SerializerManifest,
		Bytes:              r.Bytes,
		Time:               layout.Microseconds(r.Time),
		Metadata:           r.Metadata,
		Tags:               r.Tags,
		BatchFirst:         r.BatchFirst,
		BatchLast:          r.BatchLast,
		Behind:             r.Behind,
		Purged:             r.Purged,
	}
}

// RecordsOptions are the options of Records.
type RecordsOptions struct {
	// From is the first sequence number to read.
	//
	// Defaults to the lowest there is.
	From int64

	// Live must be set if a JVM may be writing. A JVM writes several events of a persistence id at
	// the same time, so that a later one can be stored before an earlier one. The history then ends
	// before the first of the last [LiveWindow] numbers that has no event. Records does not wait
	// for that number, as a live query does: a later call continues with it.
	//
	// Defaults to false.
	Live bool

	// SkipMissing continues past events that are missing, where the reading would end with
	// [ErrEventMissing]. Their numbers are closed in the history.
	//
	// Defaults to false.
	SkipMissing bool

	// Pace is called with the cost since its last call, if it is set. It may wait, to keep to a
	// capacity. An error of it ends the reading, which returns it.
	Pace func(ctx context.Context, used Cost) error
}

// LiveWindow is how many of the highest sequence numbers of a persistence id a JVM may still be
// writing. It is more than a JVM writes at the same time.
const LiveWindow = 1000

// Records reads the history of a persistence id, for a copy: its low mark, if it has one, and every
// sequence number from From, or from the low mark if that is higher, to the last number that is
// decided for good. The records are in order and have no gaps. The events are those that
// [Journal.Events] returns, byte for byte; the numbers between them are closed. An incomplete
// atomic write at the end is left out, as it may still be completed. If the low mark moves during
// the reading, it is returned again. Records needs no writer and does not affect one.
//
// Errors: [ErrInvalidArgument], [ErrCorruptItem], [ErrEventMissing], [ErrHole], [ErrClosed], those
// of Pace and those of requests. After an error the sequence ends.
func (j *Journal) Records(ctx context.Context, persistenceID string, opts RecordsOptions) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		err := j.readRecords(ctx, persistenceID, opts, func(record Record) error {
			if !yield(record, nil) {
				return protocol.ErrStop
			}
			return nil
		})
		if err != nil {
			err = j.core.InTable(j.core.Table, err)
			yield(Record{}, fmt.Errorf("read the history of %q: %w", persistenceID, err))
		}
	}
}

func (j *Journal) readRecords(ctx context.Context, pid string, opts RecordsOptions, emit func(Record) error) error {
	if err := j.core.CheckReadable(pid); err != nil {
		return err
	}
	if opts.From < 0 {
		return &ArgumentError{"RecordsOptions.From", opts.From, core.MustNotBeNegative}
	}
	return j.core.Admit(ctx, func(ctx context.Context, op *lifetime.Operation, begun func()) error {
		req := &protocol.ExportRequest{
			PersistenceID: pid, From: max(opts.From, 1), SkipMissing: opts.SkipMissing, Begun: begun,
			Pace: paceOutside(op, opts.Pace),
		}
		if opts.Live {
			req.Live = LiveWindow
		}
		return j.core.Store.Export(ctx, req, func(record history.Record) error {
			return op.Outside(func() error { return emit(publicRecord(&record)) })
		})
	})
}

// paceOutside returns a pace that calls the caller's outside of the operation, nil if there is
// none.
func paceOutside(op *lifetime.Operation, call func(context.Context, Cost) error) protocol.Pace {
	if call == nil {
		return nil
	}
	return func(ctx context.Context, used dynamo.Cost) error {
		return op.Outside(func() error { return call(ctx, Cost(used)) })
	}
}

// PutRecordsOptions are the options of PutRecords.
type PutRecordsOptions struct {
	// Pace is called with the cost since its last call, if it is set. It may wait, to keep to a
	// capacity. An error of it ends PutRecords, which returns it.
	Pace func(ctx context.Context, used Cost) error
}

// PutRecordsResult is the result of PutRecords.
type PutRecordsResult struct {
	// Events is how many events were among the records, Written how many of them were not stored
	// before.
	Events, Written int64
	// Highest is the highest sequence number of the records, 0 if there were none.
	Highest int64
	Cost    Cost
}

// PutRecords writes a history, as [Journal.Records] of this or another journal returns it, to a
// persistence id. Sequence numbers and writer UUIDs stay the same. The id must be empty, or hold a
// beginning of the same history, so PutRecords may be repeated after an error or a crash, and later
// to add new events. The records may begin at any number up to the one after the highest of the id.
//
// PutRecords compares what the id holds first, up to its highest number. It changes nothing before
// all of it was found equal, and else returns a *[ContentConflictError]. If the history is deleted
// beyond the events of the id, nothing can be compared, and it returns that error, too: purge the
// id, with PurgeOptions.Now so that its numbers are free at once, or copy to another journal. An id
// whose events are all deleted accepts any later history. An id that was purged accepts only a
// history that was purged at least as far; for any other PutRecords returns that error, too. Where
// a purge of the id was cut short, PutRecords returns that error, too: recover the id first.
//
// Then it writes in the order of a writer, so that a reader finds a beginning of the history at any
// time: the low mark first, then each event when the one before is durable, the events of an atomic
// write at the same time, and a high mark after the event that needs it. It seals numbers that hold
// no event before it continues. No other writer may use the id until the copy is complete: the next
// call would find other content.
//
// Errors: [ErrContentConflict], [ErrInvalidArgument] (the records are not in order, have gaps, or
// lack events of an atomic write), [ErrRejected] (an item or an atomic write is too large),
// [ErrCorruptItem], [ErrClosed], those of the records and of Pace, and those of requests.
func (j *Journal) PutRecords(
	ctx context.Context, persistenceID string, records iter.Seq2[Record, error], opts PutRecordsOptions,
) (PutRecordsResult, error) {
	if err := j.core.CheckID(persistenceID); err != nil {
		return PutRecordsResult{}, err
	}
	var result PutRecordsResult
	err := j.core.Operate(ctx, func(ctx context.Context, op *lifetime.Operation) error {
		in := j.core.Protocol.NewImport(persistenceID, paceOutside(op, opts.Pace))
		err := putRecords(ctx, op, in, records)
		result = PutRecordsResult{Events: in.Events, Written: in.Written, Highest: in.Highest, Cost: Cost(in.Cost())}
		if err != nil {
			err = in.Mark(j.core.InTable(j.core.Table, err))
			return fmt.Errorf("write the history of %q: %w", persistenceID, err)
		}
		return nil
	})
	return result, err
}

// putRecords writes the records by an import.
func putRecords(
	ctx context.Context, op *lifetime.Operation, in *protocol.Import, records iter.Seq2[Record, error],
) error {
	if err := in.Begin(ctx); err != nil {
		return err
	}
	if err := eachRecord(op, records, func(r *Record) error { return in.Record(ctx, r.history()) }); err != nil {
		return err
	}
	return in.Finish(ctx)
}

// eachRecord passes each record to take. It leaves the operation while the caller's iterator runs.
func eachRecord(op *lifetime.Operation, records iter.Seq2[Record, error], take func(*Record) error) error {
	var failed error
	op.Leave()
	for record, err := range records {
		if err == nil {
			err = op.Return()
		}
		if err == nil {
			err = take(&record)
			op.Leave()
		}
		if failed = err; err != nil {
			break
		}
	}
	if closed := op.Return(); failed == nil {
		failed = closed
	}
	return failed
}
