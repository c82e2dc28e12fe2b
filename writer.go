package dynajournal

import (
	"context"

	"github.com/dynajournal/dynajournal/internal/core"
)

// Writer appends events to a persistence id, and deletes them. [Journal.Recover] returns it. It is
// safe for concurrent use: its calls run one after the other, in the order of the calls, so that an
// event is only written when the one before is durable.
//
// A writer ends with the first error after which it does not know what is stored:
// [ErrWriterConflict], [ErrOutcomeUnknown], or an error after which a part of an atomic write is
// stored. [Writer.Purge] ends it, too. Then every call returns [ErrWriterEnded], and [Writer.Err]
// the cause: recover again. A writer holds no resources and need not be closed.
type Writer struct{ writerHandle }

// writerHandle is how the other packages of this module reach the core.
type writerHandle = core.WriterHandle

func (w *Writer) core() *core.Writer { return core.WriterIn(&w.writerHandle) }

// PersistenceID returns the persistence id of the writer.
func (w *Writer) PersistenceID() string { return w.core().PersistenceID() }

// WriterUUID returns the UUID that is stored with every event of this writer.
func (w *Writer) WriterUUID() string { return w.core().UUID() }

// RecoveryCost returns the cost of the recovery that returned the writer.
func (w *Writer) RecoveryCost() Cost { return Cost(w.core().RecoveryCost()) }

// DeletedTo returns the highest sequence number that was deleted at the time of the recovery, 0 if
// none was. If it is above RecoverOptions.After or Snapshot, the events between the two were not
// replayed: the state is incomplete unless it was loaded from a snapshot that contains them.
func (w *Writer) DeletedTo() int64 { return w.core().DeletedTo() }

// Err returns why the writer has ended, nil while it may write. It may be called at any time: it
// does not wait for the calls in flight.
//
// The error is that of the call that ended the writer: [ErrWriterConflict], [ErrOutcomeUnknown], or
// an error of a request after which a part of an atomic write is stored. After a purge it is
// another error. After [Journal.Close] it is [ErrClosed], unless the writer had ended before.
func (w *Writer) Err() error { return w.core().Err() }

// NextSequenceNumber returns the sequence number of the next event. It waits for the calls in
// flight.
//
// Errors: [ErrWriterEnded], [ErrClosed], and that of ctx.
func (w *Writer) NextSequenceNumber(ctx context.Context) (int64, error) { return w.core().Next(ctx) }
