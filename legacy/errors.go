package legacy

import (
	"errors"
	"fmt"

	"github.com/dynajournal/dynajournal"
)

// Errors of this package, for errors.Is. The package also returns errors of package dynajournal,
// with the same meaning. A writer returns ErrWriterConflict, ErrOutcomeUnknown, ErrWriterEnded,
// ErrRejected and ErrSequenceExhausted. A wrong table is ErrTableSchema or ErrTableNotFound, and a
// damaged item ErrCorruptItem. All calls can return ErrClosed, ErrInvalidArgument and request
// errors.
var (
	// ErrNotInLayout: the layout does not support this operation. Nothing was done.
	ErrNotInLayout = errors.New("the layout can't do this")

	// ErrNotAtomic: several events in one atomic write, which no older layout supports. Use
	// AppendEach, or migrate the journal. It is an ErrNotInLayout. Nothing was written, and the
	// writer can still be used.
	ErrNotAtomic = fmt.Errorf("%w: an atomic write of several events", ErrNotInLayout)

	// ErrLastEvent: a permanent deletion of the last event in the layout Naive. The layout stores
	// the highest sequence number only as the number of that event. Without the event, its number
	// and all lower numbers would be used again. It is an ErrNotInLayout. Nothing was deleted.
	// Delete up to the number before.
	ErrLastEvent = fmt.Errorf("%w: removing the last event would make its number free again", ErrNotInLayout)

	// ErrNoEvent: there is no event with this sequence number to confirm.
	ErrNoEvent = errors.New("there is no such event")
)

// ItemError reports a stored item that can't be read. It matches [dynajournal.ErrCorruptItem].
type ItemError struct {
	Table string
	// Key is the hash key of the item. SequenceNumber is the number of an event, or 0 for a mark.
	Key            string
	SequenceNumber int64
	// Attribute is the attribute that can't be read.
	Attribute string
	// Raw is the stored message of the event, even if another attribute is damaged. It is nil if
	// the item has no message, or one that is not bytes.
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
