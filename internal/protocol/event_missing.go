package protocol

import (
	"context"
	"errors"
	"fmt"

	"github.com/dynajournal/dynajournal/internal/layout"
)

// Before a writer of a native journal writes, it knows that every number below its write is taken:
// it has recovered, which seals missing numbers, or it has written these numbers itself. A number
// that was taken stays taken until the low mark is above it. So if nothing is stored at a number
// above the low mark, and an event of a later write is stored, an item was lost. A seal shows
// nothing: a recovery puts several seals at the same time, in any order.
//
// A JVM has several writes in flight, and leaves holes. So a hole in a shared journal shows
// nothing.

// ErrEventMissing reports that nothing is stored at a number of a native journal, although an event
// of a later write shows that the number was taken.
var ErrEventMissing = errors.New("an event is missing")

// EventMissingError names the missing numbers.
type EventMissingError struct {
	PersistenceID string
	// First and Last are the first and the last missing number, of one partition.
	First, Last int64
	// Next is the number of the event that was written after them.
	Next int64
}

func (e *EventMissingError) Error() string {
	return fmt.Sprintf("%v: %q, sequence numbers %d to %d: nothing is stored there, and event %d was written after them: "+
		"verify says where to restore their items, and how to continue without them",
		ErrEventMissing, e.PersistenceID, e.First, e.Last, e.Next)
}

// Is reports whether target is ErrEventMissing.
func (e *EventMissingError) Is(target error) bool { return target == ErrEventMissing }

// maxLookAhead limits the items after a gap that are searched for an event, and kept in memory
// meanwhile. A process that dies while it seals what an atomic write has left can leave a gap
// before nearly as many seals as an atomic write has events. A lost item before more seals than
// this is not noticed.
const maxLookAhead = 1 << 12

// LaterWrite returns the first number of the write whose event is stored at a slot, if the write
// began above seq. Then every number up to seq was taken once. Otherwise it returns 0, and reports
// whether a later slot can still show that. A slot after a fence or a tombstone can't: a purge
// explains the missing numbers before it.
func LaterWrite(slot *layout.Slot, seq int64) (start int64, more bool) {
	switch e := slot.Event; {
	case slot.Tombstone(), slot.Low > 0:
		return 0, false
	case e == nil:
		return 0, true
	case e.Batch.IsBatch():
		start = e.Batch.Start
	default:
		start = e.SequenceNr
	}
	if start <= seq {
		return 0, true
	}
	return start, false
}

// laterWrite searches for an event of a later write, in slot and in the slots after it. slot is the
// first one after a gap that begins at seq. laterWrite returns the first number of the write, and
// the number of the event. The first number is 0 if no such event is found, if a purge explains the
// gap, or if the journal is shared.
func (r *replay) laterWrite(ctx context.Context, seq int64, slot readSlot) (start, event int64, err error) {
	if r.store.Shared() {
		return 0, 0, nil
	}
	for i := range maxLookAhead {
		start, more := LaterWrite(&slot.Slot, seq)
		if !more {
			return start, slot.SequenceNr, nil
		}
		for i >= len(r.slots.waiting) {
			if more, err := r.readPage(ctx); err != nil || !more {
				return 0, 0, err
			}
		}
		slot = r.slots.waiting[i]
	}
	return 0, 0, nil
}

// judgeMissing decides on numbers at which nothing was stored when they were read after a later
// event. The low mark, which was read after that, does not explain the gap. So items were lost,
// unless the event has vanished as well: then the persistence id is being erased.
func (r *replay) judgeMissing(ctx context.Context, span Span, event int64) error {
	there, err := r.store.Span(ctx, r.meter, r.req.PersistenceID, event, event)
	if err != nil || len(there) == 0 || there[0].Event == nil {
		return err
	}
	missing := &EventMissingError{r.req.PersistenceID, span.First, span.Last, event}
	if !r.req.SkipMissing {
		return missing
	}
	r.store.lost(ctx, r.req.PersistenceID, missing)
	return nil
}
