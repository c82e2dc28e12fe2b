package dynajournal

import (
	"context"
	"fmt"

	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/protocol"
)

// RecoverOptions are the options of Recover. The zero value replays all events.
type RecoverOptions struct {
	// After is the sequence number after which replay starts, for a caller that has the events up
	// to it. If it is above the journal's highest sequence number, Recover returns [ErrVersion] and
	// writes nothing.
	//
	// Defaults to the beginning.
	After int64

	// Snapshot is the sequence number of the snapshot from which the state was loaded. Replay
	// starts after it, as with After. If it is above the journal's highest sequence number, Recover
	// returns [ErrSnapshotAhead] and writes nothing. If events after the snapshot were deleted
	// because of a newer snapshot ([Writer.DeleteCovered]), Recover returns [ErrSnapshotMissing].
	// If After is also set, both must be the same.
	//
	// In a journal that is shared with a JVM, Recover returns [ErrSnapshotAhead] only if an event
	// is stored. Without a stored event the writer continues after the snapshot.
	//
	// Defaults to no snapshot.
	Snapshot int64

	// JournalLost states that the events up to Snapshot are lost, and that the state of the
	// snapshot is valid. If Snapshot is above the journal's highest sequence number, the writer
	// continues after the snapshot, the events that the journal still has are deleted, and a
	// warning is logged.
	//
	// Defaults to false: Recover returns [ErrSnapshotAhead].
	JournalLost bool

	// SkipMissing states that the missing events of a native journal are lost for good. Recover
	// seals their numbers and logs a warning, instead of returning [ErrEventMissing].
	//
	// Defaults to false.
	SkipMissing bool

	// Limit is the largest number of events to replay; 0 replays none. If it cuts an atomic write,
	// replay ends before that write.
	//
	// Defaults to no limit.
	Limit *int64

	// Expect is the sequence number that the last visible event must have, as [Writer.Last] of the
	// new writer would return it. If the number differs, Recover returns [ErrVersion] and no
	// writer, and has changed nothing that a reader finds.
	//
	// Defaults to any number.
	Expect *int64

	// Latest replays nothing. It is for a caller that has the events from elsewhere or needs only
	// [Writer.Last]. An example is a store that saves events at an expected version: see Expect. In
	// a native journal, such a recovery reads only the marks and the newest event, however many
	// events there are. In a shared journal, or if the newest item is not an event that readers
	// find, it reads as any recovery. After, Snapshot, Limit and To must not be set. The handler is
	// not called.
	//
	// Defaults to false.
	Latest bool

	// To is the last sequence number to replay. If it cuts an atomic write, replay ends before that
	// write. To replay none, set Limit to 0.
	//
	// Defaults to the highest sequence number.
	To int64
}

// Recover replays the events of a persistence id to handler, in order, each once. Then it returns
// the Writer that continues after them. A nil handler replays nothing.
//
// Before it returns, Recover seals every missing sequence number up to the highest, whatever part
// was replayed. So if a request of an earlier writer is still in flight, its event can't appear
// below the events of the new writer. A persistence id can have several writers; only one of them
// can write, and the others get [ErrWriterConflict].
//
// Many recoveries may run at the same time. Up to Config.MaxConnections of them start; the others
// wait, for as long as their context allows, and need little memory. handler may use the journal,
// even to recover other persistence ids.
//
// Recover stops at the first error of handler, and returns it. Other errors: [ErrInvalidArgument],
// [ErrVersion], [ErrSnapshotMissing], [ErrSnapshotAhead], [ErrPurged], [ErrCorruptItem],
// [ErrEventMissing], [ErrHole], [ErrDeletedMeanwhile], [ErrTooLate], [ErrClosed], and request
// errors. After any error Recover may be repeated.
func (j *Journal) Recover(
	ctx context.Context, persistenceID string, opts RecoverOptions, handler func(Event) error,
) (*Writer, error) {
	req, err := j.recoverRequest(persistenceID, &opts, handler != nil)
	if err != nil {
		return nil, err
	}
	w, err := j.core.Recover(ctx, req, func(e *layout.Event) error {
		return j.core.Deliver(ctx, e, func(event core.Delivered) error { return handler(eventOf(event)) })
	})
	if err != nil {
		return nil, err
	}
	return &Writer{core.NewWriterHandle(w)}, nil
}

// recoverRequest checks the arguments of Recover and returns the request. handled reports whether
// there is a handler for the events.
func (j *Journal) recoverRequest(pid string, opts *RecoverOptions, handled bool) (*protocol.Request, error) {
	window := Range{To: opts.To, Limit: opts.Limit, SkipMissing: opts.SkipMissing}
	if !handled || opts.Latest {
		window.Limit = new(int64(0))
	}
	req, err := window.request(pid, "RecoverOptions")
	if err == nil {
		err = opts.checkStart()
	}
	if err == nil && opts.Expect != nil && *opts.Expect < 0 {
		err = &ArgumentError{"RecoverOptions.Expect", *opts.Expect, core.MustNotBeNegative}
	}
	req.From, req.Snapshot = max(opts.After, opts.Snapshot)+1, opts.Snapshot > 0
	req.JournalLost, req.Expect, req.Latest, req.Recover = opts.JournalLost, opts.Expect, opts.Latest, true
	return &req, err
}

// checkStart checks After and Snapshot.
func (o *RecoverOptions) checkStart() error {
	reason := fmt.Sprintf("it must be from 0 to %d", MaxSequenceNumber)
	switch {
	case o.After < 0 || o.After > MaxSequenceNumber:
		return &ArgumentError{"RecoverOptions.After", o.After, reason}
	case o.Snapshot < 0 || o.Snapshot > MaxSequenceNumber:
		return &ArgumentError{"RecoverOptions.Snapshot", o.Snapshot, reason}
	case o.Latest && (o.After != 0 || o.Snapshot != 0 || o.To != 0 || o.Limit != nil):
		return &ArgumentError{"RecoverOptions.Latest", true, "After, Snapshot, Limit and To must not be set"}
	case o.After > 0 && o.Snapshot > 0 && o.After != o.Snapshot:
		return &ArgumentError{"RecoverOptions.After", o.After, "it must be 0 or the same as Snapshot"}
	}
	return nil
}
