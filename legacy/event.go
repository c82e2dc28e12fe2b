package legacy

import (
	"math"

	"github.com/dynajournal/dynajournal"
)

// Event is one stored event. dynajournal.Decode decodes its Event.
//
// Of a journal of 0.3 the WriterUUID is empty, as its messages have none. Its strings are stored by
// Java's serialization (serializer id 1), which a Registry decodes as strings.
type Event struct {
	dynajournal.Event

	// Deleted says that the event is marked as deleted. It is handed out all the same: whoever replays decides.
	Deleted bool
	// Confirmations are the channels that have confirmed the event, sorted.
	Confirmations []string
}

// Range is a window of sequence numbers. The zero Range is everything.
type Range struct {
	// From is the first sequence number wanted; 0 is the first there is.
	From int64
	// To is the last one wanted; 0 is the last there is. A To before From is an empty window.
	To int64
	// Limit is how many events to return at most, marked ones counted; nil is no limit, 0 none.
	Limit *int64
	// Corrupt is told of each event that can't be read, in order with the others; if it returns nil, reading goes on behind
	// it. Without it, reading ends with the first such event, and its error.
	Corrupt func(*ItemError) error
}

// window is a Range with its defaults.
type window struct {
	from, to, limit int64
	corrupt         func(*ItemError) error
}

// unlimited is the limit of a window that has none.
const unlimited = math.MaxInt64

// window checks the Range, and fills in its defaults. options is the name of the type in the error of a
// wrong field.
func (r Range) window(options string) (window, error) {
	w := window{from: max(r.From, 1), to: r.To, limit: unlimited, corrupt: r.Corrupt}
	if w.to == 0 {
		w.to = dynajournal.MaxSequenceNumber
	}
	if r.Limit != nil {
		w.limit = *r.Limit
	}
	if w.corrupt == nil {
		w.corrupt = func(err *ItemError) error { return err }
	}
	for name, v := range map[string]int64{"From": r.From, "To": r.To, "Limit": w.limit} {
		if v < 0 {
			return w, &dynajournal.ArgumentError{Argument: options + "." + name, Value: v, Reason: mustNotBeNegative}
		}
	}
	return w, nil
}

const mustNotBeNegative = "it must not be negative"

// Bounds are the sequence numbers of a persistence id.
type Bounds struct {
	// Lowest is what the layout says of deletion; 0 if it says nothing. In the hash-key-only layouts it is the smallest number
	// of a deleted event that a low mark still names: deleted numbers are at and behind it, live ones can be before it only
	// where a program has deleted single events. In the naive layouts it is the first number that stands, if that is not 1.
	Lowest int64
	// Highest is the highest sequence number that is taken.
	Highest int64
}

// Listing is what stands in the table for one persistence id, all rising.
type Listing struct {
	// LowMarks and HighMarks are the values of the marks that exist; the naive layouts have none.
	LowMarks, HighMarks []int64
	// SequenceNumbers are those of events, Deleted those of them that are marked as deleted.
	SequenceNumbers, Deleted []int64
	// WithoutPayload are the numbers of items that hold no event: what marking of a number that had none has left.
	WithoutPayload []int64
}
