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
