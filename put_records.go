package dynajournal

import (
	"context"
	"fmt"
	"iter"

	"github.com/dynajournal/dynajournal/internal/lifetime"
	"github.com/dynajournal/dynajournal/internal/protocol"
)

// PutRecordsOptions say how to write a history.
type PutRecordsOptions struct {
	// Pace is called with what the request before has used up, if set; it may wait, and ends the
	// writing with an error.
	Pace func(ctx context.Context, used Cost) error
}

// PutRecordsResult says what became of a history.
type PutRecordsResult struct {
	// Events is how many events the records held, Written how many of them were not there before.
	Events, Written int64
	// Highest is the last number of the records, 0 if there were none.
	Highest int64
	Cost    Cost
}

// PutRecords writes a history, as Records of this or another journal reads it, to a persistence id
// under the same numbers and with the writers of before. The id must be empty, or hold a beginning
// of the same history. So it can be called again after a crash or an error at any point, and later
// again with what is new: records may begin anywhere up to the number after the highest one here.
//
// What the id holds is compared first, up to its highest number. Until all of it was found equal
// nothing is written, raised or removed; anything else ends the call with a *ContentConflictError,
// and the id is as it was. A low mark of the records that lies above events of the id removes them
// only where an event at or above them was compared equal: below it both are one history. So a
// history that is deleted up to a number above everything that the id holds has nothing in common
// with it, and is refused: purge the id first (with PurgeOptions.Now, so that its numbers are free
// at once), or copy to another journal. An id whose events are all deleted takes any later history.
//
// Then the order is that of a writer, and a reader meanwhile sees a beginning of the history: the
// low mark is first, then numbers rise, each event only when the one before is durable, the members
// of an atomic write at the same time, a high mark after the event that needs it. Numbers that hold
// nothing are sealed before what follows them. No other writer may use the id until the copy is
// whole: what it writes is found to be other content by the next call.
//
// Errors: *ContentConflictError, ErrInvalidArgument (records out of order, with gaps, or members of
// an atomic write missing), ErrRejected (an item or atomic write over the limits), ErrCorruptItem,
// those of the records, and of any request.
func (j *Journal) PutRecords(ctx context.Context, persistenceID string, records iter.Seq2[Record, error], opts PutRecordsOptions) (PutRecordsResult, error) {
	if err := j.checkID(persistenceID); err != nil {
		return PutRecordsResult{}, err
	}
	var result PutRecordsResult
	err := j.operate(ctx, func(ctx context.Context, op *lifetime.Operation) error {
		in := j.protocol.NewImport(persistenceID, paceOutside(op, opts.Pace))
		err := putRecords(ctx, op, in, records)
		result = PutRecordsResult{Events: in.Events, Written: in.Written, Highest: in.Highest, Cost: Cost(in.Cost())}
		if err != nil {
			return fmt.Errorf("write the history of %q: %w", persistenceID, in.Mark(itemError(j.config.JournalTable, err)))
		}
		return nil
	})
	return result, err
}

func putRecords(ctx context.Context, op *lifetime.Operation, in *protocol.Import, records iter.Seq2[Record, error]) error {
	if err := in.Begin(ctx); err != nil {
		return err
	}
	if err := eachRecord(op, records, func(r *Record) error { return in.Record(ctx, r.history()) }); err != nil {
		return err
	}
	return in.Finish(ctx)
}

// eachRecord takes the records one by one. What the caller's iterator does between them is no part
// of the operation.
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
