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
// without events, or a low mark. It is independent of the journal it comes from: it contains no
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
	// Time, Metadata and Tags are stored with the event. They are zero if they are not stored. Time
	// has a precision of microseconds. Tags must be in ascending order.
	Time     time.Time
	Metadata map[string]string
	Tags     []string
	// BatchFirst and BatchLast are the numbers of the first and the last event of the atomic write
	// to which the event belongs, or that the low mark cuts. Both are 0 without such an atomic
	// write.
	BatchFirst, BatchLast int64
	// Behind is set on a low mark: the last number that was deleted because a snapshot has the
	// state ([Writer.DeleteCovered]), or 0. The copy needs a snapshot at that number or after it.
	Behind int64
	// Purged is set on a low mark: the highest number that a purge has taken, or 0. The numbers
	// after it belong to the present life of the persistence id. A copy leaves out snapshots up to
	// it. A shared journal drops it.
	Purged int64
}

// RecordKind is the kind of a Record.
type RecordKind uint8

// The kinds of records.
const (
	// RecordLowMark is a low mark: every number below SequenceNumber is deleted. It comes first if
	// the history has a low mark, and again if the mark moves while the history is being read. If
	// it cuts an atomic write, BatchFirst, BatchLast and WriterUUID name that write: its events
	// from SequenceNumber on are still valid.
	RecordLowMark RecordKind = 1
	// RecordEvent is an event.
	RecordEvent RecordKind = 2
	// RecordClosed is a span of numbers that are taken and have no event: seals, holes, and events
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

// history returns the internal form of a record, which the protocol imports.
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
	// Defaults to the lowest number.
	From int64

	// Live must be set if a JVM may be writing. A JVM writes several events of a persistence id at
	// the same time, so a later event can be stored before an earlier one. The history then ends
	// before the first number without an event among the last [LiveWindow] numbers. Unlike a live
	// query, Records does not wait for that number: a later call continues with it.
	//
	// Defaults to false.
	Live bool

	// SkipMissing continues past missing events, where reading would otherwise stop with
	// [ErrEventMissing]. The history contains their numbers as closed.
	//
	// Defaults to false.
	SkipMissing bool

	// Pace, if set, is called with the cost since its last call. It may wait, to limit the capacity
	// used. An error stops the read, which returns it.
	Pace func(ctx context.Context, used Cost) error
}

// LiveWindow bounds the sequence numbers that a JVM may still be writing: they are among the
// LiveWindow highest of a persistence id. A JVM never writes that many at the same time.
const LiveWindow = 1000

// Records reads the history of a persistence id, for a copy. The history consists of the low mark,
// if there is one, and of every sequence number from From, or from the low mark if that is higher,
// to the last number that can no longer change. The records are in order and have no gaps. The
// events are the events that [Journal.Events] returns, byte for byte; the numbers between them are
// closed. An incomplete atomic write at the end is left out, as it may still be completed. If the
// low mark moves during the read, it is returned again. Records needs no writer and does not affect
// one.
//
// Errors: [ErrInvalidArgument], [ErrCorruptItem], [ErrEventMissing], [ErrHole], [ErrClosed], errors
// of Pace, and request errors. After an error the sequence ends.
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
	return j.core.Admit(ctx, dynamo.ForCopy, func(ctx context.Context, op *lifetime.Operation, started func()) error {
		req := &protocol.ExportRequest{
			PersistenceID: pid, From: max(opts.From, 1), SkipMissing: opts.SkipMissing, Started: started,
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

// paceOutside returns a pace that calls the caller's function outside of the operation, or nil if
// call is nil.
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
	// Pace, if set, is called with the cost since its last call. It may wait, to limit the capacity
	// used. An error stops PutRecords, which returns it.
	Pace func(ctx context.Context, used Cost) error
}

// PutRecordsResult is the result of PutRecords.
type PutRecordsResult struct {
	// Events is the number of events among the records. Written is the number of those events that
	// were not stored before.
	Events, Written int64
	// Highest is the highest sequence number of the records, or 0 without records.
	Highest int64
	Cost    Cost
}

// PutRecords writes a history, as [Journal.Records] of this or another journal returns it, to a
// persistence id. Sequence numbers and writer UUIDs stay the same. The id must be empty or contain
// the beginning of the same history. PutRecords may therefore be repeated after an error or a
// crash, and later to add new events. The records may start at any number up to the one after the
// highest of the id.
//
// PutRecords first compares the stored events of the id, up to its highest number, with the
// records. It changes nothing until all of them were found equal. It returns a
// *[ContentConflictError] in these cases:
//
//   - The stored events differ from the records.
//   - The history is deleted beyond the events of the id, so nothing can be compared. Purge the id,
//     with PurgeOptions.Now so that its numbers are free at once, or copy to another journal.
//   - The id was purged, and the history was not purged at least as far.
//   - A purge of the id was cut short. Recover the id first.
//
// An id whose events are all deleted accepts any later history.
//
// Then it writes in the order of a writer, so that a reader finds a beginning of the history at any
// time: the low mark first, then each event when the event before it is durable, and a high mark
// after the event that needs it. The events of an atomic write are written at the same time.
// Numbers without an event are sealed before it continues. No other writer may use the id until the
// copy is complete: the next call would find different content.
//
// Errors: [ErrContentConflict], [ErrInvalidArgument] (the records are not in order, have gaps, or
// lack events of an atomic write), [ErrRejected] (an item or an atomic write is too large),
// [ErrCorruptItem], [ErrClosed], errors of the records and of Pace, and request errors.
func (j *Journal) PutRecords(
	ctx context.Context, persistenceID string, records iter.Seq2[Record, error], opts PutRecordsOptions,
) (PutRecordsResult, error) {
	if err := j.core.CheckID(persistenceID); err != nil {
		return PutRecordsResult{}, err
	}
	var result PutRecordsResult
	err := j.core.Operate(ctx, dynamo.ForCopy, func(ctx context.Context, op *lifetime.Operation) error {
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

// putRecords writes the records with an import.
func putRecords(
	ctx context.Context, op *lifetime.Operation, in *protocol.Import, records iter.Seq2[Record, error],
) error {
	if err := in.Start(ctx); err != nil {
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
