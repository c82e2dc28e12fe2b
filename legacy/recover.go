package legacy

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/lifetime"
)

// Recover replays the events of a persistence id to the handler, in order, each once, those marked as deleted, too, and then
// hands out the Writer that goes on from there. A nil handler replays nothing. What an earlier writer had put without coming
// to mark it is found, marked, and replayed.
//
// Two writers for one id can exist; only one of them can write, the other gets dynajournal.ErrWriterConflict and recovers
// again. docs/layouts.md says how far each layout can keep that.
//
// Recover ends with the first error of the handler, which it returns. Other errors: dynajournal.ErrInvalidArgument,
// ErrCorruptItem, ErrClosed, and those of any request.
func (j *Journal) Recover(
	ctx context.Context, persistenceID string, opts dynajournal.RecoverOptions, handler func(Event) error,
) (*Writer, error) {
	window, err := recoverWindow(opts)
	if err != nil {
		return nil, err
	}
	if handler == nil {
		window.limit = 0
	}
	if err := j.config.checkID(persistenceID); err != nil {
		return nil, err
	}
	ctx, op, err := j.life.Operate(ctx)
	if err != nil {
		return nil, err
	}
	defer op.End()
	w := &Writer{journal: j, pid: persistenceID, uuid: uuid.NewString()}
	w.turn.Open(persistenceID, dynajournal.ErrWriterEnded)
	highest, err := j.store.takeOver(ctx, &w.recovery, persistenceID, opts.After)
	if err == nil {
		w.next = highest + 1
		window.to = min(window.to, highest)
		err = j.replay(ctx, op, &w.recovery, persistenceID, window, handler)
	}
	if err != nil {
		return nil, fmt.Errorf("recover %q: %w", persistenceID, j.named(err))
	}
	return w, nil
}

// recoverWindow returns the window of events that a recovery replays.
func recoverWindow(o dynajournal.RecoverOptions) (window, error) {
	if o.After < 0 || o.After > dynajournal.MaxSequenceNumber {
		return window{}, &dynajournal.ArgumentError{
			Argument: "RecoverOptions.After",
			Value:    o.After,
			Reason:   fmt.Sprintf("it must be from 0 to %d", dynajournal.MaxSequenceNumber),
		}
	}
	return newWindow("RecoverOptions", dynajournal.Range{From: o.After + 1, To: o.To, Limit: o.Limit})
}

// Writer appends to one persistence id, and deletes from it. Recover hands it out; it belongs to that recovery. It is safe
// for concurrent use: its calls queue, in the order they come, so that a later event is only written when the earlier one is
// durable.
//
// A writer ends with the first error that leaves its picture of the journal in doubt (dynajournal.ErrWriterConflict,
// ErrOutcomeUnknown); from then on every call returns dynajournal.ErrWriterEnded, and the caller recovers again. It holds no
// resources: one that is no longer needed is just dropped.
type Writer struct {
	journal *Journal
	pid     string
	uuid    string
	// recovery is what the recovery cost.
	recovery dynamo.Meter

	// turn is held by the call under way. It guards next.
	turn lifetime.Turn
	next int64
}

// PersistenceID is the id that the writer writes to.
func (w *Writer) PersistenceID() string { return w.pid }

// WriterUUID is the UUID that stands in every event of this writer in the naive layouts; the others have no place for it.
func (w *Writer) WriterUUID() string { return w.uuid }

// RecoveryCost is what the recovery cost that handed the writer out.
func (w *Writer) RecoveryCost() dynajournal.Cost { return dynajournal.Cost(w.recovery.Cost()) }

// Err returns why the writer has ended, nil while it may write. It may be called at any time: it does
// not wait for the calls in flight.
//
// The error is that of the call that ended the writer: dynajournal.ErrWriterConflict or
// ErrOutcomeUnknown. After Journal.Close it is dynajournal.ErrClosed, unless the writer had ended
// before.
func (w *Writer) Err() error {
	if err := w.turn.Err(); err != nil {
		return err
	}
	return context.Cause(w.journal.life.Reading())
}

// NextSequenceNumber is the sequence number that the next event gets. It waits for the calls under way.
func (w *Writer) NextSequenceNumber(ctx context.Context) (int64, error) {
	release, err := w.enter(ctx)
	if err != nil {
		return 0, err
	}
	defer release()
	return w.next, nil
}

// enter enters a call on the writer, which the end of the journal waits for, and takes the writer's
// turn. release ends both. A context that ends before changes nothing.
func (w *Writer) enter(ctx context.Context) (release func(), err error) {
	done, err := w.journal.life.Begin()
	if err != nil {
		return nil, err
	}
	if err := w.turn.Enter(ctx); err != nil {
		done()
		return nil, err
	}
	return func() {
		w.turn.Leave()
		done()
	}, nil
}
