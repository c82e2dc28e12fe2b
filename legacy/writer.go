package legacy

import (
	"context"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/lifetime"
)

// Writer appends events to one persistence id, and deletes them. Recover returns it. It is safe for
// concurrent use: its calls run one after the other, in the order of their arrival, so an event is
// written only when the event before it is durable.
//
// A writer ends with the first error after which the state of the journal is unknown
// (dynajournal.ErrWriterConflict, ErrOutcomeUnknown). From then on every call returns
// [dynajournal.ErrWriterEnded], and the caller must recover again. A writer uses no resources and
// need not be closed.
type Writer struct {
	journal *Journal
	pid     string
	uuid    string
	// recovery measures the cost of the recovery.
	recovery dynamo.Meter

	// turn belongs to the current call. It guards next.
	turn lifetime.Turn
	next int64
}

// PersistenceID returns the persistence id of the writer.
func (w *Writer) PersistenceID() string { return w.pid }

// WriterUUID returns the UUID that is stored in every event of this writer in the naive layouts.
// The other layouts do not store it.
func (w *Writer) WriterUUID() string { return w.uuid }

// RecoveryCost returns the cost of the recovery that returned the writer.
func (w *Writer) RecoveryCost() dynajournal.Cost { return dynajournal.Cost(w.recovery.Cost()) }

// Err returns the error that ended the writer, or nil while it may write. It does not wait for the
// calls in flight.
//
// The error is dynajournal.ErrWriterConflict or ErrOutcomeUnknown. After Journal.Close it is
// dynajournal.ErrClosed, unless the writer had ended before.
func (w *Writer) Err() error {
	if err := w.turn.Err(); err != nil {
		return err
	}
	return context.Cause(w.journal.life.Reading())
}

// NextSequenceNumber returns the sequence number of the next event. It waits for the calls before
// it.
func (w *Writer) NextSequenceNumber(ctx context.Context) (int64, error) {
	release, err := w.enter(ctx)
	if err != nil {
		return 0, err
	}
	defer release()
	return w.next, nil
}

// enter starts a call on the writer, for which Journal.Close waits, and takes the writer's turn.
// release ends both. If ctx ends first, nothing changes.
func (w *Writer) enter(ctx context.Context) (release func(), err error) {
	if err := w.journal.life.Start(); err != nil {
		return nil, err
	}
	if err := w.turn.Enter(ctx); err != nil {
		w.journal.life.End()
		return nil, err
	}
	return w.leave, nil
}

func (w *Writer) leave() {
	w.turn.Leave()
	w.journal.life.End()
}

// start starts an operation that ends with ctx or the journal, and waits for the writer's turn.
func (w *Writer) start(ctx context.Context) (context.Context, func(), error) {
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
