package dynajournal

import (
	"context"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/lifetime"
	"github.com/dynajournal/dynajournal/internal/protocol"
)

// Writer appends to one persistence id, and deletes from it. Recover hands it out; it belongs to
// that recovery. It is safe for concurrent use: its calls queue, in the order in which they come,
// so that a later event is only written when the earlier one is durable.
//
// A writer ends with the first error that leaves in doubt what is stored ([ErrWriterConflict],
// [ErrOutcomeUnknown], parts of an atomic write). From then on every call returns [ErrWriterEnded],
// and the caller recovers again. It holds no resources: one that is no longer needed is just
// dropped.
type Writer struct {
	journal *Journal
	state   *protocol.Writer
}

// PersistenceID is the id that the writer writes to.
func (w *Writer) PersistenceID() string { return w.state.PersistenceID() }

// WriterUUID is the UUID that is stored in every event of this writer.
func (w *Writer) WriterUUID() string { return w.state.UUID() }

// RecoveryCost is what the recovery cost that handed the writer out.
func (w *Writer) RecoveryCost() Cost { return Cost(w.state.RecoveryCost()) }

// DeletedTo is the last sequence number that was deleted when the writer recovered, 0 if none was.
// Where it is above RecoverOptions.After, the recovery did not replay everything behind that: the
// events up to DeletedTo are gone, and a state without the snapshot that contains them lacks what
// they said.
func (w *Writer) DeletedTo() int64 { return w.state.DeletedTo() }

// Err returns why the writer has ended, nil while it may write. It may be called at any time: it does
// not wait for the calls in flight.
//
// The error is that of the call that ended the writer: [ErrWriterConflict], [ErrOutcomeUnknown], or an
// error of a request after which a part of an atomic write is stored. After a purge it is an error of
// no further kind. After [Journal.Close] it is [ErrClosed], unless the writer had ended before.
func (w *Writer) Err() error {
	if err := w.state.Err(); err != nil {
		return public(err)
	}
	return context.Cause(w.journal.life.Reading())
}

// NextSequenceNumber is the sequence number that the next event gets. It waits for the calls under
// way.
func (w *Writer) NextSequenceNumber(ctx context.Context) (int64, error) {
	release, err := w.enter(ctx)
	if err != nil {
		return 0, err
	}
	defer release()
	return w.state.Next(), nil
}

// enter enters a call on the writer, which the end of the journal waits for, and takes the writer's
// turn. release ends both. A context that ends before changes nothing.
func (w *Writer) enter(ctx context.Context) (release func(), err error) {
	done, err := w.journal.life.Begin()
	if err != nil {
		return nil, err
	}
	if err := w.state.Enter(ctx); err != nil {
		done()
		return nil, public(err)
	}
	return func() {
		w.state.Leave()
		done()
	}, nil
}

// remove enters a call that removes, and that ends when the journal is closed, and takes the
// writer's turn. It returns what do has cost.
func (w *Writer) remove(ctx context.Context, do func(context.Context, *dynamo.Meter) error) (Cost, error) {
	var m dynamo.Meter
	err := w.journal.operate(ctx, func(ctx context.Context, _ *lifetime.Operation) error {
		if err := w.state.Enter(ctx); err != nil {
			return public(err)
		}
		defer w.state.Leave()
		return m.Mark(do(ctx, &m))
	})
	return Cost(m.Cost()), err
}
