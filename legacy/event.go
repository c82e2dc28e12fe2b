package legacy

import "github.com/dynajournal/dynajournal"

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

// Listing is what stands in the table for one persistence id, all rising.
type Listing struct {
	// LowMarks and HighMarks are the values of the marks that exist; the naive layouts have none.
	LowMarks, HighMarks []int64
	// SequenceNumbers are those of events, Deleted those of them that are marked as deleted.
	SequenceNumbers, Deleted []int64
	// WithoutPayload are the numbers of items that hold no event: what marking of a number that had none has left.
	WithoutPayload []int64
}
