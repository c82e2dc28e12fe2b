package dynajournal

import (
	"context"
	"fmt"
	"iter"

	"github.com/dynajournal/dynajournal/internal/lifetime"
	"github.com/dynajournal/dynajournal/internal/protocol"
)

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
// whose events are all deleted accepts any later history. Where a purge of the id was cut short,
// PutRecords returns that error, too: recover the id first.
//
// Then it writes in the order of a writer, so that a reader finds a beginning of the history at any
// time: the low mark first, then each event when the one before is durable, the events of an atomic
// write at the same time, and a high mark after the event that needs it. It seals numbers that hold
// no event before it goes on. No other writer may use the id until the copy is complete: the next
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
