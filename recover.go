package dynajournal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"sync/atomic"

	"github.com/google/uuid"

	"github.com/dynajournal/dynajournal/internal/clock"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/protocol"
	"github.com/dynajournal/dynajournal/internal/safeguard"
)

// RecoverOptions say what a recovery replays. The zero value is everything.
type RecoverOptions struct {
	// After is the sequence number of the snapshot that the state was loaded from: replay begins behind it. 0 is no
	// snapshot. One that lies beyond the journal's highest sequence number (the journal was lost, or restored separately)
	// is taken for the truth: the writer goes on after it.
	After int64
	// To is the last sequence number to replay; 0 is the last there is. An atomic write that it cuts is not replayed.
	To int64
	// Limit is how many events to replay at most; nil is no limit, 0 replays none. An atomic write that it cuts is not
	// replayed, nor anything behind it.
	Limit *int64
}

// Recover replays the events of a persistence id to the handler, in order, each once, and then hands out the Writer that
// goes on from there. A nil handler replays nothing.
//
// Before it returns, Recover closes the past: every sequence number up to the highest that is not taken is sealed, so that
// no write of an earlier writer that is still under way can appear below what the new writer is going to write. It does so
// whatever part was to be replayed. Two writers for one id can exist; only one of them can write, the other gets
// ErrWriterConflict and recovers again.
//
// Any number of recoveries may be started at once: as many as Config.MaxConnections begin, the others wait their turn, with
// hardly any memory, until their context ends. The handler may recover other persistence ids; nobody waits for it meanwhile.
//
// Recover ends with the first error of the handler, which it returns. Other errors: ErrInvalidArgument, ErrCorruptItem,
// ErrDeletedMeanwhile, ErrClosed, and those of any request.
func (j *Journal) Recover(ctx context.Context, persistenceID string, opts RecoverOptions, handler func(Event) error) (*Writer, error) {
	req, err := j.recovery(persistenceID, &opts, handler)
	if err != nil {
		return nil, err
	}
	if req.Begun, err = j.entry.enter(ctx, j.life.Reading()); err != nil {
		return nil, recoverError(persistenceID, err)
	}
	defer req.Begun()
	return j.recover(ctx, req, handler)
}

// recovery checks the arguments of Recover.
func (j *Journal) recovery(pid string, opts *RecoverOptions, handler func(Event) error) (*protocol.Request, error) {
	window := Range{To: opts.To, Limit: opts.Limit}
	if handler == nil {
		window.Limit = new(int64(0))
	}
	req, _, err := window.request(pid)
	if argument, ok := errors.AsType[*ArgumentError](err); ok {
		argument.Argument = strings.Replace(argument.Argument, "Range.", "RecoverOptions.", 1)
	}
	if err == nil && (opts.After < 0 || opts.After > MaxSequenceNumber) {
		err = &ArgumentError{"RecoverOptions.After", opts.After, fmt.Sprintf("it must be from 0 to %d", MaxSequenceNumber)}
	}
	if err == nil {
		err = j.checkID(pid)
	}
	req.From, req.Recover = opts.After+1, true
	return &req, err
}

func recoverError(pid string, err error) error { return fmt.Errorf("recover %q: %w", pid, err) }

// recover does what Recover says; it has entered.
func (j *Journal) recover(ctx context.Context, req *protocol.Request, handler func(Event) error) (*Writer, error) {
	ctx, op, err := j.life.Operate(ctx)
	if err != nil {
		return nil, err
	}
	defer op.End()
	w, err := j.recoverWriter(ctx, req, func(e *layout.Event) error {
		return op.Outside(func() error { return j.deliver(e, handler) })
	})
	if err != nil {
		return nil, recoverError(req.PersistenceID, itemError(j.config.JournalTable, err))
	}
	return w, nil
}

func (j *Journal) recoverWriter(ctx context.Context, req *protocol.Request, emit func(*layout.Event) error) (*Writer, error) {
	w := &Writer{journal: j, pid: req.PersistenceID, uuid: uuid.NewString(), turn: make(chan struct{}, 1), over: make(chan struct{}), active: j.clock.Now()}
	w.alone = w.active
	found, err := j.store.Run(ctx, &w.recovery, *req, emit)
	if err != nil {
		return nil, err
	}
	w.next, w.low, w.expiring, w.last = found.Highest+1, found.Marks.Low, found.Marks.Expiring, found.Last
	w.farMark = found.FarMark
	if mark := layout.HighestBlock(found.Highest); safeguard.HighMarkMended && mark > found.Marks.High {
		if err := w.lookAfterPause(ctx, &w.recovery); err != nil { // the handler may have taken its time
			return nil, err
		}
		if err := w.raiseHighMark(ctx, &w.recovery, found.Highest); err != nil {
			return nil, err
		}
	}
	w.deletedTo = max(found.Marks.Low.Seq-1, 0)
	w.sayDeleted(ctx, req.From-1)
	if snapshot := req.From - 1; snapshot > found.Highest {
		if err := w.lookAfterPause(ctx, &w.recovery); err != nil {
			return nil, err
		}
		if err := w.goOnAfterSnapshot(ctx, snapshot, found.Marks); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// sayDeleted logs that a recovery began below the low mark: the caller's state lacks what the
// deleted events said. An entity without a snapshot may not need them, one with a snapshot that is
// too old does.
func (w *Writer) sayDeleted(ctx context.Context, after int64) {
	if after >= w.deletedTo {
		return
	}
	level := slog.LevelInfo
	if after > 0 {
		level = slog.LevelWarn
	}
	w.journal.config.Logger.Log(ctx, level, "recovered from below the first event that is not deleted",
		"persistence_id", w.pid, "after", after, "deleted_to", w.deletedTo)
}

// goOnAfterSnapshot makes the writer go on after a snapshot that is newer than the journal. The number after the journal's
// highest is fenced first, so that a writer who does not know of this can't write below the low mark, and one who recovers
// now raises it; then the low mark is raised, so that the next recovery begins where this writer goes on.
func (w *Writer) goOnAfterSnapshot(ctx context.Context, snapshot int64, marks layout.Marks) error {
	store := w.journal.store.While(w.journal.fresh(w.active))
	if safeguard.Fence && w.next <= MaxSequenceNumber {
		slot, err := store.Fence(ctx, &w.recovery, w.pid, w.next, snapshot+1, 0)
		if err != nil {
			return err
		}
		if slot.Low != snapshot+1 && (safeguard.OwnFence || slot.Low == 0) {
			return w.conflict(slot)
		}
	}
	if store.Shared() && snapshot > w.next {
		if err := store.TakeLast(ctx, &w.recovery, w.pid, snapshot); err != nil {
			return err
		}
	} else if layout.HighestBlock(snapshot) > 0 {
		if err := w.raiseHighMark(ctx, &w.recovery, snapshot); err != nil {
			return err
		}
	}
	low := store.LowMarkAt(layout.LowMark{Seq: snapshot + 1, Removed: snapshot + 1}, marks, snapshot)
	if err := store.RaiseLowMark(ctx, &w.recovery, w.pid, low); err != nil {
		return fmt.Errorf("go on after the snapshot at %d: %w", snapshot, err)
	}
	w.low, w.next, w.last = low, snapshot+1, ""
	return nil
}

// Writer appends to one persistence id, and deletes from it. Recover hands it out; it belongs to that recovery. It is safe
// for concurrent use: its calls queue, in the order they come, so that a later event is only written when the earlier one
// is durable.
//
// A writer ends with the first error that leaves its picture of the journal in doubt (ErrWriterConflict, ErrOutcomeUnknown,
// parts of an atomic write); from then on every call returns ErrWriterEnded, and the caller recovers again. It holds no
// resources: one that is no longer needed is just dropped.
type Writer struct {
	journal *Journal
	pid     string
	uuid    string
	// recovery is what the recovery cost.
	recovery dynamo.Meter
	// deletedTo is the last number deleted when the writer recovered.
	deletedTo int64

	// ended is why the writer has ended, nil while it lives; over is closed then.
	ended atomic.Pointer[error]
	over  chan struct{}

	// turn is held by the call under way. It guards what follows.
	turn chan struct{}
	next int64
	last string // the writer of the event at next - 1, empty if there is none
	low  layout.LowMark
	// farMark is a high mark that was found to be damaged, 0 if none.
	farMark int64
	// lowSeen is when the request began by which the low mark was last seen or put as it is known
	// here.
	lowSeen  clock.Moment
	expiring bool         // the id was purged: its marks vanish unless they are put anew
	active   clock.Moment // when the last look at the journal, or write to it, began
	// alone is when the last request began that showed that no JVM has taken over.
	alone clock.Moment
}

// PersistenceID is the id that the writer writes to.
func (w *Writer) PersistenceID() string { return w.pid }

// WriterUUID is the UUID that stands in every event of this writer.
func (w *Writer) WriterUUID() string { return w.uuid }

// RecoveryCost is what the recovery cost that handed the writer out.
func (w *Writer) RecoveryCost() Cost { return w.recovery.Cost() }

// DeletedTo is the last sequence number that was deleted when the writer recovered, 0 if none was.
// Where it is above RecoverOptions.After, the recovery did not replay everything behind that: the
// events up to DeletedTo are gone, and a state without the snapshot that contains them lacks what
// they said.
func (w *Writer) DeletedTo() int64 { return w.deletedTo }

// NextSequenceNumber is the sequence number that the next event gets. It waits for the calls under way.
func (w *Writer) NextSequenceNumber(ctx context.Context) (int64, error) {
	done, err := w.journal.life.Begin()
	if err != nil {
		return 0, err
	}
	defer done()
	if err := w.enter(ctx); err != nil {
		return 0, err
	}
	defer w.leave()
	return w.next, nil
}

// enter waits for the writer's turn. A context that ends before changes nothing.
func (w *Writer) enter(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("write to %q: %w", w.pid, err)
	}
	if err := w.alive(); err != nil {
		return err
	}
	select {
	case w.turn <- struct{}{}:
	case <-w.over: // while a write of it may go on in the background
		return w.alive()
	case <-ctx.Done():
		return fmt.Errorf("write to %q: %w", w.pid, context.Cause(ctx))
	}
	if err := w.alive(); err != nil {
		w.leave()
		return err
	}
	return nil
}

func (w *Writer) leave() { <-w.turn }

// alive is the error of a call on a writer that has ended.
func (w *Writer) alive() error {
	if cause := w.ended.Load(); cause != nil {
		return fmt.Errorf("%w: %q: it ended with: %w", ErrWriterEnded, w.pid, *cause)
	}
	return nil
}

// end ends the writer; the first cause stays.
func (w *Writer) end(cause error) {
	if w.ended.CompareAndSwap(nil, &cause) {
		close(w.over)
	}
}

// remaining is how many sequence numbers are left.
func (w *Writer) remaining() int64 { return math.MaxInt64 - w.next }
