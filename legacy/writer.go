package legacy

import (
	"context"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/lifetime"
)

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
func (w *Writer) RecoveryCost() dynajournal.Cost { return w.recovery.Cost() }

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

// begin enters an operation that ends with the context, and waits for the writer's turn.
func (w *Writer) begin(ctx context.Context) (context.Context, func(), error) {
	ctx, done, err := w.journal.life.Read(ctx)
	if err != nil {
		return nil, nil, err
	}
	release, err := w.enter(ctx)
	if err != nil {
		done()
		return nil, nil, err
	}
	return ctx, func() {
		release()
		done()
	}, nil
}
