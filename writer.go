package dynajournal

import (
	"context"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/lifetime"
	"github.com/dynajournal/dynajournal/internal/protocol"
)

// Writer appends events to a persistence id, and deletes them. [Journal.Recover] returns it. It is
// safe for concurrent use: its calls run one after the other, in the order of the calls, so that an
// event is only written when the one before is durable.
//
// A writer ends with the first error after which it does not know what is stored:
// [ErrWriterConflict], [ErrOutcomeUnknown], or an error after which a part of an atomic write is
// stored. [Writer.Purge] ends it, too. Then every call returns [ErrWriterEnded], and [Writer.Err]
// the cause: recover again. A writer holds no resources and need not be closed.
type Writer struct {
	journal *Journal
	state   *protocol.Writer
}

// PersistenceID returns the persistence id of the writer.
func (w *Writer) PersistenceID() string { return w.state.PersistenceID() }

// WriterUUID returns the UUID that is stored with every event of this writer.
func (w *Writer) WriterUUID() string { return w.state.UUID() }

// RecoveryCost returns the cost of the recovery that returned the writer.
func (w *Writer) RecoveryCost() Cost { return Cost(w.state.RecoveryCost()) }

// DeletedTo returns the highest sequence number that was deleted at the time of the recovery, 0 if
// none was. If it is above RecoverOptions.After or Snapshot, the events between the two were not
// replayed: the state is incomplete unless it was loaded from a snapshot that contains them.
func (w *Writer) DeletedTo() int64 { return w.state.DeletedTo() }

// Err returns why the writer has ended, nil while it may write. It may be called at any time: it
// does not wait for the calls in flight.
//
// The error is that of the call that ended the writer: [ErrWriterConflict], [ErrOutcomeUnknown], or
// an error of a request after which a part of an atomic write is stored. After a purge it is
// another error. After [Journal.Close] it is [ErrClosed], unless the writer had ended before.
func (w *Writer) Err() error {
	if err := w.state.Err(); err != nil {
		return public(err)
	}
	return context.Cause(w.journal.life.Reading())
}

// NextSequenceNumber returns the sequence number of the next event. It waits for the calls in
// flight.
//
// Errors: [ErrWriterEnded], [ErrClosed], and that of ctx.
func (w *Writer) NextSequenceNumber(ctx context.Context) (int64, error) {
	if err := w.state.Enter(ctx); err != nil {
		return 0, public(err)
	}
	defer w.state.Leave()
	return w.state.Next(), nil
}

// remove runs a deletion in the writer's turn, and returns its cost. The deletion ends when ctx
// ends or the journal is closed.
func (w *Writer) remove(ctx context.Context, do func(context.Context, *dynamo.Meter) error) (Cost, error) {
	var m dynamo.Meter
	err := w.journal.operate(ctx, func(ctx context.Context, _ *lifetime.Operation) error {
		if err := w.state.Turn.Enter(ctx); err != nil {
			return public(err)
		}
		defer w.state.Turn.Leave()
		return m.Mark(do(ctx, &m))
	})
	return Cost(m.Cost()), err
}
