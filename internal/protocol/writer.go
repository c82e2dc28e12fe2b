package protocol

import (
	"context"
	"math"

	"github.com/dynajournal/dynajournal/internal/clock"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/lifetime"
)

// Writer is the state of one writer of a persistence id, from the recovery that hands it out to the
// first error that leaves in doubt what is stored: with that it ends. A call enters its Turn first,
// and leaves it when it is done.
type Writer struct {
	lifetime.Turn

	uuid      string
	recovery  dynamo.Meter
	deletedTo int64

	// Who has the turn may use what follows.

	remover
	// last is the writer of the event at next - 1, empty if there is none.
	last string
	// farMark is a high mark that was found to be damaged, 0 if none.
	farMark int64
	// expiring reports that the id was purged: its marks vanish unless they are put anew.
	expiring bool
	// active is when the last look at the journal, or the last write to it, began.
	active clock.Moment
	// alone is when the last request began that showed that no JVM has taken over.
	alone clock.Moment
}

// PersistenceID is the id that the writer writes to.
func (w *Writer) PersistenceID() string { return w.pid }

// UUID is stored in every event of the writer.
func (w *Writer) UUID() string { return w.uuid }

// RecoveryCost is the cost of the recovery that handed the writer out.
func (w *Writer) RecoveryCost() dynamo.Cost { return w.recovery.Cost() }

// DeletedTo is the last sequence number that was deleted when the writer recovered, 0 if none was.
func (w *Writer) DeletedTo() int64 { return w.deletedTo }

// Next is the sequence number that the next event gets. The caller has the turn.
func (w *Writer) Next() int64 { return w.next }

// Lowest is the first sequence number that is not deleted. The caller has the turn.
func (w *Writer) Lowest() int64 { return w.low.Seq }

// remaining is how many sequence numbers are left.
func (w *Writer) remaining() int64 { return math.MaxInt64 - w.next }

// conflict is the error of a put that has met what is stored in a slot.
func (w *Writer) conflict(slot layout.Slot) *ConflictError {
	err := &ConflictError{PersistenceID: w.pid, SequenceNumber: slot.SequenceNr}
	if slot.Event != nil {
		err.WriterUUID = slot.Event.WriterUUID
	}
	return err
}

// overtaken ends the writer: another has used the persistence id since.
func (w *Writer) overtaken() error {
	conflict := &ConflictError{PersistenceID: w.pid, SequenceNumber: w.next}
	w.End(conflict)
	return conflict
}

// raiseHighMark puts the high mark that seq needs. One that is already higher is as good.
func (w *Writer) raiseHighMark(ctx context.Context, m *dynamo.Meter, seq int64) error {
	return w.journal.Store.RaiseHighMark(ctx, m, w.pid, seq, w.journal.fresh(w.active))
}

// putLowMark puts a low mark, by what the writer knows of the journal. ErrMarkMoved says that one
// as high is stored.
func (w *Writer) putLowMark(ctx context.Context, m *dynamo.Meter, low layout.LowMark) error {
	store := w.journal.Store
	item := store.Keys.EncodeLowMark(w.pid, low, store.ids(w.pid), 0)
	return store.PutMark(ctx, m, item, LowMarkRises(low), w.journal.fresh(w.active))
}
