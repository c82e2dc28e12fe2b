package protocol

import (
	"context"
	"math"

	"github.com/dynajournal/dynajournal/internal/clock"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/lifetime"
)

// Writer is the state of one writer of a persistence id. A recovery returns it. It ends with the
// first error after which it is unknown what is stored. A call enters the writer first, and leaves
// it when it is done. An operation of the journal, for which Close waits anyway, enters only the
// Turn.
type Writer struct {
	lifetime.Turn

	uuid      string
	recovery  dynamo.Meter
	deletedTo int64

	// The fields below belong to the holder of the turn.

	remover
	// last is the writer of the event at next - 1, or empty.
	last string
	// visible is the number of the last visible event that is known, or 0. A higher low mark shows
	// a later one: see Last.
	visible int64
	// farMark is a high mark that is known to be damaged, or 0.
	farMark int64
	// active is the start of the last read of the journal, or of the last write to it.
	active clock.Moment
	// alone is the start of the last request that showed that no JVM has taken over.
	alone clock.Moment
	// time is the time of the last event, in microseconds since 1970, or 0 if the event does not
	// have a time. timed reports whether time is known.
	time  int64
	timed bool
}

// Enter starts a call on the writer, for which Close of the journal waits, and takes the turn.
// Leave ends both.
func (w *Writer) Enter(ctx context.Context) error {
	if err := w.journal.Life.Start(); err != nil {
		return err
	}
	if err := w.Turn.Enter(ctx); err != nil {
		w.journal.Life.End()
		return err
	}
	return nil
}

// TryEnter does the same as Enter, but does not wait. It reports whether the call has started.
func (w *Writer) TryEnter() bool {
	if w.journal.Life.Start() != nil {
		return false
	}
	if !w.Turn.TryEnter() {
		w.journal.Life.End()
		return false
	}
	return true
}

// Leave gives the turn to the next call, and ends the call.
func (w *Writer) Leave() {
	w.Turn.Leave()
	w.journal.Life.End()
}

// PersistenceID returns the id that the writer writes to.
func (w *Writer) PersistenceID() string { return w.pid }

// UUID returns the UUID that is stored in every event of the writer.
func (w *Writer) UUID() string { return w.uuid }

// RecoveryCost returns the cost of the recovery that returned the writer.
func (w *Writer) RecoveryCost() dynamo.Cost { return w.recovery.Cost() }

// DeletedTo returns the last sequence number that was deleted when the writer recovered, or 0.
func (w *Writer) DeletedTo() int64 { return w.deletedTo }

// LowMark returns the low mark that the writer has read or put last. The caller holds the turn.
func (w *Writer) LowMark() layout.LowMark { return w.low }

// Next returns the sequence number of the next event. The caller holds the turn.
func (w *Writer) Next() int64 { return w.next }

// Last returns the number of the last visible event, even if that event is deleted, or 0 if there
// was no visible event since the last purge. The caller holds the turn.
func (w *Writer) Last() int64 {
	if last := max(w.visible, w.low.Seq-1); last > w.low.Purged {
		return last
	}
	return 0
}

// CheckLast returns a *VersionError if the last visible event has another number. The caller holds
// the turn.
func (w *Writer) CheckLast(expected int64) error {
	if last := w.Last(); last != expected {
		return &VersionError{w.pid, expected, last}
	}
	return nil
}

// Lowest returns the first sequence number that is not deleted. The caller holds the turn.
func (w *Writer) Lowest() int64 { return w.low.Seq }

// remaining returns the count of sequence numbers that are left.
func (w *Writer) remaining() int64 { return math.MaxInt64 - w.next }

// conflict returns the error of a put whose condition failed because of a slot.
func (w *Writer) conflict(slot layout.Slot) *ConflictError {
	err := &ConflictError{PersistenceID: w.pid, SequenceNumber: slot.SequenceNr}
	if slot.Event != nil {
		err.WriterUUID = slot.Event.WriterUUID
	}
	return err
}

// endOvertaken ends the writer: another one has used the persistence id.
func (w *Writer) endOvertaken() error {
	conflict := &ConflictError{PersistenceID: w.pid, SequenceNumber: w.next}
	w.End(conflict)
	return conflict
}

// raiseHighMark puts the high mark that seq needs, unless a higher one is stored.
func (w *Writer) raiseHighMark(ctx context.Context, m *dynamo.Meter, seq int64) error {
	return w.journal.Store.RaiseHighMark(ctx, m, w.pid, seq, w.journal.fresh(w.active))
}

// putLowMark puts a low mark in place of the one that was read, if the writer's knowledge is recent
// enough. It returns ErrMarkMoved if another one is stored: the batch that a deletion cuts is valid
// only for the low mark that was read before. In a shared journal a JVM puts low marks without a
// condition, so there the mark must only rise.
func (w *Writer) putLowMark(ctx context.Context, m *dynamo.Meter, read, low layout.LowMark) error {
	store, condition := w.journal.Store, LowMarkReplaces(read)
	if store.Shared() {
		condition = LowMarkRises(low)
	}
	return store.PutMark(ctx, m, store.encodeLowMark(w.pid, low), condition, w.journal.fresh(w.active))
}
