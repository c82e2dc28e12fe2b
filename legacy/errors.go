package legacy

import (
	"errors"
	"fmt"

	"github.com/dynajournal/dynajournal"
)

// Errors of this package, for errors.Is. Those of package dynajournal are returned besides, with the same meaning: of a writer
// ErrWriterConflict, ErrOutcomeUnknown, ErrWriterEnded, ErrRejected and ErrSequenceExhausted, of a table ErrTableSchema and
// ErrTableNotFound, of an item ErrCorruptItem, and ErrClosed, ErrInvalidArgument and those of requests.
var (
	// ErrNotInLayout: the layout has no place for what was asked for. Nothing was done.
	ErrNotInLayout = errors.New("the layout can't do this")

	// ErrNotAtomic: several events in one atomic write, which no older layout has: use AppendEach, or migrate. It is an
	// ErrNotInLayout; nothing was written and the writer lives.
	ErrNotAtomic = fmt.Errorf("%w: an atomic write of several events", ErrNotInLayout)

	// ErrLastEvent: a permanent deletion of the last event in the layout Naive, which knows the highest sequence number by
	// that event alone: its number, and all below, would be given again. It is an ErrNotInLayout; nothing was deleted. Delete up
	// to the number before.
	ErrLastEvent = fmt.Errorf("%w: removing the last event, as its number would be given again", ErrNotInLayout)

	// ErrNoEvent: there is no event of that sequence number to confirm.
	ErrNoEvent = errors.New("there is no such event")
)

// ItemError names a stored item that can't be read, and has its bytes at hand. errors.Is dynajournal.ErrCorruptItem.
type ItemError struct {
	Table string
	// Key is the item's hash key; for an event SequenceNumber is its number, and for a mark 0.
	Key            string
	SequenceNumber int64
	// Attribute is the one that can't be read.
	Attribute string
	// Raw is the event's message as stored, whichever attribute it is; nil if there is none, or it is no bytes.
	Raw []byte
	// Err is why.
	Err error
}

func (e *ItemError) Error() string {
	return fmt.Sprintf("%v: table %q, key %q, sequence number %d: attribute %q: %v",
		dynajournal.ErrCorruptItem, e.Table, e.Key, e.SequenceNumber, e.Attribute, e.Err)
}

// Is makes it dynajournal.ErrCorruptItem.
func (e *ItemError) Is(target error) bool { return target == dynajournal.ErrCorruptItem }

func (e *ItemError) Unwrap() error { return e.Err }

// Reasons why an attribute can't be read.
var (
	errMissing   = errors.New("it is missing")
	errWrongType = errors.New("it has another type")
	errRange     = errors.New("its value is out of range")
	errMismatch  = errors.New("it contradicts the key")
	errNoPayload = errors.New("it is a message without a payload")
)
