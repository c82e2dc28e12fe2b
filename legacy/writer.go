package legacy

import (
	"context"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/lifetime"
)

// Writer appends to one persistence id, and deletes from it. Recover returns it. It is safe for
// concurrent use: its calls queue in the order of their arrival, so that an event is only written
// when the event before it is durable.
//
// A writer ends with the first error after which the state of the journal is not known
// (dynajournal.ErrWriterConflict, ErrOutcomeUnknown). From then on every call returns
// [dynajournal.ErrWriterEnded], and the caller recovers again. It holds no resources and needs no
// closing.
type Writer struct {
	journal *Journal
	pid     string
	uuid    string
	// recovery has the cost of the recovery.
	recovery dynamo.Meter

	// turn is held by the current call. It guards next.
	turn lifetime.Turn
	next int64
}

// PersistenceID returns the id that the writer writes to.
func (w *Writer) PersistenceID() string { return w.pid }

// WriterUUID returns the UUID that is stored in every event of this writer in the naive layouts.
// The other layouts do not store it.
func (w *Writer) WriterUUID() string { return w.uuid }

// RecoveryCost returns the cost of the recovery that returned the writer.
func (w *Writer) RecoveryCost() dynajournal.Cost { return dynajournal.Cost(w.recovery.Cost()) }

// Err returns why the writer has ended, nil while it may write. It may be called at any time: it
// does not wait for the calls in flight.
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

// enter enters a call on the writer, which Journal.Close waits for, and takes the writer's turn.
// release ends both. If ctx ends before, nothing changes.
func (w *Writer) enter(ctx context.Context) (release func(), err error) {
	if err := w.journal.life.Begin(); err != nil {
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

// begin enters an operation that ends with ctx or the journal, and waits for the writer's turn.
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
