package core

import (
	"context"
	"fmt"
	"math"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/lifetime"
	"github.com/dynajournal/dynajournal/internal/protocol"
)

// From returns a request for all events of a persistence id from a sequence number on.
func From(pid string, seq int64) protocol.Request {
	return protocol.Request{PersistenceID: pid, From: max(seq, 1), To: math.MaxInt64, Limit: protocol.Unlimited}
}

// Read passes the events of a request to emit, outside of the operation. The result is zero if emit
// has stopped the read, or if the request can't match any number. In the second case Read sends
// nothing.
func (j *Journal) Read(
	ctx context.Context, req protocol.Request, emit func(*layout.Event) error,
) (protocol.Result, error) {
	if err := j.CheckReadable(req.PersistenceID); err != nil {
		return protocol.Result{}, err
	}
	if req.From > req.To || req.From > layout.MaxSequenceNumber || req.Limit == 0 {
		return protocol.Result{}, j.Operate(ctx, dynamo.ForRead, func(context.Context, *lifetime.Operation) error { return nil })
	}
	var result protocol.Result
	err := j.Admit(ctx, dynamo.ForRead, func(ctx context.Context, op *lifetime.Operation, started func()) error {
		req.Started = started
		var err error
		result, err = j.Store.Replay(ctx, &dynamo.Meter{}, req, func(e *layout.Event) error {
			return op.Outside(func() error { return emit(e) })
		})
		return j.InTable(j.Table, err)
	})
	return result, err
}

// ReadAfter passes the stored events of a request that After has made to handle, each event once
// and not converted: a host of entities must also see an event that is converted to no event.
// ReadAfter writes nothing.
func (j *Journal) ReadAfter(
	ctx context.Context, req protocol.Request, handle func(*layout.Event) error,
) (End, error) {
	req.Recover = false
	result, err := j.Read(ctx, req, handle)
	if err != nil {
		return End{}, fmt.Errorf("read events of %q: %w", req.PersistenceID, err)
	}
	low := result.Marks.Low
	deletedTo := max(low.Seq-1, 0)
	return End{max(result.Decided, deletedTo) + 1, deletedTo, low.Behind, low.Purged}, nil
}

// End is the position at which a read has ended.
type End struct {
	// Next is the number after the last one that is decided for good. DeletedTo is the last deleted
	// number, or 0.
	Next, DeletedTo int64
	// Behind is the number of the last event that was deleted because a snapshot contains it, or 0.
	// Purged is the last number of the purged lives, or 0.
	Behind, Purged int64
}

// After returns a request for the recovery of a persistence id whose state is known up to a
// sequence number. snapshot reports whether it was loaded from a snapshot with that number.
func After(pid string, seq int64, snapshot bool) *protocol.Request {
	req := From(pid, seq+1)
	req.Snapshot, req.Recover = snapshot, true
	return &req
}

// Recover passes the stored events of a request to handle, as ReadAfter does, and returns a writer.
func (j *Journal) Recover(
	ctx context.Context, req *protocol.Request, handle func(*layout.Event) error,
) (Writer, error) {
	if err := j.CheckID(req.PersistenceID); err != nil {
		return Writer{}, err
	}
	var w Writer
	events, o := int64(0), j.observe(OperationRecover, req.PersistenceID)
	err := j.Admit(o.metered(ctx), dynamo.ForRecover, func(ctx context.Context, op *lifetime.Operation, started func()) error {
		req.Started = started
		state, err := j.Protocol.Recover(ctx, req, func(e *layout.Event) error {
			events++
			return op.Outside(func() error { return handle(e) })
		})
		w = Writer{j, state}
		return j.InTable(j.Table, err)
	})
	o.end(ctx, events, dynamo.Cost{}, err)
	if err != nil {
		return Writer{}, fmt.Errorf("recover %q: %w", req.PersistenceID, err)
	}
	return w, nil
}

// Taken reports whether something is, or was, stored at a sequence number. In a native journal a
// deleted event leaves a tombstone. In a shared journal a JVM that has deleted an event leaves
// nothing at its number, but has put the low mark before. So Taken reads the low marks after it has
// found the number free.
//
// gone reports that nothing is stored at the number before either.
func (j *Journal) Taken(ctx context.Context, pid string, seq int64) (there, gone bool, err error) {
	err = j.Operate(ctx, dynamo.ForRead, func(ctx context.Context, _ *lifetime.Operation) error {
		meter := &dynamo.Meter{}
		item, err := j.Store.Stored(ctx, meter, pid, seq)
		there = item != nil
		if err != nil || there || !j.Store.Shared() {
			return err
		}
		low, before, err := j.Store.JVMLowAround(ctx, meter, pid, seq)
		there, gone = low > seq, !before
		return err
	})
	if err != nil {
		return false, false, fmt.Errorf("read number %d of %q: %w", seq, pid, err)
	}
	return there, gone, nil
}
