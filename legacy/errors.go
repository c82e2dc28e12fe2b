package legacy

import (
	"errors"
	"fmt"

	"github.com/dynajournal/dynajournal"
)

// Errors of this package, for errors.Is. The package also returns errors of package dynajournal,
// with the same meaning: of a writer ErrWriterConflict, ErrOutcomeUnknown, ErrWriterEnded,
// ErrRejected and ErrSequenceExhausted; of a table ErrTableSchema and ErrTableNotFound; of an item
// ErrCorruptItem; and ErrClosed, ErrInvalidArgument and those of requests.
var (
	// ErrNotInLayout: the layout does not have this operation. Nothing was done.
	ErrNotInLayout = errors.New("the layout can't do this")

	// ErrNotAtomic: several events in one atomic write, which no older layout has. Use AppendEach,
	// or migrate the journal. It is an ErrNotInLayout. Nothing was written, and the writer stays
	// usable.
	ErrNotAtomic = fmt.Errorf("%w: an atomic write of several events", ErrNotInLayout)

	// ErrLastEvent: a permanent deletion of the last event in the layout Naive. The layout stores
	// the highest sequence number only as the number of that event, so its number and all below
	// would be used again. It is an ErrNotInLayout. Nothing was deleted. Delete up to the number
	// before.
	ErrLastEvent = fmt.Errorf("%w: removing the last event, as its number would be given again", ErrNotInLayout)

	// ErrNoEvent: there is no event with this sequence number to confirm.
	ErrNoEvent = errors.New("there is no such event")
)

// ItemError names a stored item that can't be read. errors.Is [dynajournal.ErrCorruptItem].
type ItemError struct {
	Table string
	// Key is the hash key of the item. SequenceNumber is the number of an event, 0 for a mark.
	Key            string
	SequenceNumber int64
	// Attribute is the attribute that can't be read.
	Attribute string
	// Raw is the stored message of the event, also if another attribute is damaged. It is nil if
	// there is none, or if it is not of bytes.
	Raw []byte
	// Err is the reason.
	Err error
}

func (e *ItemError) Error() string {
	return fmt.Sprintf("%v: table %q, key %q, sequence number %d: attribute %q: %v",
		dynajournal.ErrCorruptItem, e.Table, e.Key, e.SequenceNumber, e.Attribute, e.Err)
}

// Is reports whether target is [dynajournal.ErrCorruptItem].
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
